"""What the workbench says of one text: the classes of its answer, which all its modules and the pages share.

Spans are (first, past last) characters of the text; amounts are bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lanescope.bits import format_word
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.format import DescriptorFormat
from lanescope.descriptor.matrix import View
from lanescope.ptx.table.descriptors import WGMMA

Span = tuple[int, int]
K_OF_INSTRUCTION = "the K of the instruction"  # why a symbol that is named after it has a value
_STORAGE_KEYS = ("base", "boxes", "panel", "swizzle")
_ASSUMED = "{label} is taken as {value}: {why}."
_SUMMARIES = {  # kind of an assumed value → what a verdict rests on
    "at": "{label} is taken as {value}, {why}.",
    "base": "That {label} {value} is taken from the word: {why}.",
    "boxes": "{label} are assumed to form one tile: {why}.",
    "panel": "{label} are taken as {value}: {why}.",
    "swizzle": "Swizzle {value} is {why}.",
    "type": "{name} is taken for CUTLASS’s {value}: {why}.",
    **dict.fromkeys(("encode", "inner", "instruction", "macro", "major", "operand", "storage"), _ASSUMED),
}


@dataclass(frozen=True, slots=True)
class TextPiece:
    """One thing that a text holds.

    kind: tensor_map, descriptor (code or a printed word), instruction or layout; title: what it says, short; spans:
    where it is; facts: as POST /read has them; notices: rules it breaks, C's pitfalls; doubts: what is unusual and
    may be right; operands: which operands of the instruction it belongs to; origins: of a descriptor, field → the
    places of the text that it came from; suspects: (code, place) of each doubt.
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
    """A value that the text leaves open and that was taken, or that has to be given (value "").

    key: its name among the overrides; choices: the words it may be, () for a number; why: what it rests on; operands:
    those whose verdict it can change, () for all.
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
        """Whether it says where an operand is stored, which the text does not."""
        return bool(self.value) and self.why != "as given" and self.key.partition(".")[0] in _STORAGE_KEYS

    @property
    def summary(self) -> str:
        """What a verdict rests on, in a sentence; "" if it rests on nothing here: the value was given, or moves a
        whole tile only.
        """
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
        """Whether it is an address whose alignment the text does not promise: at another one the word may be wrong."""
        return self.key.startswith("at.") and bool(self.value) and "taken 1024-byte aligned" in self.why

    @property
    def deciding(self) -> bool:
        """Whether the verdict could be another one with another value."""
        return bool(self.summary) or self.placed

    @property
    def detailed(self) -> bool:
        """Whether it is told of a mismatch, too: what may well be other than it was taken for."""
        return self.key.partition(".")[0] in ("size", "swizzle", "boxes", "instruction", "type")


@dataclass(frozen=True, slots=True)
class TextEdit:
    """What is at a place of the text instead."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """Edits of a text that were tried and make operands right, all of their steps.

    before: what is at each edit's place; operands: which of the bench's; words: their steps, all right then.
    """

    edits: tuple[TextEdit, ...]
    before: tuple[str, ...]
    operands: tuple[int, ...]
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperandStep:
    """One descriptor that one instruction reads: the slice (mn, k) of `rows` × `depth` elements that it should read.

    expected, read: address of the slice's first element where it is and where it is read from, None without a
    verdict; matched: elements that are read from where they are, of `total`; causes: why not, the true one first, of
    the first wrong step of a place; span: the expression that gives the descriptor, or the call that makes it wrong.
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
    """One operand of one instruction, every step that reads it.

    why: what says that these descriptors are this operand's; stored: the storage of the contract that was verified
    against, None where the text has none; stored_why: where it comes from; guessed: whether nothing says that the
    operand is stored there; fits: standard tiles that the first step reads, where there is no storage; missing: what is
    needed for a verdict.
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
    symbols: tuple[str, ...] = ()  # what its descriptors are made of
    others: tuple[int, ...] = ()  # pieces of its later steps
    assumed: tuple[Assumption, ...] = ()  # what its storage rests on and the text does not say
    one_of: int = 0  # how many instructions of the text may read it, 0 where the text says which
    place: Span | None = None  # what has to be changed for the first wrong step
    seen: View | None = None  # how the instruction reads it

    @property
    def form(self) -> DescriptorFormat:
        """The format that the instruction takes its descriptors in."""
        return WGMMA if self.seen is None else self.seen.form

    @property
    def wrong(self) -> tuple[OperandStep, ...]:
        return tuple(step for step in self.steps if step.verdict == "mismatch")

    @property
    def starts(self) -> frozenset[int]:
        """Where tiles of its right steps begin, and where each of these reads."""
        right = [step for step in self.steps if step.verdict == "match"]
        return frozenset((*(step.read for step in right), *(step.base for step in right if step.base is not None)))

    @property
    def first_wrong(self) -> OperandStep | None:
        return next(iter(self.wrong), None)

    @property
    def verdict(self) -> str:
        """mismatch, match or unknown, of all its steps."""
        if self.wrong:
            return "mismatch"
        right = self.steps and not self.left and all(s.verdict == "match" for s in self.steps)
        return "match" if right else "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a text holds and whether its descriptors read what is stored.

    verdict: mismatch where any step reads other bytes or a rule is broken, match where every operand with a descriptor
    was verified and is right, else unknown. headline: one sentence; detail: why, and where. missing: what would be
    needed for a verdict, in sentences. caution: beside operands that are right, what speaks against calling them so:
    reserved bits and what was assumed.
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

    def move_spans(self, place: Callable[[int, int], Span]) -> Bench:
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
