"""Find a product in a PTX module that takes another K slice of one operand than of the other.

A row of 128 bytes holds four K slices of 32 bytes. Under the 128B swizzle, the descriptors of K-major operands
therefore move by 32 bytes from one product to the next of four that add to the same accumulators. If one descriptor of
the four is elsewhere, and those of the other operand are not, it is wrong.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanescope.reader.code.evaluation import Evaluation
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.reader.code.symbolic_integers import FIELD_SHIFT, LinearExpression, Span, SymbolicInt

_PRODUCT = re.compile(r'"(?:wgmma\.mma_async|tcgen05\.mma)\.\S+ (\{[^}]*\}|\[[^\]]*\]), %\d+, %\d+,([^;]*);')
_TRANSPOSES = 5  # operands behind the descriptors of a wgmma that has transposes, the last two of them
_MAJORS = 3 << 15  # of an instruction descriptor
_MODE_BIT, _MODE_128 = 62, 1
_SLICE, _SLICES = 32, 4  # bytes of a K slice; slices of a row


@dataclass(frozen=True, slots=True)
class _Slice:
    """A descriptor that a product takes: its address, and the instruction that computes it."""

    address: LinearExpression
    place: Span


def find_ptx_slice_mistakes(code: Evaluation) -> list[Pitfall]:
    """Find descriptors of K slices that leave the order of their operand; none in another text than PTX."""
    chains: dict[object, list[tuple[_Slice, _Slice] | None]] = defaultdict(list)
    for run in code.asm_runs if is_ptx_module(code.text) else ():
        match = _PRODUCT.match(run.text)
        if match is not None:
            chains[run.calls, match[1]].append(_find_slices(run, match[2].split(",")))
    return [found for chain in chains.values() for found in _check_chain(chain)]


def _check_chain(chain: Sequence[tuple[_Slice, _Slice] | None]) -> Iterator[Pitfall]:
    for first in range(0, len(chain) - _SLICES + 1, _SLICES):
        four = [pair for pair in chain[first : first + _SLICES] if pair is not None]
        if len(four) < _SLICES:
            continue
        wrong = [_find_other([pair[n] for pair in four]) for n in (0, 1)]
        for n, others in enumerate(wrong):
            if len(others) == 1 and not wrong[1 - n]:
                message = (
                    f"{'AB'[n]} of this product is another K slice than {'BA'[n]}: its other descriptors move by"
                    f" {_SLICE} bytes from product to product, and so do all of {'BA'[n]}."
                )
                yield Pitfall("k_slice_wrong", message, others[0].place)


def _find_other(slices: Sequence[_Slice]) -> list[_Slice]:
    """Return the slices that are not where most others are, one after the other; all if most are not."""
    starts = [one.address + LinearExpression(-_SLICE * n) for n, one in enumerate(slices)]
    start, count = Counter(starts).most_common(1)[0]
    return [one for one, at in zip(slices, starts, strict=True) if at != start or 2 * count <= len(slices)]


def _find_slices(run: AsmRun, behind: Sequence[str]) -> tuple[_Slice, _Slice] | None:
    """Return the slices of A and B; None if one is not known, is not K-major or has another mode.

    behind: the operands behind the descriptors.
    """
    found = [_find_slice(value, span) for kind, value, span in run.inputs if kind == "l"]
    if len(found) != 2 or found[0] is None or found[1] is None or not _are_both_k_major(run, behind):
        return None
    return found[0], found[1]


def _are_both_k_major(run: AsmRun, behind: Sequence[str]) -> bool:
    if run.text.startswith('"wgmma'):
        return len(behind) < _TRANSPOSES or all(one.strip() == "0" for one in behind[_TRANSPOSES - 2 :])
    word = next((value for kind, value, _ in run.inputs if kind == "r"), None)
    return word is not None and word.known is not None and not word.known & _MAJORS


def _find_slice(value: SymbolicInt | None, place: Span) -> _Slice | None:
    piece = value.pieces[0] if value is not None and len(value.pieces) == 1 else None
    if value is None or piece is None or piece.low or piece.shift != FIELD_SHIFT:
        return None
    return _Slice(piece.source, place) if value.const >> _MODE_BIT == _MODE_128 and not value.const & 0x3FFF else None
