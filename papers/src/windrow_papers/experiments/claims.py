"""Claims: what a paper says, how it is decided, and what came out.

A claim is decided by readings: one on counted work, which is exact and repeatable, and one on
time, which belongs to this machine. Counts come first: a claim *holds* when it holds on counts.
Either reading is a ratio within one run, so that no figure depends on the speed of a machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.errors import InternalError


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, and the rule that decides it.

    Attributes:
        text: what is claimed.
        rule: which figure decides it, in words that the outcome can be checked by.
    """

    text: str
    rule: str


@dataclass(frozen=True)
class Case:
    """Two measured figures under one label: what should be small, and what it is compared with."""

    label: str
    small: float
    large: float

    @property
    def ratio(self) -> float:
        """How many times the small one fits into the large one."""
        if self.small > 0:
            return self.large / self.small
        return float("inf") if self.large > 0 else 1.0


@dataclass(frozen=True)
class Reading:
    """A claim held against one measure.

    Attributes:
        figure: the number that decides.
        text: the figure in words, with the case that it comes from.
        holds: what it decides.
    """

    figure: float
    text: str
    holds: bool

    def and_also(self, other: Reading) -> Reading:
        """Both together: holds when both do; the figure is that of the one that fails, or ours."""
        worse = self if not self.holds or other.holds else other
        return Reading(worse.figure, f"{self.text}; {other.text}", holds=self.holds and other.holds)


def at_least(times: float, cases: Sequence[Case]) -> Reading:
    """Every case's ratio is so large or larger; the least of them decides."""
    least = min(cases, key=lambda case: case.ratio)
    return Reading(least.ratio, _range(cases), holds=least.ratio >= times)


def below(cases: Sequence[Case]) -> Reading:
    """In every case the small one is smaller indeed."""
    least = min(cases, key=lambda case: case.ratio)
    return Reading(least.ratio, _range(cases), holds=least.ratio > 1.0)


def at_most(times: float, cases: Sequence[Case]) -> Reading:
    """No case's ratio is larger; the largest decides."""
    most = max(cases, key=lambda case: case.ratio)
    return Reading(most.ratio, _range(cases), holds=most.ratio <= times)


def falling(cases: Sequence[Case]) -> Reading:
    """The ratio of the last case is below that of the first."""
    first, last = cases[0], cases[-1]
    text = f"{shown(first.ratio)} ({first.label}) to {shown(last.ratio)} ({last.label})"
    return Reading(last.ratio / first.ratio, text, holds=last.ratio < first.ratio)


def _range(cases: Sequence[Case]) -> str:
    ordered = sorted(cases, key=lambda case: case.ratio)
    least, most = ordered[0], ordered[-1]
    if len(cases) == 1:
        return f"{shown(least.ratio)} ({least.label})"
    return f"{shown(least.ratio)} ({least.label}) to {shown(most.ratio)} ({most.label})"


def shown(ratio: float) -> str:
    """A ratio as people read it: two decimals while small, none when large."""
    if ratio >= 100:
        return f"{ratio:,.0f} x"
    return f"{ratio:.1f} x" if ratio >= 10 else f"{ratio:.2f} x"


@dataclass(frozen=True)
class Finding:
    """What an experiment read off for one claim.

    Attributes:
        on_counts: the reading that decides.
        on_time: the reading on this machine's time; None where time says nothing.
        reason: why it does not hold on counts; used only then.
        reason_on_time: why it does not hold on time alone; used only then.
        left_out: what the claim is about, too, and was not measured; empty: all was.
    """

    on_counts: Reading
    on_time: Reading | None = None
    reason: str = ""
    reason_on_time: str = ""
    left_out: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim, decided."""

    claim: Claim
    finding: Finding

    @property
    def holds(self) -> bool:
        """Whether the claim holds, which counted work decides."""
        return self.finding.on_counts.holds

    @property
    def holds_on_time(self) -> bool | None:
        """Whether it holds on time too; None where time was not asked."""
        return None if self.finding.on_time is None else self.finding.on_time.holds

    @property
    def word(self) -> str:
        """The verdict in words."""
        if not self.holds:
            suffix = ", though on time it does" if self.holds_on_time else ""
            return f"does not hold{suffix}"
        return "holds on counts, not on time" if self.holds_on_time is False else "holds"

    @property
    def measured(self) -> str:
        """Both figures, and what they are not about."""
        counts = f"counts {self.finding.on_counts.text}"
        time = self.finding.on_time
        figures = counts if time is None else f"{counts}; time {time.text}"
        left_out = self.finding.left_out
        return f"{figures}; not measured here: {left_out}" if left_out else figures

    @property
    def reason(self) -> str:
        """Why not, where it does not hold."""
        if not self.holds:
            return self.finding.reason
        return self.finding.reason_on_time if self.holds_on_time is False else ""

    def as_dict(self) -> dict[str, object]:
        """The verdict for JSON."""
        time = self.finding.on_time
        return {
            "claim": self.claim.text,
            "rule": self.claim.rule,
            "holds": self.holds,
            "holds_on_time": self.holds_on_time,
            "verdict": self.word,
            "figure_on_counts": self.finding.on_counts.figure,
            "figure_on_time": None if time is None else time.figure,
            "measured": self.measured,
            "reason": self.reason,
        }


def decide(claims: Sequence[Claim], findings: Sequence[Finding]) -> tuple[Verdict, ...]:
    """A verdict per claim; a claim left undecided, or one without a reason, is our mistake."""
    if len(claims) != len(findings):
        raise InternalError(
            "undecided-claim", f"{len(claims)} claims, {len(findings)} of them decided"
        )
    verdicts = tuple(map(Verdict, claims, findings))
    for verdict in verdicts:
        if verdict.word != "holds" and not verdict.reason:
            raise InternalError(
                "claim-without-reason", f"no reason why this does not hold: {verdict.claim.text}"
            )
    return verdicts
