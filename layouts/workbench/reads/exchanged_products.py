"""Find products with the descriptors of A and B exchanged, if only the other order fits the tiles.

Names alone do not prove it, since the transposed product may be intended. The starts must agree as well: the operand
read as B advances by the 64 rows of A from tile to tile, so that its N columns overlap.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.workbench.descriptors.descriptor_use import DescriptorUse
from lanescope.workbench.descriptors.uses import find_asm_uses
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText
from lanescope.workbench.reads.alignment import WARPGROUP
from lanescope.workbench.results import Span, Workbench
from lanescope.workbench.text.addresses import list_start_names
from lanescope.workbench.text.function_texts import find_enclosing_function
from lanescope.workbench.text.names import find_descriptor_letter, find_operand_letter

MOST_PRODUCTS = 64  # of one kernel that are compared
_ROWS_OF_A = 64  # of every wgmma (PTX ISA 9.1, 9.7.15.2)
_ROW_GROUP = 8


def find_exchanged_products(text: KernelText, bench: Workbench) -> list[Pitfall]:
    """Find the first product of each kernel whose operands are exchanged for certain."""
    crossed = any(
        cause.code == "operands_exchanged"
        for operand in bench.operands
        for s in operand.steps[:1]
        for cause in s.causes
    )
    pitches = {int((operand.stored or {}).get("line_stride") or 0) for operand in bench.operands}
    if not crossed or len(pitches) != 1 or not (pitch := pitches.pop()):
        return []
    return [mistake for run in text.runs for mistake in _check_run(text, run, pitch)]


def _check_run(text: KernelText, run: KernelRun, pitch: int) -> Iterator[Pitfall]:
    products = [(event, use) for event in run.events for use in _list_uses(event)][:MOST_PRODUCTS]
    uses = [use for _, use in products]
    if not uses or not all(map(_is_crossed, uses)):
        return
    columns = {use.mention.instruction.shape for use in uses if use.mention is not None}
    moved_a, moved_b = (_find_least_move(uses, name, _ROW_GROUP * pitch) for name in "ab")
    rows = {int(shape.partition("n")[2].partition("k")[0]) for shape in columns}
    if len(rows) != 1 or moved_b is None:
        return
    n = rows.pop()
    fits_exchanged = moved_b >= _ROWS_OF_A * pitch and (moved_a is None or moved_a >= n * pitch)
    if moved_b >= n * pitch or not fits_exchanged:
        return
    event, use = products[0]
    yield Pitfall(
        "operands_exchanged",
        f"{_name_argument(text, use, 'a')} is passed as A and {_name_argument(text, use, 'b')} as B, but each is named"
        f" after the other operand. The start of B moves by {moved_b // pitch} rows from tile to tile, but the"
        f" instruction reads {n} rows: exchange the two descriptors.",
        _find_place(text, event, use),
    )


def drop_moved_rows(text: KernelText, rows: Sequence[Pitfall], exchanged: Sequence[Pitfall]) -> list[Pitfall]:
    """Drop the findings of overlapping rows in functions with exchanged operands, from which they follow."""
    crossed = [find_enclosing_function(text.blank, mistake.span[0]) for mistake in exchanged]
    return [mistake for mistake in rows if find_enclosing_function(text.blank, mistake.span[0]) not in crossed]


def _list_uses(event: KernelEvent) -> list[DescriptorUse]:
    run = event.run
    uses = find_asm_uses([run], ()) if event.kind == "wgmma" and isinstance(run, AsmRun) else []
    return [use for use in uses if set(use.arguments) == {"a", "b"}]


def _is_crossed(use: DescriptorUse) -> bool:
    letters = {name: find_operand_letter(*list_start_names(use.arguments[name].value)) for name in "ab"}
    return letters == {"a": "b", "b": "a"}


def _find_least_move(uses: Sequence[DescriptorUse], name: str, least: int) -> int | None:
    """Return the least distance between the starts of an operand, in whole row groups; None if it does not move."""
    starts: dict[object, set[int]] = {}
    moves: set[int] = set()
    for use in uses:
        line = use.arguments[name].address
        if line is None:
            return None
        starts.setdefault(line.terms, set()).add(line.const)
        moves |= {factor for symbol, factor in line.terms if WARPGROUP.fullmatch(symbol)}
    for of_tile in starts.values():
        first = min(of_tile)
        moves |= {start - first for start in of_tile if start > first and not (start - first) % least}
    return min(moves, default=None)


def _name_argument(text: KernelText, use: DescriptorUse, operand: str) -> str:
    """Return an operand as it is written in the C++ code; its number in the asm statement if it is not a name."""
    argument = use.arguments[operand]
    written = text.blank[slice(*argument.span)].strip()
    return written if re.fullmatch(r"[A-Za-z_]\w*", written) else argument.name


def _find_place(text: KernelText, event: KernelEvent, use: DescriptorUse) -> Span:
    """Find where the descriptors are exchanged: in the asm statement if their names cross there, else in the call."""
    spans = [use.arguments[name].span for name in "ab"]
    if [find_descriptor_letter(text.blank[slice(*span)]) for span in spans] == ["b", "a"]:
        return min(spans)
    return text.narrow_event(event, spans[0], "")
