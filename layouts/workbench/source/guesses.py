"""Decide whether a mismatch depends on an assumption, by trying other choices.

`check.py` calls it for every wrong step; a step that another choice makes right is an open point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from lanescope.deadline import check_deadline
from lanescope.errors import LayoutError
from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.maps import tensor_maps
from lanescope.reader.grammars.excerpt import extract_code
from lanescope.workbench import OperandStep, VerifiedOperand, Workbench, build_workbench
from lanescope.workbench.results import PATIENCE, Assumption
from lanescope.workbench.text.contents import evaluate_with_choices

MOST_VARIED = 16  # other choices of assumed values that are tried for one mismatch; with more it is open
MOST_PAIRS = 24  # pairs of them that are tried together
APART = 4096  # bytes that an assumed address or stride is moved by, to see whether a mismatch depends on it


def evaluate_file(text: str, choices: Mapping[str, str]) -> Evaluation | None:
    """Evaluate the code of a source text; None if it has none. choices: those of build_workbench."""
    return evaluate_with_choices(extract_code(text, text), PATIENCE, choices)


class Guesses:
    """The assumptions that mismatches depend on, found by trying other choices, each once."""

    def __init__(self, text: str, bench: Workbench, choices: Mapping[str, str]) -> None:
        self.text = text
        self.bench = bench
        self.choices = choices
        code = evaluate_file(text, choices)
        self.maps = sum(1 + tensor_map.alike for tensor_map in tensor_maps.find_named_maps(code)) if code else 0
        self.tried: dict[frozenset[tuple[str, str]], Workbench | None] = {}

    def find_guess(self, operand: VerifiedOperand, wrong: OperandStep) -> str:
        """Return the assumption that a mismatch depends on, "" if it is wrong for every choice."""
        bench = self.bench
        if stored := self.find_guessed_storage(operand):
            return stored
        assumed = list(_list_assumed_values(self, operand))
        tried = assumed[:MOST_VARIED]
        for key, value, why in (*tried, *_list_assumed_stores(bench, operand)):
            if _is_repaired(self, {key: value}, operand, wrong):
                return f"that rests on {why}."
        if len(assumed) > MOST_VARIED:
            return f"{len(assumed)} other choices of assumed values would have to be tried, more than {MOST_VARIED}."
        pairs = [(left, right) for left, right in combinations(tried, 2) if left[0] != right[0]]
        for left, right in pairs[:MOST_PAIRS]:
            if _is_repaired(self, {left[0]: left[1], right[0]: right[1]}, operand, wrong):
                return f"that rests on {left[2]} and {right[2]}."
        if len(pairs) > MOST_PAIRS:
            return f"{len(pairs)} pairs of assumed values would have to be tried, more than {MOST_PAIRS}."
        return ""

    def find_guessed_storage(self, operand: VerifiedOperand) -> str:
        """Return a sentence part if nothing in the text names an operand's storage, else ""."""
        bench = self.bench
        if not operand.guessed or len(bench.operands) < 2:
            return ""
        layouts = sum(piece.kind == "layout" for piece in bench.pieces)
        if layouts + self.maps >= len({(o.name, o.instruction) for o in bench.operands}):
            return ""
        return f"nothing says that {operand.name.upper()} is stored as {operand.stored_why}."

    def rebuild(self, chosen: dict[str, str]) -> Workbench | None:
        """Return the bench of the text with other choices; None if they are refused."""
        check_deadline()
        key = frozenset(chosen.items())
        if key not in self.tried:
            try:
                self.tried[key] = build_workbench(
                    self.text, {**self.choices, **chosen}, PATIENCE, copied=False, why=False
                )
            except LayoutError:
                self.tried[key] = None
        return self.tried[key]


def _is_repaired(guesses: Guesses, chosen: dict[str, str], operand: VerifiedOperand, wrong: OperandStep) -> bool:
    """Return whether other choices of assumed values remove a mismatch; for a panel, also whether they change it."""
    again = guesses.rebuild(chosen)
    if again is None:
        return False
    same = _find_same_operand(guesses.bench, again, operand)
    left = _find_remaining_wrong(same, operand, wrong) if same else None
    moved = any(name.startswith(("at.", "base.")) for name in chosen)  # moving an address changes every word anyway
    panel = not moved and any(name.startswith("panel.") for name in chosen)
    return left is None or (panel and (left.word, left.expected) != (wrong.word, wrong.expected))


def _find_remaining_wrong(same: VerifiedOperand, operand: VerifiedOperand, wrong: OperandStep) -> OperandStep | None:
    """Find a step that is still wrong in the operand of another bench: of the same place, or right before.

    None if the other choices make the place right and no other step wrong.
    """
    if len(same.steps) != len(operand.steps):
        return same.first_wrong
    pairs = zip(same.steps, operand.steps, strict=True)
    bad = (new for new, old in pairs if old.span == wrong.span or old.verdict != "mismatch")
    return next((step for step in bad if step.verdict == "mismatch"), None)


def _find_same_operand(bench: Workbench, again: Workbench, operand: VerifiedOperand) -> VerifiedOperand | None:
    """Find the operand of another bench of the same text that corresponds to this one."""
    at = bench.operands.index(operand)
    if len(again.operands) == len(bench.operands) and again.operands[at].name == operand.name:
        return again.operands[at]
    return next((o for o in again.operands if o.name == operand.name and o.descriptor == operand.descriptor), None)


def _begin_small(label: str) -> str:
    """Return a label as part of a sentence: "Bytes from …" becomes "bytes from …", "SBO" and "sA" stay."""
    return label[:1].lower() + label[1:] if label[1:2].islower() and " " in label else label


def _list_assumed_values(guesses: Guesses, operand: VerifiedOperand) -> Iterator[tuple[str, str, str]]:
    """Yield (key, another value, description) for every assumed value that a mismatch may depend on."""
    for assumed in guesses.bench.assumed:
        about = assumed.key.partition(".")[2]
        if assumed.key in guesses.choices:
            continue  # given by the user, hence not an assumption
        if assumed.key.partition(".")[0] in ("major", "inner", "panel", "base") and about != operand.name:
            continue
        if assumed.key.startswith("at.") and about not in operand.symbols:
            continue
        if assumed.operands and operand.name not in assumed.operands:
            continue
        for value in _list_other_values(assumed):
            if assumed.key.startswith("inner.") and value != operand.major:
                continue  # a 16-byte chunk would hold elements of one K where the instruction reads those of one row
            yield assumed.key, value, f"{_begin_small(assumed.label)} being {assumed.value} ({assumed.why})"


def _list_assumed_stores(bench: Workbench, operand: VerifiedOperand) -> Iterator[tuple[str, str, str]]:
    """Yield (key, another value, description) for the store of an operand, if nothing in the text names it."""
    if operand.guessed:
        for n, piece in enumerate(bench.pieces):
            if piece.kind in ("tensor_map", "layout") and n != operand.storage:
                yield f"storage.{operand.name}", str(n), f"{operand.stored_why}: the text has another"


def _list_other_values(assumed: Assumption) -> tuple[str, ...]:
    """Return other values that an assumed one might have."""
    if assumed.key.startswith("size."):  # element sizes in bytes
        return tuple(choice for choice in ("1", "2", "4") if choice != assumed.value)
    if assumed.choices:
        return tuple(choice for choice in assumed.choices if choice != assumed.value)
    try:
        value = int(assumed.value, 0)
    except ValueError:
        return ()
    return (str(value + APART), hex(value + 128)) if assumed.key.startswith(("at.", "base.")) else (str(value + APART),)
