"""Verified reads that depend on an assumed tile start, and buffers declared with too small an alignment.

TMA and the descriptors take the XOR of a swizzle from the address (PTX ISA 9.1, 9.7.16.5): a tile that starts at a
multiple of the pattern has no offset in it. TMA stores to multiples of 128 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lanescope.reader.code.findings import Pitfall
from lanescope.shared import tma
from lanescope.workbench.reads.alignment import find_declared_alignments, find_stated_alignment
from lanescope.workbench.results import Assumption, Span, VerifiedOperand, Workbench

TITLES = {"tile_alignment": "The buffer's declared alignment is too small for its tiles"}
_PATTERN_BYTES = {"32B": 256, "64B": 512, "128B": 1024, "128B_base32B": 1024}
_VERSION, _UNREADABLE, _MOST_LABEL = re.compile(r"'+\d*"), re.compile(r"[…?]"), 48
_ALIGNED = r"(?:alignas|__align__|aligned(?:__)?)\s*\([^()]*\)"


def list_assumed_starts(bench: Workbench, operand: VerifiedOperand) -> list[Assumption]:
    """List the start addresses of a swizzled operand's tiles whose alignment the text does not guarantee."""
    if _get_pattern(operand) is None:
        return []
    return [
        assumption
        for assumption in bench.assumed
        if assumption.placed and assumption.key.removeprefix("at.") in operand.symbols
    ]


def describe_assumed_start(operand: VerifiedOperand, start: Assumption) -> str:
    """Describe the alignment that a verified operand depends on."""
    pattern = _get_pattern(operand)
    label = _VERSION.sub("", start.label)  # of a value that an iteration or a function has changed
    label = "the start of its tile" if not label or _UNREADABLE.search(label) or len(label) > _MOST_LABEL else label
    return (
        f"{operand.name.upper()} of {operand.instruction} is right if {label} is a multiple of {pattern} bytes, which"
        " the text does not say: its alignment is not declared, or is declared smaller."
    )


def find_small_alignments(text: str, bench: Workbench) -> Iterator[Pitfall]:
    """Yield declarations that guarantee less than their tiles need: 128 bytes if TMA stores them, the swizzle pattern
    if threads do.
    """
    known = find_declared_alignments(text)
    for operand in bench.operands:
        pattern = _get_pattern(operand)
        if operand.verdict != "match" or pattern is None or operand.storage is None or operand.guessed:
            continue
        by_tma = bench.pieces[operand.storage].kind == "tensor_map"
        need = tma.BOX_ALIGNMENT if by_tma else pattern
        for start in list_assumed_starts(bench, operand):
            stated = find_stated_alignment(start.label, known)
            if stated is None or stated[1] >= need or _is_rounded(stated[0], operand.symbols):
                continue
            at = _find_alignment(text, *stated)
            if at is not None:
                why = "TMA stores to multiples of 128 bytes" if by_tma else f"the swizzle repeats every {pattern} bytes"
                message = (
                    f"{stated[0]} is declared {stated[1]}-byte aligned, and {operand.name.upper()} of"
                    f" {operand.instruction} is stored there: {why}. Declare alignas(1024)."
                )
                yield Pitfall("tile_alignment", message, at)


def _get_pattern(operand: VerifiedOperand) -> int | None:
    """Return the bytes after which the swizzle of an operand's storage repeats; None where it has none."""
    return _PATTERN_BYTES.get(str((operand.stored or {}).get("swizzle", "none")))


def _is_rounded(name: str, symbols: Iterable[str]) -> bool:
    """Return whether an address is rounded up from a buffer, e.g. smem + (1024 - smem % 1024) % 1024."""
    return any(re.search(r"[&%~]", symbol) and name in re.findall(r"[A-Za-z_]\w*", symbol) for symbol in symbols)


def _find_alignment(text: str, name: str, amount: int) -> Span | None:
    """Find the alignment in the declaration of a name."""
    for found in re.finditer(
        rf"{_ALIGNED}[^;{{}}]*?\b{re.escape(name)}\b|\b{re.escape(name)}\b[^;{{}}]*?{_ALIGNED}", text
    ):
        inside = re.search(_ALIGNED, found[0])
        if inside is not None:
            return found.start() + inside.start(), found.start() + inside.end()
    return None
