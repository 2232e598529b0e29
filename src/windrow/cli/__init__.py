"""The command line: windrow run, explain, cost, demo."""
