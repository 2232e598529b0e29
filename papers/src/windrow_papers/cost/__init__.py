"""The cost model of the 2003 paper for a join of two streams, by the structures that keep its windows.

In: rates, windows, weights. Out: what each combination costs, where another becomes the cheapest.
What one direction of a join costs is Windrow's own (`windrow.optimize.cost`), which plans use.
"""
