"""The command line: windrow run, explain, demo."""
