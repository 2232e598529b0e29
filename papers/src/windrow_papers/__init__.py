"""The papers behind Windrow: their experiments, and the algorithms that no plan takes by itself.

Windrow finds it by an entry point (`plugin`), as it would any package that adds to it.
"""
