"""Window structures: the tuples of a window by key, oldest first out.

Four ways to keep the same thing (Kang, Naughton and Viglas, section 4.1): a plain buffer, a hash
with ordered buckets, a B+tree and a T-tree. All are arrays (`store`), and all do the same
(`window`): insert the newest, probe by key or by a range of keys, expire the oldest.
"""
