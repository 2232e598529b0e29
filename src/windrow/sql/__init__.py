"""Text in, logical plan out.

In: SQL text, a catalog, a type resolver. Out: a `plan.nodes.query.Query`, or an error and its place.
The only room that knows sqlglot. Chooses no algorithm and sees no data.
"""
