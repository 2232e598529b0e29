"""What touching a tuple costs on this machine.

In: the compiled structures. Out: the weights of the cost model, measured and fitted as the paper
did (searches only, updates only, twenty rates), kept in the user's cache folder together with what
they hold for: machine, versions, sizes of buckets and nodes. Planning reads them; it never measures.
"""
