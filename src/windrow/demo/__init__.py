"""The demo: three questions over generated streams, run on Spark and checked by brute force."""
