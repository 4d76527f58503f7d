#!/usr/bin/env python3
"""A figure with its target, the table of all of them, and what `--check` makes of it."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MARGIN = 1.15
"""What an fsync-bound figure may miss its target by: a busy disk moves it more than any change of the code."""

RUNS = 3

Verdict = Literal["", "goal", "ok", "margin", "MISSED"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure: a value a round. `target` is a most, or with `at_least` a least.

    A `gating` figure is a count or bound by the processor, and `--check` fails when it is missed; the others wait
    for the disk, and are reported. `goal` is what the target shall become.
    """

    name: str
    values: tuple[float, ...]
    unit: str = "x"
    target: float | None = None
    goal: float | None = None
    gating: bool = False
    at_least: bool = False

    @property
    def median(self) -> float:
        """The median of the rounds; where the disk takes part, the median of three runs' medians."""
        size = len(self.values)
        if self.gating or size < RUNS**2:
            return statistics.median(self.values)
        runs = (self.values[size * run // RUNS : size * (run + 1) // RUNS] for run in range(RUNS))
        return statistics.median(statistics.median(run) for run in runs)

    @property
    def verdict(self) -> Verdict:
        """How the median stands to the target."""
        if self.target is None:
            return ""
        if self.goal is not None and self._meets(self.goal, 1.0):
            return "goal"
        if self._meets(self.target, 1.0):
            return "ok"
        return "margin" if not self.gating and self._meets(self.target, MARGIN) else "MISSED"

    def _meets(self, wanted: float, margin: float) -> bool:
        return self.median * margin >= wanted if self.at_least else self.median <= wanted * margin


def failures(figures: Sequence[Figure]) -> list[Figure]:
    """Gating figures that are missed."""
    return [figure for figure in figures if figure.gating and figure.verdict == "MISSED"]


def table(figures: Sequence[Figure]) -> str:
    """All figures, one a line, the target beside the median."""
    width = max(len(figure.name) for figure in figures)
    lines = [f"{'':{width}}  {'median':>9}  {'min':>9} {'max':>9}  {'target':>9} {'goal':>6}  verdict"]
    for figure in figures:
        sign = ">=" if figure.at_least else "<="
        target = "" if figure.target is None else f"{sign} {figure.target:g}"
        goal = "" if figure.goal is None else f"{figure.goal:g}"
        gate = " (gate)" if figure.gating and figure.target is not None else ""
        lines.append(
            f"{figure.name:{width}}  {_number(figure.median):>9}  {_number(min(figure.values)):>9} "
            f"{_number(max(figure.values)):>9}  {target:>9} {goal:>6}  {figure.verdict}{gate}".rstrip()
            + ("" if figure.unit in ("", "x") else f"  [{figure.unit}]")
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


def write_json(figures: Sequence[Figure], path: Path) -> None:
    """The figures with every round's value."""
    rows = [
        {
            "name": figure.name,
            "unit": figure.unit,
            "median": figure.median,
            "values": figure.values,
            "target": figure.target,
            "goal": figure.goal,
            "at_least": figure.at_least,
            "gating": figure.gating,
            "verdict": figure.verdict,
        }
        for figure in figures
    ]
    path.write_text(json.dumps(rows, indent=1) + "\n")
