"""Pages read in gallop and in crabstep mode: fixed layouts, then windows of real pages.

In the fixed layouts both windows have the same pages, and a page meets those that are up to so many
pages away. Seven pages that reach two, with four buffers, are read as in the paper's figures: gallop
thrashes from (2, 4) on and reads 30 pages; crabstep stops there, lets the left pages 3 to 5 come by,
goes on, and reads 21. But crabstep can be the dearer one, where gallop reads pages only once anyway:
where left 1 meets right 1 to 4 and left 2 meets 3 and 4, gallop reads 6 pages and crabstep 8; and where
a left page meets one page more than there are buffers, the one that gallop gives up is not needed any
more. So both are counted beforehand, from the first and last tuples of the pages, and the cheaper one
is run.

The windows are those of two streams, in pages of 8 tuples, with few buffers: what was read is counted
as it is read from the file. At most steps one tuple is new, and its page alone meets others: nothing
is read twice, and gallop reads no more than crabstep throughout. The cheaper of both at each step
reads a few pages less than either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from windrow.errors import InternalError
from windrow.operators.bestmatch.pages.page_search import CRABSTEP, GALLOP, Column
from windrow_papers.experiments.bmj.runs import ORDERED, PAPER, SETTINGS, made
from windrow_papers.experiments.charts import Chart, Line, Panel
from windrow_papers.experiments.claims import Case, Claim, Finding, Reading, at_most, below
from windrow_papers.experiments.contest import agree
from windrow_papers.experiments.experiment import Experiment, Findings, Say, Size
from windrow_papers.experiments.tables import Table, Value, table
from windrow_papers.experiments.workloads.points import UNIFORM
from windrow_papers.operators.matwin.matwin import MatWin
from windrow_papers.operators.matwin.pages import CHEAPER, SCHEDULERS
from windrow_papers.operators.matwin.source import PageSource

SEED = 64
NAMES = (GALLOP, CRABSTEP, CHEAPER)
FIGURE_READS = {GALLOP: 30, CRABSTEP: 21}
"""What figures 7 and 8 come to."""

PAGE_ROWS = 8


@dataclass(frozen=True)
class Layout:
    """Pages of two windows, and the buffers to join them in.

    Attributes:
        label: how tables call it.
        columns: what each left page meets.
        buffers: for left and right pages together.
    """

    label: str
    columns: Sequence[Column]
    buffers: int

    @property
    def fits(self) -> bool:
        """Whether all that a left page meets fits into the buffers for right pages."""
        return max(len(rights) for _, rights in self.columns) <= self.buffers - 1

    @property
    def thrashes(self) -> bool:
        """Whether gallop reads pages again."""
        return self.reads(GALLOP) > self.pages

    @property
    def pages(self) -> int:
        """The pages there are; none can be read less often than once."""
        return len(self.columns) + len({right for _, rights in self.columns for right in rights})

    def reads(self, mode: str) -> int:
        """The pages that a mode reads."""
        return SCHEDULERS[mode](self.columns, self.buffers - 1).reads


def band(pages: int, reach: int, buffers: int) -> Layout:
    """Each page meets those that are up to `reach` pages away."""
    columns = [
        (i, [j for j in range(1, pages + 1) if abs(i - j) <= reach]) for i in range(1, pages + 1)
    ]
    return Layout(f"{pages} pages reach {reach}, {buffers} buffers", columns, buffers)


FIGURE = band(7, 2, 4)
COUNTEREXAMPLE = Layout(
    "1 meets 1 to 4, 2 meets 3 and 4, 4 buffers", [(1, [1, 2, 3, 4]), (2, [3, 4])], 4
)
BANDS = (
    band(9, 1, 4), band(20, 2, 6), band(50, 3, 8), FIGURE, band(20, 4, 4), band(20, 4, 8),
    band(50, 6, 8), band(50, 6, 13), band(50, 12, 16),
)  # fmt: skip


@dataclass(frozen=True)
class Extent:
    """Tuples of each stream, and buffers to join their windows in."""

    tuples: int
    buffers: tuple[int, ...]


SIZES = {
    Size.tiny: Extent(120, (4, 8)),
    Size.quick: Extent(500, (4, 6, 8, 16)),
    Size.full: Extent(2_000, (4, 6, 8, 12, 16)),
}


@dataclass(frozen=True)
class Windows:
    """A run of MatWin: pages read to be compared, steps in crabstep mode, and results."""

    reads: int
    crabsteps: int
    results: int


def run(size: Size, say: Say) -> Findings:
    """Counts and decides."""
    extent = SIZES[size]
    windows = {buffers: _windows(extent.tuples, buffers, say) for buffers in extent.buffers}
    return Findings(
        _table(windows),
        (
            Finding(_optimal(), reason="pages are read again"),
            Finding(_fewer(), reason="crabstep reads left pages again, and saves no right page"),
            Finding(_as_figured(), reason="the layout is another one"),
            Finding(_cheaper(windows), reason="a step that is dearer now was not foreseen"),
        ),
        _chart(windows),
    )


def _windows(count: int, buffers: int, say: Say) -> dict[str, Windows]:
    """MatWin over the same streams in every mode.

    Raises:
        InternalError: other pages were read than were counted beforehand.
    """
    given = made(count, 2, UNIFORM, seed=SEED)
    runs = {}
    for mode in NAMES:
        say(f"{count:,} tuples, {buffers} buffers: {mode}")
        setting = replace(SETTINGS[ORDERED], page_rows=PAGE_ROWS, buffers=buffers, mode=mode)
        join = MatWin(PageSource(given.left), PageSource(given.right), [given.eps] * 2, setting)
        results = sum(len(pairs) for pairs in join.run())
        counts = join.counts
        if counts.reads_to_join != counts.foreseen:
            raise InternalError(
                "unforeseen-reads",
                f"{counts.reads_to_join} pages were read, {counts.foreseen} were counted beforehand",
            )
        runs[mode] = Windows(counts.reads_to_join, counts.crabsteps, results)
    agree(f"{buffers} buffers", {mode: one.results for mode, one in runs.items()})
    return runs


def _optimal() -> Reading:
    """Gallop reads no page twice where intervals fit."""
    return at_most(
        1.0, [Case(one.label, one.pages, one.reads(GALLOP)) for one in BANDS if one.fits]
    )


def _fewer() -> Reading:
    return below(
        [Case(one.label, one.reads(CRABSTEP), one.reads(GALLOP)) for one in BANDS if one.thrashes]
    )


def _as_figured() -> Reading:
    reads = {mode: FIGURE.reads(mode) for mode in FIGURE_READS}
    text = f"{reads[GALLOP]} and {reads[CRABSTEP]} ({FIGURE.label})"
    return Reading(reads[GALLOP] / reads[CRABSTEP], text, holds=reads == FIGURE_READS)


def _cheaper(windows: Mapping[int, Mapping[str, Windows]]) -> Reading:
    """The cheaper mode, chosen at each step, reads no more than either."""
    cases = [
        Case(
            f"{mode} against the cheaper, {buffers} buffers", runs[mode].reads, runs[CHEAPER].reads
        )
        for buffers, runs in windows.items()
        for mode in (GALLOP, CRABSTEP)
    ]
    return at_most(1.0, cases)


def _table(windows: Mapping[int, Mapping[str, Windows]]) -> Table:
    rows: list[list[Value]] = [
        [one.label, mode, one.pages, one.reads(mode), "", ""]
        for one in (*BANDS, COUNTEREXAMPLE)
        for mode in NAMES
    ]
    rows += [
        [f"MatWin, {buffers} buffers", mode, "", one.reads, one.crabsteps, one.results]
        for buffers, runs in windows.items()
        for mode, one in runs.items()
    ]
    return table(("case", "mode", "pages", "pages read", "crabsteps", "results"), rows)


def _chart(windows: Mapping[int, Mapping[str, Windows]]) -> Chart:
    buffers = range(3, 16)
    fixed = [
        Line(mode, list(buffers), [band(50, 6, one).reads(mode) for one in buffers])
        for mode in (GALLOP, CRABSTEP)
    ]
    real = [
        Line(mode, list(windows), [runs[mode].reads for runs in windows.values()]) for mode in NAMES
    ]
    return Chart(
        "Pages read to be compared",
        [
            Panel("50 pages that reach 6", "buffers", "pages read", fixed),
            Panel("MatWin's windows", "buffers", "pages read", real, is_log=False),
        ],
    )


EXPERIMENT = Experiment(
    name="bmj-pages",
    paper=PAPER,
    figure="section 3.3.2, figures 6 to 8",
    setting="fixed layouts of 7 to 50 pages, 4 to 16 buffers; windows of 2 uniform streams of 2,000 tuples, "
    "2 dimensions, eps 0.1, pages of 8 tuples, 4 to 16 buffers",
    claims=(
        Claim(
            "gallop is optimal while the interval fits",
            "pages that gallop reads over pages there are, where no page meets more than there are "
            "buffers: 1 in every layout",
        ),
        Claim(
            "where gallop thrashes, crabstep reads fewer",
            "pages that gallop reads over those of crabstep, where gallop reads pages again: above 1 in every "
            "layout of equal reach",
        ),
        Claim(
            "a layout like that of figures 7 and 8 is read in 30 and in 21 page reads",
            "pages that gallop and crabstep read: 30 and 21",
        ),
        Claim(
            "counted beforehand, the cheaper mode is run",
            "pages that MatWin reads in the cheaper mode of each step over those of either mode "
            "throughout: at most 1; what is read is what was counted",
        ),
    ),
    seed=SEED,
    run=run,
    prose=__doc__,
)
