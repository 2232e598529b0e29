"""The 2004 paper: operators of sliding-window queries, scheduled in three ways."""
