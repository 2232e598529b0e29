"""A query in process: operators, connected by queues, and whose turn it is."""
