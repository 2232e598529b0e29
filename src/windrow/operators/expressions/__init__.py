"""SQL expressions and the user's functions, evaluated over columns."""
