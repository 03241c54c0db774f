"""The catalogue's matrix multiplies folded into one table: types × shapes × PTX version × targets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any

from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Family, Instruction
from lanescope.ptx.syntax import parse_sizes
from lanescope.ptx.table.modifiers import KINDS
from lanescope.ptx.targets import format_targets


def get_section(row: Family) -> str:
    """Return the section of the table that a family belongs to: dense, sparse or scaled.

    Sparse families are split by whether the metadata must be ordered.
    """
    name = row.opcode.short or row.opcode.text
    return f"{name.partition('::')[0]} block_scale" if row.scale_blocks else name


SECTIONS = tuple(
    dict.fromkeys(get_section(row) for row in sorted(catalog.families(), key=lambda row: row.menu) if row.multiplies)
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewRow:
    """One line of the table: types, accumulators, shapes, PTX version and targets.

    kind: .kind and .scale_vec qualifiers and the type of the scale factors, "" without; pairs: the (A, B) types;
    results: the (D, C) types; found: every instruction folded into the row.
    """

    section: str
    kind: str
    group: str  # types of one group may share a line
    pairs: tuple[tuple[str, str], ...]
    results: tuple[tuple[str, str], ...]
    shapes: tuple[str, ...]
    ptx_version: str
    targets: tuple[str, ...]
    found: tuple[Instruction, ...]

    @property
    def multiplicands(self) -> str:
        """The types of A and B: one type, "x or y, A and B each", or the pairs themselves."""
        a, b = (tuple(dict.fromkeys(pair[side] for pair in self.pairs)) for side in (0, 1))
        if len(self.pairs) == len(a) * len(b) and a == b:
            return a[0] if len(a) == 1 else f"{join_words(a, 'or')}, A and B each"
        if len(self.pairs) <= 4:
            return ", ".join(f"{x} × {y}" for x, y in self.pairs)
        union = tuple(dict.fromkeys((*a, *b)))
        missing = [pair for pair in product(union, union) if pair not in self.pairs]
        left_out = tuple(dict.fromkeys(x for x, _ in missing))
        assert set(missing) == set(product(left_out, left_out)), self.pairs
        return f"{join_words(union, 'or')}, A and B each, but not both of {join_words(left_out, 'or')}"

    @property
    def accumulators(self) -> str:
        """The types of D, and of C if they may differ."""
        d = tuple(dict.fromkeys(result[0] for result in self.results))
        if all(x == y for x, y in self.results):
            return join_words(d, "or")
        if len(self.results) == len(d) ** 2:
            return f"{join_words(d, 'or')}, D and C each"
        return ", ".join(x if x == y else f"{x} with C {y}" for x, y in self.results)

    @property
    def target_text(self) -> str:
        return format_targets(self.targets)

    @property
    def newer(self) -> tuple[tuple[str, str, str], ...]:
        """Forms that need a later PTX version than the row says: (modifier, PTX version, targets)."""
        old = {word for i in self.found if self._has_same_support(i) for word in i.modifiers}
        later = {}
        for i in self.found:
            if not self._has_same_support(i):
                support = catalog.get_target_support(i)
                added = " ".join("." + word for word in i.modifiers if word not in old)
                later[added] = (support.ptx_version, format_targets(support.targets))
        return tuple((name, *since) for name, since in later.items())

    def _has_same_support(self, i: Instruction) -> bool:
        support = catalog.get_target_support(i)
        return (support.ptx_version, support.targets) == (self.ptx_version, self.targets)


def fold_shapes(shapes: Iterable[str]) -> list[str]:
    """Fold m64n8k16, m64n16k16, … into "m64nNk16, N = …"; up to three shapes stay as they are.

    >>> fold_shapes(["m16n8k8", "m16n8k16"])
    ['m16n8k8', 'm16n8k16']
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for shape in shapes:
        m, n, k = (parse_sizes(shape).get(dim, 0) for dim in "mnk")
        groups.setdefault((m, k), []).append(n)
    texts = []
    for (m, k), ns in groups.items():
        if len(ns) < 4:
            texts += [f"m{m}n{n}k{k}" for n in ns]
        else:
            texts.append(f"m{m}nNk{k}, N = {_format_sizes(ns)}")
    return texts


def _format_sizes(ns: list[int]) -> str:
    """Format ascending sizes: "8, 16, 24 to 256 in steps of 8"."""
    step = ns[-1] - ns[-2]
    start = len(ns) - 1
    while start and ns[start] - ns[start - 1] == step:
        start -= 1
    tail = f"{ns[start]} to {ns[-1]} in steps of {step}"
    return ", ".join([*map(str, ns[:start]), tail]) if start else tail


@lru_cache(maxsize=1)
def list_overview_rows() -> tuple[OverviewRow, ...]:
    """Return the rows of the table, by section.

    Forms that differ only in shape, only in A and B, or only in C and D share a row.
    """
    rows: dict[tuple[object, ...], OverviewRow] = {}
    for i in catalog.instructions():
        if i.family.multiplies:
            new_row = _make_row(i)
            key = (new_row.section, new_row.kind, new_row.pairs, new_row.results, new_row.shapes)
            row = rows.setdefault(key, new_row)
            if row is not new_row:  # they differ in modifiers such as .satfinite or .and: show the oldest
                rows[key] = replace(min(row, new_row, key=_parse_version), found=(*row.found, i))
    folded = list(rows.values())
    for field in ("shapes", "pairs", "results"):
        folded = _merge_rows(folded, field)
    return tuple(sorted(folded, key=lambda row: SECTIONS.index(row.section)))


def _make_row(i: Instruction) -> OverviewRow:
    support = catalog.get_target_support(i)
    a = i.operands["a"].element.name
    pair, result = (a, i.types.get("b", a)), (i.types["d"], i.types.get("c", i.types["d"]))
    group = next((group[0] for group in _GROUPS if set(pair) <= set(group)), a)
    return OverviewRow(
        section=get_section(i.family),
        kind=format_kind(i),
        group=group,
        pairs=(pair,),
        results=(result,),
        shapes=(i.shape,),
        ptx_version=support.ptx_version,
        targets=support.targets,
        found=(i,),
    )


def _parse_version(row: OverviewRow) -> list[int]:
    return [int(number) for number in row.ptx_version.split(".")]


def _merge_rows(rows: list[OverviewRow], field: str) -> list[OverviewRow]:
    """Merge rows that are equal in all but one field into one row with all its values."""
    groups: dict[OverviewRow, list[OverviewRow]] = {}
    for row in rows:
        groups.setdefault(_replace_field(row, field, (), ()), []).append(row)
    merged = []
    for key, group in groups.items():
        values = tuple(dict.fromkeys(value for row in group for value in getattr(row, field)))
        merged.append(_replace_field(key, field, values, tuple(i for row in group for i in row.found)))
    return merged


def _replace_field(row: OverviewRow, field: str, values: Any, instructions: tuple[Instruction, ...]) -> OverviewRow:
    changed: dict[str, Any] = {field: values, "found": instructions}
    return replace(row, **changed)


_GROUPS = (("e4m3", "e5m2", "e3m2", "e2m3", "e2m1"), ("s8", "u8"), ("s4", "u4"))


def format_kind(i: Instruction) -> str:
    """Return the .kind of an instruction and its scaling, "" without."""
    words = [word for word in i.modifiers if word in KINDS]
    if i.scales and len(words) == 1:
        blocks = next(iter(i.scales.values())).blocks
        words.append(f"scale_vec::{blocks}X")
    return " ".join([*words, *([i.types["s"]] if i.scales else [])])
