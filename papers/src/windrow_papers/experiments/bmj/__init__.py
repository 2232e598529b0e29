"""The bestmatch paper's experiments: MatWin on pages, with its peers."""
