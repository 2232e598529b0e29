"""Who gets what when memory or processor do not suffice for a window join.

In: each stream's rate and window, and what there is. Out: how many arrivals of each stream probe,
how many tuples of each window are kept, and the share of the results that this is expected to give.
Two streams are the paper's four cases (Kang, Naughton and Viglas, table 2); the same functions take
any number. Arrivals that do not probe are still kept. No data, no shedding: only the numbers.
"""
