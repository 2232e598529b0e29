"""What a window join costs per unit of time, by the structures that its windows are kept in.

In: rates and window sizes in tuples, weights, sizes of buckets and nodes. Out: the cost of each
combination of structures, the cheapest one, where the cheapest changes, and the output rate. The
model is that of Kang, Naughton and Viglas; equation numbers are theirs. No data, no measuring.
"""
