"""Names, types, windows and conditions of one SELECT, resolved or refused."""
