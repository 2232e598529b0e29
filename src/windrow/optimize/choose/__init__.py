"""Which physical node, algorithm, order and schedule a plan takes."""
