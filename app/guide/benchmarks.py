"""docs/benchmarks.md as charts: its tables, the amounts in them, and the data for static/kit/chart.js. The tables
are the only statement of the figures; nothing is measured here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

from lanescope.app.guide.index import DOCS
from lanescope.render.palette import list_fill_variables

SLUG, TITLE, GROUP = "benchmarks", "Benchmarks", "Evidence"
LEAD = "How fast Lanescope draws, answers and reads, and how much it sends, compared with its targets."
PAGE = DOCS / "benchmarks.md"
Table = list[list[str]]

# unit of an amount → (its chart, how many of the chart's units it is)
UNITS = {
    "ms": ("Time, ms", 1.0),
    "s": ("Time, ms", 1000.0),
    "bytes": ("Size, kB", 0.001),
    "kB": ("Size, kB", 1.0),
    "MB": ("Size, kB", 1000.0),
    "requests/s": ("Requests per second", 1.0),
}
MOST_BARS = 6  # of one chart; names of more would overlap
MORE_IS_BETTER = {"Requests per second"}
_AMOUNT = re.compile(rf"(\d[\d,]*(?:\.\d+)?)\s*({'|'.join(sorted(UNITS, key=len, reverse=True))})?(?![\w.])")
_PERCENT = re.compile(r"\((\d+) %\)|^\d+ of 0\b")
_MARK = re.compile(r"[`*]")


@dataclass(frozen=True, slots=True)
class Amount:
    """One amount of a cell: in its chart's unit, under the word before it (p99, worst)."""

    chart: str
    value: float
    word: str = ""


@dataclass(frozen=True, slots=True)
class BenchmarkBar:
    """A measured amount, and the amount that was promised."""

    name: str
    chart: str
    seen: float
    promised: float | None


@lru_cache(maxsize=1)
def read_benchmarks() -> str:
    """Return the page's Markdown."""
    return PAGE.read_text()


def parse_tables(markdown: str) -> list[Table]:
    """Parse the tables of a text: the cells of every row, the head first, without the rule below it."""
    tables: list[Table] = []
    in_table = False
    for line in markdown.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if not in_table:
                tables.append([])
            if not all(re.fullmatch(":?-+:?", cell) for cell in cells):
                tables[-1].append(cells)
        in_table = line.startswith("|")
    return tables


def parse_amounts(cell: str, usual: str = "") -> list[Amount]:
    """Parse the amounts of a cell, the first of each part; a number without a unit has the usual one.

    >>> [(amount.value, amount.word) for amount in parse_amounts("18381 requests/s, p99 5 ms, 0 failed")]
    [(18381.0, ''), (5.0, 'p99')]
    """
    amounts = []
    for part in cell.split("; ") if "; " in cell else cell.split(", "):
        for match in _AMOUNT.finditer(part):
            unit = match[2] or (usual if _AMOUNT.sub("", part).strip(" <≥") in ("", "under") else "")
            if unit:
                chart, scale = UNITS[unit]
                word = re.search(r"(p\d\d|worst)[\s<]*$", part[: match.start()])
                amounts.append(Amount(chart, float(match[1].replace(",", "")) * scale, word[1] if word else ""))
                break
    return amounts


def build_bars(table: Table) -> list[BenchmarkBar]:
    """Build a bar for each measured amount, with the promised amount of its kind."""
    bars: list[BenchmarkBar] = []
    for name, seen, promised in table[1:]:
        amounts = parse_amounts(seen)
        usual = next((unit for unit, (chart, _) in UNITS.items() if amounts and chart == amounts[0].chart), "")
        promises = parse_amounts(promised, usual)
        parts = _list_amount_names(name, len(amounts))
        for part, amount in zip(parts, amounts, strict=True):
            matching = [
                promise
                for promise in promises
                if promise.chart == amount.chart and (promise.word == amount.word or not (promise.word or amount.word))
            ]
            if matching:
                promises.remove(matching[0])
            label = f"{part}, {amount.word}" if amount.word else part
            namesakes = sum(bar.chart == amount.chart and bar.name.startswith(label) for bar in bars)
            label = f"{label} ({namesakes + 1})" if namesakes else label
            bars.append(BenchmarkBar(label, amount.chart, amount.value, matching[0].value if matching else None))
    return bars


def _list_amount_names(name: str, count: int) -> list[str]:
    """List the names of a row's amounts: `what: this; that` names them one by one."""
    plain = _MARK.sub("", name)
    head, colon, tail = plain.partition(": ")
    parts = tail.split("; ")
    if colon and count > 1 and len(parts) == count:
        return [f"{head.split(', ')[0]}: {part.split(', ')[0]}" for part in parts]
    return [plain] * count


def build_charts(table: Table) -> list[dict[str, Any]]:
    """Build the charts of a table for static/kit/chart.js; none if its cells have no comparable amounts."""
    head = table[0]
    if head[1:] in (["seen", "promised"], ["seen", "wanted"]):
        bars = build_bars(table)
        kinds = dict.fromkeys(bar.chart for bar in bars)
        of_kind = [(kind, [bar for bar in bars if bar.chart == kind]) for kind in kinds]
        return [
            _build_measured_chart(kind, kind_bars[n : n + MOST_BARS])
            for kind, kind_bars in of_kind
            for n in range(0, len(kind_bars), MOST_BARS)
        ]
    if head[1] == "":
        return [_build_comparison_chart(head[n], table[1:], n) for n in range(2, len(head))]
    columns = [n for n in range(1, len(head)) if all(_PERCENT.search(row[n]) for row in table[1:])]
    return [_build_percent_chart(head, columns, table[1:])] if columns else []


def _build_measured_chart(chart: str, bars: Sequence[BenchmarkBar]) -> dict[str, Any]:
    better = "more" if chart in MORE_IS_BETTER else "less"
    if chart == "Size, kB" and min(bar.seen for bar in bars) >= 100:
        bars = [replace(bar, seen=bar.seen / 1000, promised=bar.promised and bar.promised / 1000) for bar in bars]
        chart = "Size, MB"
    return _build_chart(
        f"{chart}: {better} is better",
        [bar.name for bar in bars],
        {"seen": [bar.seen for bar in bars]},
        marks=[bar.promised for bar in bars],
    )


def _build_comparison_chart(column: str, rows: Iterable[Sequence[str]], column_index: int) -> dict[str, Any]:
    """Build the chart of one column of a table of several programs; rows without a name belong to the name above, and
    ratios are omitted.
    """
    names: list[str] = []
    series: dict[str, list[float | None]] = {}
    for row in rows:
        if row[0]:
            names.append(row[0])
        if row[1] != "ratio":
            values = series.setdefault(row[1], [])
            values += [None] * (len(names) - 1 - len(values)) + [float(row[column_index])]
    return _build_chart(f"{column[0].upper()}{column[1:]}: less is better", names, series)


def _build_percent_chart(head: Sequence[str], columns: Sequence[int], rows: Sequence[Sequence[str]]) -> dict[str, Any]:
    def parse_share(cell: str) -> float | None:
        match = _PERCENT.search(cell)
        return float(match[1]) if match and match[1] else None

    series = {head[n]: [parse_share(row[n]) for row in rows] for n in columns}
    return _build_chart("Percent: more is better", [row[0] for row in rows], series, log=False)


def _build_chart(
    title: str,
    names: list[str],
    series: dict[str, list[float | None]] | dict[str, list[float]],
    marks: list[float | None] | None = None,
    log: bool = True,
) -> dict[str, Any]:
    values = [value for row in series.values() for value in row if value] + [value for value in marks or () if value]
    return {
        "title": title,
        "across": title.partition(":")[0],
        "up": "",
        "names": names,
        "lying": True,
        "log": log and max(values) > 30 * min(values),
        "marks": marks if marks and any(marks) else None,
        "series": [{"name": name, "values": row} for name, row in series.items()],
        "fills": list_fill_variables(len(series)),
    }


def draw_thumbnail() -> str:
    """Draw only the bars of the first chart, for the guide's index."""
    chart = next(chart for table in parse_tables(read_benchmarks()) for chart in build_charts(table) if chart["marks"])
    (values,) = (series["values"] for series in chart["series"])
    pairs = [(value, mark) for value, mark in zip_longest(values, chart["marks"]) if mark][:6]
    rects = []
    for n, (value, mark) in enumerate(pairs):
        width = min(150.0, 110 * value / mark)
        rects.append(f'<rect x="8" y="{8 + 18 * n}" width="{width:.1f}" height="11" fill="var(--fill-0)"/>')
    height = 10 + 18 * len(pairs)
    line = f'<path d="M118 2V{height}" stroke="var(--cell-ink)" stroke-width="1.5" stroke-dasharray="4 3"/>'
    return f'<svg viewBox="0 0 170 {height + 2}" aria-hidden="true" focusable="false">{"".join(rects)}{line}</svg>'
