"""The algorithms of bestmatch joins: all give the same answer, by more or less work."""

from __future__ import annotations

MATWIN, MATWIN_GRID, MATWIN_PLAIN = "matwin", "matwin-grid", "matwin-plain"
NESTED_LOOPS = "nested-loops"

MATCH_ALGORITHMS = {
    MATWIN: "windows shift over both streams; in each chunk of a window rows are found by key, by"
    " cells of the epsilon grid where these are many, or by time",
    MATWIN_GRID: "windows shift over both streams; in each chunk of a window rows are found by"
    " cells of the epsilon grid",
    MATWIN_PLAIN: "windows shift over both streams; in each chunk of a window rows are found by"
    " key, or by time alone",
    NESTED_LOOPS: "each row that is judged is compared with every row that is held of the other"
    " stream",
}
"""What the option `algorithm` may say of bestmatch joins, and how each finds candidates."""
