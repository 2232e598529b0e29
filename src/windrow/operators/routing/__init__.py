"""To which bucket, or buckets, a row goes: partitioning over arrays."""
