"""Text in, logical plan out.

In: SQL text, a catalog, a type resolver. Out: a `plan.nodes.Query`, or an error with its place.
The only room that knows sqlglot. Chooses no algorithm and sees no data.
"""
