"""Which bucket, or buckets, a row goes to."""
