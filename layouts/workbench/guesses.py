"""Whether a mismatch rests on a guess: other choices of what the text leaves open are tried, each once.

`check.py` asks for every wrong step, and calls one open that another choice mends.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from lanescope.deadline import check_deadline
from lanescope.errors import LayoutError
from lanescope.reader.code import tensor_maps
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.excerpt import extract_code
from lanescope.workbench import Bench, OperandStep, VerifiedOperand, build_bench
from lanescope.workbench.results import Assumption

PATIENCE = 20  # a file is checked once and nobody waits for a page: so many times as many characters and steps
MOST_VARIED = 16  # other choices of assumed values that are tried for one mismatch; with more it is open
MOST_PAIRS = 24  # pairs of them that are tried together
APART = 4096  # bytes that an assumed address or stride is moved by, to see whether a mismatch depends on it


class Guesses:
    """What mismatches rest on that the text does not say: other choices are tried, each once."""

    def __init__(self, text: str, made: Bench) -> None:
        self.text = text
        self.made = made
        code = evaluate_text(extract_code(text, text), PATIENCE)
        self.maps = sum(1 + one.alike for one in tensor_maps.find_named_maps(code)) if code else 0
        self.tried: dict[frozenset[tuple[str, str]], Bench | None] = {}

    def find_guess(self, one: VerifiedOperand, wrong: OperandStep) -> str:
        """ "" where a mismatch stands whatever the text leaves open."""
        made, name = self.made, one.name
        if one.guessed and len(made.operands) > 1:
            laid = sum(piece.kind == "layout" for piece in made.pieces)
            if laid + self.maps < len({(o.name, o.instruction) for o in made.operands}):
                return f"nothing says that {name.upper()} is stored as {one.stored_why}."
        assumed = list(_list_assumed_values(made, one))
        tried = assumed[:MOST_VARIED]
        for key, value, why in (*tried, *_list_assumed_stores(made, one)):
            if _is_mended(self, {key: value}, one, wrong):
                return f"that rests on {why}."
        if len(assumed) > MOST_VARIED:
            return f"{len(assumed)} other choices of assumed values would have to be tried, more than {MOST_VARIED}."
        pairs = [(left, right) for left, right in combinations(tried, 2) if left[0] != right[0]]
        for left, right in pairs[:MOST_PAIRS]:
            if _is_mended(self, {left[0]: left[1], right[0]: right[1]}, one, wrong):
                return f"that rests on {left[2]} and {right[2]}."
        if len(pairs) > MOST_PAIRS:
            return f"{len(pairs)} pairs of assumed values would have to be tried, more than {MOST_PAIRS}."
        return ""

    def again(self, chosen: dict[str, str]) -> Bench | None:
        """The bench of the text with other choices; None where they are refused."""
        check_deadline()
        key = frozenset(chosen.items())
        if key not in self.tried:
            try:
                self.tried[key] = build_bench(self.text, chosen, PATIENCE, copied=False, why=False)
            except LayoutError:
                self.tried[key] = None
        return self.tried[key]


def _is_mended(guesses: Guesses, chosen: dict[str, str], one: VerifiedOperand, wrong: OperandStep) -> bool:
    """Whether a mismatch goes with other choices of assumed values; of a panel, also whether it becomes another."""
    again = guesses.again(chosen)
    if again is None:
        return False
    same = _find_same_operand(guesses.made, again, one)
    left = _find_remaining_wrong(same, one, wrong) if same else None
    panel = any(name.startswith("panel.") for name in chosen)
    return left is None or (panel and (left.word, left.expected) != (wrong.word, wrong.expected))


def _find_remaining_wrong(same: VerifiedOperand, one: VerifiedOperand, wrong: OperandStep) -> OperandStep | None:
    """What is still wrong in another bench's operand: a step of the same place, or one that was right; None where the
    other choices mend the place and break nothing.
    """
    if len(same.steps) != len(one.steps):
        return same.first_wrong
    pairs = zip(same.steps, one.steps, strict=True)
    bad = (new for new, old in pairs if old.span == wrong.span or old.verdict != "mismatch")
    return next((step for step in bad if step.verdict == "mismatch"), None)


def _find_same_operand(made: Bench, again: Bench, one: VerifiedOperand) -> VerifiedOperand | None:
    """The operand of another bench of the same text that one is."""
    at = made.operands.index(one)
    if len(again.operands) == len(made.operands) and again.operands[at].name == one.name:
        return again.operands[at]
    return next((o for o in again.operands if o.name == one.name and o.descriptor == one.descriptor), None)


def _list_assumed_values(made: Bench, one: VerifiedOperand) -> Iterator[tuple[str, str, str]]:
    """(key, another value, what is assumed) of every assumed value that a mismatch could rest on."""
    for assumed in made.assumed:
        about = assumed.key.partition(".")[2]
        if assumed.key.partition(".")[0] in ("major", "inner", "panel", "base") and about != one.name:
            continue
        if assumed.key.startswith("at.") and about not in one.symbols:
            continue
        if assumed.operands and one.name not in assumed.operands:
            continue
        for value in _list_other_values(assumed):
            yield assumed.key, value, f"{assumed.label} being {assumed.value} ({assumed.why})"


def _list_assumed_stores(made: Bench, one: VerifiedOperand) -> Iterator[tuple[str, str, str]]:
    """The same of the map or layout that stores an operand, where nothing in the text names it."""
    if one.guessed:
        for n, piece in enumerate(made.pieces):
            if piece.kind in ("tensor_map", "layout") and n != one.storage:
                yield f"storage.{one.name}", str(n), f"{one.stored_why}: the text has another"


def _list_other_values(assumed: Assumption) -> tuple[str, ...]:
    """Other values that an assumed one might have as well."""
    if assumed.key.startswith("size."):  # of elements that an operand or memory may have
        return tuple(choice for choice in ("1", "2", "4") if choice != assumed.value)
    if assumed.choices:
        return tuple(choice for choice in assumed.choices if choice != assumed.value)
    try:
        value = int(assumed.value, 0)
    except ValueError:
        return ()
    return (str(value + APART), hex(value + 128)) if assumed.key.startswith(("at.", "base.")) else (str(value + APART),)
