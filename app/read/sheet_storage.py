"""How the operands of a workbench are stored: the storage in the text, the other options, and the result of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from lanescope.app.memory.presets import compute_thumbnail
from lanescope.app.read.sheet_step import format_amount, name_field, view_operand
from lanescope.app.read.workbench import find_line
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.repair import list_changes
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.workbench import VerifiedOperand, Workbench, build_workbench
from lanescope.workbench.reads.presets import PRESETS, get_preset_title

LONGEST_TRIED = 1 << 15  # characters of a text for which the outcome of every storage is computed


@dataclass(frozen=True, slots=True)
class StorageOption:
    """A way to store an operand and its outcome. good: whether every step is right then, None if not tried."""

    value: str
    title: str
    outcome: str = ""
    more: str = ""
    good: bool | None = None
    thumbnail: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StorageRow:
    """How one operand is stored. chosen: value of the selected option; source: where the storage comes from."""

    name: str
    key: str
    chosen: str
    source: str
    options: tuple[StorageOption, ...]
    has_question: bool = False


def _find_source(bench: Workbench, text: str, operand: VerifiedOperand, choice: str) -> tuple[str, bool]:
    """Return where an operand's storage comes from, and whether the text specifies one. choice: the selected option."""
    if choice:
        return "your choice", any(piece.kind in ("tensor_map", "layout") for piece in bench.pieces)
    if operand.storage is None:
        return "the text does not say", False
    piece = bench.pieces[operand.storage]
    first, last = (find_line(text, at) for at in (piece.spans[0][0], piece.spans[0][1] - 1))
    return f"line {first}" if first == last else f"lines {first}–{last}", True


def list_storages(
    bench: Workbench, text: str, assumptions: Mapping[str, str], late: Callable[[], bool] = lambda: False
) -> Iterator[StorageRow]:
    """Yield a row for each operand. The first operand without a storage gets a question, with the result of each
    option until it is late.
    """
    is_settled = bench.verdict == "mismatch"
    names = set()
    for operand in bench.operands:
        if operand.name in names or not operand.steps:
            continue
        names.add(operand.name)
        key, seen, word = f"stored.{operand.name}", view_operand(operand), operand.steps[0].word
        titles = {name: get_preset_title(name, seen, word) for name in PRESETS}
        choice, has_question = assumptions.get(key, ""), operand.stored is None and not is_settled
        is_settled = is_settled or has_question
        options = tuple(
            _try_storage(text, {**assumptions, key: name}, operand, StorageOption(name, title))
            if has_question and len(text) <= LONGEST_TRIED and not late()
            else StorageOption(name, title)
            for name, title in titles.items()
        )
        source, is_in_text = _find_source(bench, text, operand, choice)
        if is_in_text and not has_question:
            options = (StorageOption("", "as in the text"), *options)
        chosen = choice or ("" if operand.stored is not None else "?")
        yield StorageRow(operand.name.upper(), key, chosen, source, options, has_question)


def _try_storage(
    text: str, choices: Mapping[str, str], operand: VerifiedOperand, option: StorageOption
) -> StorageOption:
    """Return a storage with its outcome: the operand's steps verified against it."""
    try:
        bench = build_workbench(text, choices)
    except LayoutError as error:
        return replace(option, outcome=error.message)
    after = next((o for o in bench.operands if (o.name, o.instruction) == (operand.name, operand.instruction)), None)
    if after is None or after.stored is None:
        return replace(option, outcome="not stored this way")
    picture = tuple(compute_thumbnail(after.stored, view_operand(after)))
    option = replace(option, thumbnail=picture)
    if after.verdict == "unknown":
        return replace(option, outcome=next(iter(after.missing), "open"))
    wrong = [step.total - step.matched for step in after.steps]
    total = after.steps[0].total
    each = " per step" if len(wrong) > 1 else ""
    if not any(wrong) and not after.wrong:
        return replace(option, outcome=f"all {total:,} match{each}", good=True)
    outcome = (
        f"{wrong[0]:,} of {total:,} wrong{each}"
        if len(set(wrong)) == 1
        else f"{sum(wrong):,} of {sum(s.total for s in after.steps):,} wrong"
    )
    return replace(option, outcome=outcome, more=_describe_way_out(after), good=False)


def _describe_way_out(operand: VerifiedOperand) -> str:
    """Return a sentence with the word that would read a storage, or that no descriptor reads it."""
    first = operand.first_wrong
    fix = first.causes[0].fix if first and first.causes else None
    if first is None or fix is None:
        return "no descriptor reads it"
    changes = list_changes(Descriptor(first.word), fix)
    if len(changes) > 1:
        return f"another word: {join_words([name_field(name) for name in changes])}"
    return "".join(
        f"repair: {name_field(name)} {format_amount(name, old)} → {format_amount(name, new)}"
        for name, (old, new) in changes.items()
    )
