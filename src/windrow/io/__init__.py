"""Data in and out: what a source and a sink are, for every runner.

Provisional: names and signatures may still change before connectors are built on them.
"""
