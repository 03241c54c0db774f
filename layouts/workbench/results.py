"""Result classes of the workbench, shared by its modules and the pages.

Spans are (first, past last) characters of the text; amounts are bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from lanescope import reader
from lanescope.bits import format_word
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import View
from lanescope.ptx.table.descriptors import WGMMA
from lanescope.reader.code.findings import Pitfall

Span = tuple[int, int]
PATIENCE = 20  # factor on the limits of characters and steps: a file is checked once, and no page waits for it
LONGEST = PATIENCE * reader.LONGEST  # characters of a file that is checked
K_OF_INSTRUCTION = "the K of the instruction"  # reason for the value of a symbol that is named after it
_NUMBER = re.compile(r"0x[\da-f]+|\d+")
_STORAGE_KEYS = ("base", "boxes", "panel", "swizzle")
_ASSUMED = "{label} is taken as {value}: {why}."
_SUMMARIES = {  # kind of an assumption → sentence that names it
    "at": "{label} is taken as {value}, {why}.",
    "base": "That {label} {value} is taken from the word: {why}.",
    "boxes": "{label} are assumed to form one tile: {why}.",
    "panel": "{label} are taken as {value}: {why}.",
    "swizzle": "Swizzle {value} is {why}.",
    "type": "{name} is taken for CUTLASS’s {value}: {why}.",
    **dict.fromkeys(("encode", "inner", "instruction", "macro", "major", "operand", "storage"), _ASSUMED),
}

DOUBTS = frozenset(
    "comment_contradicts core_matrices_overlap cute_sums_open lbo_unusual load_outside mask_cuts_address"
    " mask_too_wide mbarrier_parity_range mbarriers_open mbarriers_unfinished sbo_unusual strides_unusual".split()
)  # codes that never fail a check
STRIDE_DOUBTS = frozenset(("core_matrices_overlap", "sbo_unusual", "strides_unusual"))  # which verified reads refute
WARNINGS = frozenset(
    "reserved_bits idesc_reserved_bits idesc_type tiled_mma_permutation tile_alignment"
    " cute_tile_indivisible tmem_freed_early cluster_exit tcgen05_accumulator_kept element_type".split()
)  # codes that do not change which bytes are read, or that may be meant


@dataclass(frozen=True, slots=True)
class TextPiece:
    """One item that a text contains.

    kind: tensor_map, descriptor (code or a printed word), instruction or layout; title: a short description; spans: its
    places; facts: as POST /read has them; notices: rules it breaks and C pitfalls; doubts: unusual code that may be
    right; operands: the operands of the instruction that it belongs to; origins: for a descriptor, field → the places
    of the text that set it; suspects: (code, place) of each doubt.
    """

    kind: str
    title: str
    spans: tuple[Span, ...]
    facts: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    origins: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    suspects: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Assumption:
    """A value that the text leaves open: assumed, or required from the user (value "").

    key: its name among the overrides; choices: the allowed words, () for a number; why: the reason for the value;
    operands: those whose verdict it can change, () for all.
    """

    key: str
    label: str
    value: str
    why: str
    choices: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        return not self.value

    @property
    def of_storage(self) -> bool:
        """Whether it determines where an operand is stored, which the text does not state."""
        return bool(self.value) and self.why != "as given" and self.key.partition(".")[0] in _STORAGE_KEYS

    @property
    def summary(self) -> str:
        """A sentence that names the assumption; "" if the value was given or only moves a whole tile."""
        kind, _, name = self.key.partition(".")
        if not self.value or self.why == "as given":
            return ""
        if kind == "size":
            return self._describe_size(name)
        if kind == "at" and self.why != K_OF_INSTRUCTION:
            return ""
        if kind == "instruction" and "no code in the text" in self.why:
            return f"{self.why.split(' has no code')[0]} is taken as {self.value}: its code is not in the text."
        return _SUMMARIES.get(kind, "").format(label=self.label, value=self.value, why=self.why, name=name)

    def _describe_size(self, name: str) -> str:
        size = f"{self.value} byte{'' if self.value == '1' else 's'}"
        counts = self.label.startswith("Bytes that")
        what = f"{name} to count in elements of {size}" if counts else f"{name} as {size}"
        return f"This takes {what}: {self.why}."

    @property
    def placed(self) -> bool:
        """Whether it is an address of assumed alignment: the word may be wrong at another address."""
        return self.key.startswith("at.") and bool(self.value) and "taken 1024-byte aligned" in self.why

    @property
    def deciding(self) -> bool:
        """Whether another value could change the verdict."""
        return bool(self.summary) or self.placed

    @property
    def detailed(self) -> bool:
        """Whether messages about a mismatch mention it, too, because other values are likely."""
        return self.key.partition(".")[0] in ("size", "swizzle", "boxes", "instruction", "type")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Replacement text for one span."""

    span: Span
    text: str


OR_HERE = "Or the mistake is here."


@dataclass(frozen=True, slots=True)
class WrongRead:
    """A span of the text whose reads go wrong, and the sentence to show there."""

    message: str
    span: Span


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One mistake: its code, a sentence, its place, and the word that would be right.

    reads: how many wrong reads follow from it; edits: replacements that were tried and make all those reads right;
    assumed: the assumptions it depends on, name → value; follows: the places of those reads; changes: (field, encoded,
    needed) of one descriptor field, each of which would make them right; of_result: whether a run for
    mbarriers or D shows it, in which all else is right.
    """

    code: str
    message: str
    span: Span
    reads: int = 0
    edits: tuple[TextEdit, ...] = ()
    fix: str = ""
    assumed: tuple[tuple[str, str], ...] = ()
    follows: tuple[WrongRead, ...] = ()
    changes: frozenset[tuple[str, int, int]] = frozenset()
    of_result: bool = False

    @property
    def level(self) -> str:
        return "note" if self.code in DOUBTS else "warning" if self.code in WARNINGS else "error"


def make_finding(pitfall: Pitfall) -> CheckFinding:
    """Return the finding of a mistake that is known by its code, message and place alone."""
    others = tuple(WrongRead(OR_HERE, place) for place in pitfall.others)
    return CheckFinding(pitfall.code, pitfall.message, pitfall.span, follows=others)


_Found = TypeVar("_Found", CheckFinding, Pitfall)


def keep_common(branches: Sequence[Iterable[_Found]]) -> list[_Found]:
    """Return what is found in all of several runs, such as those of the choices of #if: each code and place once."""
    found = [{(one.code, one.span): one for one in of_branch} for of_branch in branches]
    return [one for key, one in found[0].items() if all(key in other for other in found)] if found else []


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Edits of a text that make all steps of some operands right; they were tried.

    before: the text that each edit replaces; operands: indices of the bench's operands; words: the number of their
    steps.
    """

    edits: tuple[TextEdit, ...]
    before: tuple[str, ...]
    operands: tuple[int, ...]
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandStep:
    """One descriptor that one instruction reads, for the slice of `rows` × `depth` elements at (mn, k).

    expected, read: address of the slice's first element as stored and as read, None without a verdict; matched:
    elements, of `total`, that are read from their own address; causes: of the first wrong step of a place, the most
    likely first; span: the expression that gives the descriptor, or the call that makes it wrong.
    """

    loops: Mapping[str, int]
    stage: int
    word: int
    mn: int
    k: int
    rows: int
    depth: int
    verdict: str  # match, mismatch or unknown
    expected: int | None
    read: int
    matched: int
    total: int
    causes: tuple[Diagnosis, ...]
    span: Span
    base: int | None = None  # first byte of the tile that the slice is in
    around: tuple[Span, ...] = ()  # the calls around the expression, innermost first

    @property
    def descriptor(self) -> str:
        return format_word(self.word)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedOperand:
    """One operand of one instruction with every step that reads it.

    why: how the descriptors were assigned to this operand; stored: the storage (as in the HTTP API) that was verified
    against, None if the text has none; stored_why: where the storage comes from; guessed: whether nothing in the text
    assigns that storage to the operand; fits: standard tiles that the first step reads if there is no storage; missing:
    information needed for a verdict.
    """

    name: str
    instruction: str
    major: str
    why: str
    descriptor: int  # its piece
    storage: int | None  # its piece
    stored: Mapping[str, Any] | None
    stored_why: str
    guessed: bool
    steps: tuple[OperandStep, ...]
    fits: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    k_steps: int = 0
    stages: int = 1
    left: int = 0  # steps whose descriptor depends on a value that the text leaves open
    symbols: tuple[str, ...] = ()  # the symbols in its descriptors
    terms: tuple[tuple[str, int], ...] = ()  # the symbols in its first start, each with its factor
    others: tuple[int, ...] = ()  # pieces of its later steps
    assumed: tuple[Assumption, ...] = ()  # assumptions about its storage
    one_of: int = 0  # number of instructions that may read it, 0 if the text determines the reader
    place: Span | None = None  # the place to change for the first wrong step
    seen: View | None = None  # the instruction's view of it
    group_step: int = 0  # bytes between the starts of warpgroups, if they read rows that overlap

    @property
    def form(self) -> DescriptorFormat:
        """The descriptor format of the instruction."""
        return WGMMA if self.seen is None else self.seen.form

    @property
    def wrong(self) -> tuple[OperandStep, ...]:
        return tuple(step for step in self.steps if step.verdict == "mismatch")

    @property
    def starts(self) -> frozenset[int]:
        """Addresses at which the tiles of right steps begin, and at which these steps start reading."""
        right = [step for step in self.steps if step.verdict == "match"]
        return frozenset((*(step.read for step in right), *(step.base for step in right if step.base is not None)))

    @property
    def first_wrong(self) -> OperandStep | None:
        return next(iter(self.wrong), None)

    @property
    def verdict(self) -> str:
        """mismatch, match or unknown, over all steps."""
        if self.wrong:
            return "mismatch"
        right = self.steps and not self.left and all(s.verdict == "match" for s in self.steps)
        return "match" if right else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workbench:
    """The contents of a text, and whether its descriptors read the tiles as stored.

    verdict: mismatch if any step reads other bytes or a rule is broken; match if every operand with a descriptor was
    verified and is right; else unknown. headline: one sentence; detail: why, and where; missing: sentences that name
    what a verdict would need; caution: reservations about operands that are right, such as reserved bits and
    assumptions.
    """

    pieces: tuple[TextPiece, ...]
    operands: tuple[VerifiedOperand, ...]
    assumed: tuple[Assumption, ...]
    missing: tuple[str, ...]
    verdict: str
    headline: str
    detail: str
    complete: bool = True
    caution: tuple[str, ...] = ()
    repairs: tuple[Repair, ...] = ()

    @property
    def addresses(self) -> dict[str, int]:
        """The addresses that are assumed, by the names of their symbols."""
        values = {a.key.removeprefix("at."): a.value for a in self.assumed if a.key.startswith("at.")}
        return {name: int(value, 0) for name, value in values.items() if _NUMBER.fullmatch(value)}

    @property
    def slices(self) -> frozenset[tuple[object, ...]]:
        """The part of a tile that each step of a descriptor has to read: instruction, operand, rows and K."""
        return frozenset(
            (operand.instruction, operand.name, step.mn, step.rows, step.k, step.depth)
            for operand in self.operands
            for step in operand.steps
        )

    def move_spans(self, place: Callable[[int, int], Span]) -> Workbench:
        """Return the bench with every span moved to its place in another text."""

        def step(step: OperandStep) -> OperandStep:
            return replace(step, span=place(*step.span), around=tuple(place(*span) for span in step.around))

        def places(spans: tuple[Span, ...]) -> tuple[Span, ...]:
            return tuple(place(*span) for span in spans)

        pieces = (
            replace(
                part,
                spans=places(part.spans),
                origins={name: places(spans) for name, spans in part.origins.items()},
                suspects=tuple((code, place(*span)) for code, span in part.suspects),
            )
            for part in self.pieces
        )
        operands = (
            replace(part, steps=tuple(map(step, part.steps)), place=part.place and place(*part.place))
            for part in self.operands
        )
        repairs = (
            replace(part, edits=tuple(replace(edit, span=place(*edit.span)) for edit in part.edits))
            for part in self.repairs
        )
        return replace(self, pieces=tuple(pieces), operands=tuple(operands), repairs=tuple(repairs))

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(piece.kind for piece in self.pieces)
