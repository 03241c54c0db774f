"""List which descriptors of a source text have a verdict, and briefly why the others have none.

`check.py` reports it for every file, so that a report without verified reads is not mistaken for a pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from lanescope.cxx.source_text import INCLUDE, strip_comments
from lanescope.reader.code.preprocessing.used_functions import blank_spans
from lanescope.workbench.results import Assumption, OperandStep, Span, TextPiece, VerifiedOperand, Workbench
from lanescope.workbench.source.guesses import Guesses
from lanescope.workbench.source.open_kernels import find_open_parameters
from lanescope.workbench.source.open_names import find_open_name, list_names
from lanescope.workbench.source.tally import list_first_wrong_steps
from lanescope.workbench.text.function_texts import is_inside

TCGEN05, NO_STORAGE, NO_READER, UNSAID = "tcgen05", "without a storage", "read by no instruction", "open otherwise"
NO_UMMA = "read by no known tcgen05.mma"
COPIED = "read by tcgen05.cp"
ABSOLUTE_LBO = "with an absolute address as LBO"
UNSURE = "wrong if the storage is as assumed"
_UNSPECIFIC = (NO_UMMA, NO_READER, UNSAID)  # these do not name what is missing
_BLACKWELL = re.compile(r"tcgen05\.mma(?![\w])|\bSM100_MMA_\w+|\bUMMA::(?!Layout_)|\btc_gen5_mma\b|\bUTC\w*MMA\b", re.I)
_HOPPER = re.compile(
    r"wgmma\.mma_async(?!\w)|\b(?:SM90|MMA)_\d+x\d+x\d+_\w+|\bGMMA::(?!Layout_)|\b[HIQB]GMMA\.\d|\bwarp_group_dot\b"
)
_OF_BLACKWELL = ("tcgen05.mma", "sm100_mma_", "umma::", "tc_gen5_mma", "utc")  # in lower case: all matches have one
_OF_HOPPER = ("wgmma.mma_async", "SM90_", "MMA_", "GMMA", "warp_group_dot")
TILED_MMA, KITTENS = "CuTe's TiledMMA", "ThunderKittens' tiles"
_LIBRARIES = {  # libraries that multiply without naming an instruction
    "wgmma": re.compile(r"\bwgmma(?=[.(<]|::)|\bwarpgroup_(?:arrive|commit_batch|wait)\b"),
    TCGEN05: re.compile(r"\btcgen05(?=[.(<]|::)"),
    KITTENS: re.compile(r"\b(?:st|tt)_(?:bf|hf|fl|tf32|fp\w{1,12})\s*<|\bmma?2?_At?Bt?\s*[<(]|\bkittens::(?:st|tt)\b"),
    TILED_MMA: re.compile(r"\bTiledM(?:MA|ma)(?![a-z])|\btiled_mma|\bmake_tiled_mma|\bMMA_(?:Atom|Traits)\b"),
}
_MARKS = ("wgmma", "warpgroup_", "tcgen05", "st_", "tt_", "mm", "kittens", "TiledM", "MMA_")  # of these
_NO_CODE = re.compile(r"(\S+)\(…\): its code is not in the text")


@dataclass(frozen=True, slots=True)
class CheckedDescriptor:
    """A descriptor of a text.

    spans: its place and those of its parts; gap: why it has no verdict, "" if it has one; readers: (instruction,
    operand) pairs that read it.
    """

    spans: tuple[Span, ...]
    gap: str
    readers: tuple[tuple[str, str], ...] = ()

    def close_proved(self, proved: frozenset[tuple[str, str]], settled: Sequence[Span]) -> CheckedDescriptor:
        """Return the descriptor without its gap if a run verified everything that reads it, or what it copies. proved:
        (instruction, operand) pairs; settled: the functions of which D is verified.
        """
        read = self.readers and proved.issuperset(self.readers)
        built = self.gap in (COPIED, NO_READER, NO_UMMA) and all(is_inside(span, settled) for span in self.spans)
        return replace(self, gap="") if read or built else self


def list_checked_descriptors(text: str, bench: Workbench, guesses: Guesses) -> Iterator[CheckedDescriptor]:
    """List the descriptors of a text; unnamed 64-bit constants that nothing reads are masks and keys."""
    readers: dict[int, list[VerifiedOperand]] = {}
    for operand in bench.operands:
        for n in dict.fromkeys((operand.descriptor, *operand.others)):
            readers.setdefault(n, []).append(operand)
    multiplier = find_multiplier(text)
    macros_given = {
        assumption.label.removeprefix("Macro ") for assumption in bench.assumed if assumption.why == "as given"
    }
    open_ = find_open_parameters(text, macros_given)
    needs = f"depends on {', '.join(open_)}" if open_ else ""
    for n, piece in enumerate(bench.pieces):
        operands = readers.get(n, [])
        if piece.kind == "descriptor" and (operands or _is_named_descriptor(piece)):
            gaps = [_find_operand_gap(bench, operand, guesses) for operand in operands] or [
                _find_piece_gap(piece, multiplier)
            ]
            gaps = [needs if gap in _UNSPECIFIC and needs else gap for gap in gaps]
            reading = tuple((operand.instruction, operand.name) for operand in operands)
            yield CheckedDescriptor(piece.spans, next(filter(None, gaps), ""), reading)


def _is_named_descriptor(piece: TextPiece) -> bool:
    """Return whether code builds a descriptor, or a name calls a number one."""
    return "words" not in piece.facts or "desc" in str(piece.facts.get("name", "")).lower()


@lru_cache(maxsize=4)
def find_multiplier(text: str) -> str:
    """Return the instruction that a text's code multiplies with, tcgen05 or wgmma; "" for neither."""
    lower = text.lower()
    blackwell = any(word in lower for word in _OF_BLACKWELL) and _BLACKWELL.search(text)
    if not blackwell and not (any(word in text for word in _OF_HOPPER) and _HOPPER.search(text)):
        return ""
    code = strip_comments(text)
    return "wgmma" if _HOPPER.search(code) else TCGEN05 if _BLACKWELL.search(code) else ""


@lru_cache(maxsize=4)
def find_library(text: str) -> str:
    """Return the library's instructions, tiles or TiledMMA that a text multiplies with, if it names no instruction; ""
    for none.
    """
    if not any(mark in text for mark in _MARKS) or not any(pattern.search(text) for pattern in _LIBRARIES.values()):
        return ""
    code = INCLUDE.sub(" ", strip_comments(text))
    return next((name for name, pattern in _LIBRARIES.items() if pattern.search(code)), "")


def name_multiplier(text: str, unused: Sequence[Span]) -> str:
    """Return what a text multiplies with, "" for nothing. unused: header functions that it does not use, sorted."""
    used = blank_spans(text, unused)
    return find_multiplier(used) or find_library(used)


def _find_operand_gap(bench: Workbench, operand: VerifiedOperand, guesses: Guesses) -> str:
    """Return why an operand has no verdict, "" if it has one."""
    if any(_is_open(guesses, operand, step) for step in list_first_wrong_steps(operand)):
        return UNSURE
    if operand.verdict != "unknown":
        return _find_condition(operand, guesses)
    open_ = [a for a in bench.assumed if a.missing]
    symbols = [a.label for a in open_ if a.key.removeprefix("at.") in operand.symbols]
    if symbols:
        return "depends on " + _join_names(symbols, guesses.text)
    return UNSAID if operand.stored is not None else _find_storage_gap(operand, open_, guesses.text)


def _find_storage_gap(operand: VerifiedOperand, open_: Sequence[Assumption], text: str) -> str:
    """Return what is not known of the storage of an operand."""
    if operand.storage is None:
        return NO_STORAGE
    others = [a for a in open_ if not a.key.startswith(("at.", "builder.", "macro."))]
    of_storage = [a for a in others if a.key.split(".")[:2][-1] == str(operand.storage)] or others
    if names := [name for a in of_storage if (name := find_open_name(a))]:
        return "depends on " + _join_names(names, text)
    return f"open: {others[0].label}" if others else NO_STORAGE


def _is_open(guesses: Guesses, operand: VerifiedOperand, step: OperandStep) -> bool:
    """Return whether a wrong step is not a finding because another choice of an assumption would make it right."""
    crossed = any(cause.code == "operands_exchanged" for cause in step.causes)
    return crossed or bool(guesses.find_guess(operand, step))


def _find_condition(operand: VerifiedOperand, guesses: Guesses) -> str:
    """Return the open value that a verdict depends on, "" if none."""
    if operand.one_of and operand.verdict == "match":
        return f"one of {operand.one_of} instructions"
    if guessed := next((assumed.label for assumed in operand.assumed if assumed.summary), ""):
        return f"stored as guessed ({guessed})"
    return "with a guessed storage" if guesses.find_guessed_storage(operand) else ""


def _describe_name(name: str, term: str, text: str) -> str:
    if re.search(rf"(?<![\w.]){re.escape(name)}\[", term):
        return f"an item of the array {name}"
    declared = rf"[\w>*&]\s+{re.escape(name)}\s*(?:\[[^\[\];]*\]\s*)+[;=,]"
    return f"the address of the array {name}" if re.search(declared, text) else name


def _find_piece_gap(piece: TextPiece, multiplier: str) -> str:
    """Return why a descriptor without an operand is not verified."""
    if match := _NO_CODE.match(piece.title):
        return f"built by {match[1]}, whose code is not in the text"
    if piece.facts.get("copied"):
        return COPIED
    if piece.facts.get("absolute_lbo"):
        return ABSOLUTE_LBO
    return NO_UMMA if TCGEN05 in (multiplier, piece.facts.get("format")) else NO_READER


def _join_names(terms: Iterable[str], text: str = "") -> str:
    """Join the names that terms are made of: BM and BK of (BM / 64)·BK. An array has no value that -D could give."""
    names = dict.fromkeys(_describe_name(name, term, text) for term in terms for name in list_names(term))
    return ", ".join(names or ["a value that has no name"])
