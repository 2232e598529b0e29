"""From text to a tree: the dialect, our clauses, places in the text, what the language refuses."""
