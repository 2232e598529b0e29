"""The algorithms of bestmatch joins: all give the same answer, by more or less work."""

from __future__ import annotations

MATWIN, MATWIN_GRID, MATWIN_PLAIN = "matwin", "matwin-grid", "matwin-plain"
NESTED_LOOPS = "nested-loops"
STANDARD_PAGES, GRID_PAGES = "matwin-standard-pages", "matwin-grid-pages"

MATCH_ALGORITHMS = {
    MATWIN: "windows shift over both streams; in each chunk of a window rows are found by key, by"
    " cells of the epsilon grid where these are many, or by time",
    MATWIN_GRID: "windows shift over both streams; in each chunk of a window rows are found by"
    " cells of the epsilon grid",
    MATWIN_PLAIN: "windows shift over both streams; in each chunk of a window rows are found by"
    " key, or by time alone",
    NESTED_LOOPS: "each row that is judged is compared with every row that is held of the other"
    " stream",
    STANDARD_PAGES: "as matwin while the windows fit into memory; beyond that in pages on disk, in"
    " the epsilon grid order: sorted runs, merged",
    GRID_PAGES: "as matwin while the windows fit into memory; beyond that in pages on disk, a list"
    " of pages for each cell of the epsilon grid",
}
"""What the option `algorithm` may say of bestmatch joins, and how each finds candidates."""

PAGED = (STANDARD_PAGES, GRID_PAGES)
"""The algorithms that have pages on disk."""
