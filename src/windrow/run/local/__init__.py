"""In process: Arrow batches through the operators, on this thread, with no JVM."""
