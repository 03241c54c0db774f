"""Alignments that a text declares for its buffers, and tile starts that TMA or the swizzle pattern does not allow.

`symbols.py` chooses an address with `choose_address`; `operands.py` and `workbench_builder.py` list doubts about
placement.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice

from lanescope.cxx.source_text import read_statement_head, strip_comments
from lanescope.descriptor.matrix import View
from lanescope.reader.code.symbolic_integers import LinearExpression
from lanescope.shared import tma
from lanescope.shared.swizzle import WIDEST_PATTERN
from lanescope.workbench.reads.tiles import StoredTile
from lanescope.workbench.results import OperandStep, VerifiedOperand

MOST = 256  # stated alignments of one text
MOST_NAMES = 24  # different amounts
_STATED = re.compile(
    r"(?:alignas|__align__|__attribute__\s*\(\(\s*(?:__)?aligned(?:__)?)\s*\(\s*(?P<amount>\d{1,6}|[A-Za-z_]\w*)\s*\)"
)
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*(?:\[|;|,|$)")
_ROUNDED = re.compile(r"[⌈⌊](\d+)[⌉⌋]")  # the evaluator's name of an address that code rounds
_THREAD = re.compile(r"(?:threadIdx|blockIdx)\b")
WARPGROUP = re.compile(r"\(?threadIdx\.x ?(?:/ ?128|>> ?7)\)?")  # the number of a warpgroup
_WORD = re.compile(r"[A-Za-z_]\w*")


@lru_cache(maxsize=8)
def find_declared_alignments(text: str) -> Mapping[str, int]:
    """Map each name to the alignment in bytes that its declarations state, the least of several.

    >>> text = "__shared__ alignas(128) half sA[64 * 64]; extern __shared__ __align__(1024) uint8_t smem[];"
    >>> find_declared_alignments(text)
    {'sA': 128, 'smem': 1024}
    >>> find_declared_alignments("struct alignas(1024) Tile { half data[4096]; }; __shared__ Tile a;")["a"]
    1024
    """
    alignments: dict[str, int] = {}
    amounts: dict[str, int] = {}
    for match in islice(_STATED.finditer(text), MOST):
        amount_text = match["amount"]
        if amount_text not in amounts and len(amounts) < MOST_NAMES:
            amounts[amount_text] = _parse_amount(text, amount_text)
        amount = amounts.get(amount_text, 0)
        if not amount or amount & (amount - 1):
            continue
        end = min((at for mark in ";{=" if (at := text.find(mark, match.end())) >= 0), default=len(text))
        blanks = " " * (match.end() - match.start())
        declaration = read_statement_head(text, match.start()) + blanks + text[match.end() : end]
        for name in _list_declared_names(strip_comments(declaration)[:2000] + ";"):
            alignments[name] = min(amount, alignments.get(name, amount))
    return _name_variables(text, alignments) | alignments


def _name_variables(text: str, alignments: Mapping[str, int]) -> dict[str, int]:
    """Map variables, references and pointers to the alignment that the definition of their type states."""
    found: dict[str, int] = {}
    for name, amount in alignments.items():
        if not re.search(rf"\b(?:struct|class|union)\b[^;{{}}]*\b{name}\s*(?:final\s*)?[{{:]", text):
            continue
        aliases = re.findall(rf"\busing\s+(\w+)\s*=\s*(?:typename\s+)?{name}\b", text)
        types = "|".join((name, *aliases[:MOST_NAMES]))
        of_type = rf"\b(?:{types})\b\s*(?:<[^<>;{{}}]*>)?\s*[&*]?"
        declared = re.findall(rf"{of_type}\s*(\w+)\s*[=;\[,(]", text)
        casts = re.findall(rf"\bauto\s*[&*]?\s*(\w+)\s*=\s*\*?\s*reinterpret_cast\s*<\s*{of_type}\s*>", text)
        for variable in (*declared, *casts):
            found[variable] = min(amount, found.get(variable, amount))
    return found


def _list_declared_names(declaration: str) -> list[str]:
    """Return the arrays and variables of a declaration whose alignment is not stated."""
    arrays = re.findall(r"([A-Za-z_]\w*)\s*\[", declaration)
    last = _DECLARED.findall(declaration)
    return arrays or last[-1:]


def _parse_amount(text: str, amount_text: str) -> int:
    if amount_text.isdecimal():
        return int(amount_text)
    match = re.search(rf"\b{amount_text}\b\s*(?:=\s*)?(\d{{1,6}})\b", text)
    return int(match[1]) if match else 0


def find_stated_alignment(name: str, known: Mapping[str, int]) -> tuple[str, int] | None:
    """Find (name, alignment) of an address that evaluation calls `name`: smem, s.A, storage.A.begin(), smem⌈1024⌉."""
    if rounded := _ROUNDED.search(name):
        return name, int(rounded[1])
    declared = [word for word in _WORD.findall(name) if word in known]
    return (declared[-1], known[declared[-1]]) if declared else None


def choose_address(name: str, at: int, known: Mapping[str, int]) -> tuple[int, str]:
    """Return (address, reason): a multiple of 1024 bytes, or of the alignment that the declaration states."""
    stated = find_stated_alignment(name, known)
    if stated is None:
        return at, "a free address, taken 1024-byte aligned"
    if stated[1] >= WIDEST_PATTERN:
        return at, f"{stated[0]} is declared {stated[1]}-byte aligned"
    if stated[1] < tma.BOX_ALIGNMENT:
        return at, f"{stated[0]} is declared {stated[1]}-byte aligned only; taken 1024-byte aligned"
    past = f"taken {stated[1]} bytes past a multiple of {WIDEST_PATTERN}"
    return at + stated[1], f"{stated[0]} is declared {stated[1]}-byte aligned: {past}"


def list_placement_notices(
    operand: str,
    steps: Sequence[OperandStep],
    stored: StoredTile,
    *,
    view: View,
    names: Sequence[str],
    known: Mapping[str, int],
    several: bool,
    by_tma: bool,
) -> tuple[str, ...]:
    """List doubts about the start of an operand's tiles, even if every byte may be read right.

    names: names in its address; several: whether it has several stages; by_tma: whether a tensor map stores it.
    """
    if not steps:
        return ()
    stated_ = [stated for name in names if (stated := find_stated_alignment(name, known))]
    declared_low = _describe_low_alignment(stated_) if by_tma else ""
    off_pattern = _describe_pattern_offset(operand, steps, stored, view, stated_, several)
    return tuple(filter(None, (declared_low, off_pattern)))


def _describe_low_alignment(declared: Sequence[tuple[str, int]]) -> str:
    """Return a notice if the declaration of a TMA buffer promises too little alignment."""
    low = next((entry for entry in declared if entry[1] < tma.BOX_ALIGNMENT), None)
    if low is None:
        return ""
    return (
        f"{low[0]} is declared {low[1]}-byte aligned. TMA stores to multiples of {tma.BOX_ALIGNMENT} bytes: declare"
        f" alignas({WIDEST_PATTERN})."
    )


def _describe_pattern_offset(
    operand: str,
    steps: Sequence[OperandStep],
    stored: StoredTile,
    view: View,
    declared: Sequence[tuple[str, int]],
    several: bool,
) -> str:
    """Return a notice if a tile begins where TMA may store it, but inside the swizzle's pattern."""
    mode = stored.make_storage(0, view).mode
    pattern = mode.pattern_bytes
    if mode.chunks == 1 or any(step.base is None for step in steps):
        return ""
    off = next((step for step in steps if step.base is not None and step.base % pattern), None)
    if off is None or off.base is None or off.base % tma.BOX_ALIGNMENT:
        return ""
    low = next((entry for entry in declared if entry[1] < pattern), None)
    where = f"Stage {off.stage} of {operand.upper()}" if several and off.stage else f"{operand.upper()}’s tile"
    begins = (
        f"{low[0]} is declared {low[1]}-byte aligned"
        if low and not off.stage
        else f"{where} begins {off.base % pattern} bytes past a multiple of {pattern}"
    )
    return (
        f"{begins}; the {mode.name} swizzle repeats every {pattern} bytes. TMA and wgmma take the XOR from the address,"
        " so what TMA stores is read right there, too; what threads store by the offset in the tile is not. Align"
        f" every tile to {pattern} bytes, or give the base offset."
    )


def explain_uneven_start(
    operand: str, starts: Sequence[LinearExpression | None], view: View, stored: StoredTile
) -> str:
    """Explain why the reads of other threads stay open: their starts differ by a part of one instruction's tile.

    "" if they read tiles of their own. starts: addresses of an operand's steps, in terms of threadIdx and blockIdx.
    """
    mode = stored.make_storage(0, view).mode
    if view.major != "K" or mode.chunks == 1 or any(line is None for line in starts):
        return ""
    factors = {term for line in starts if line is not None for term in line.terms if _THREAD.match(term[0])}
    atom_bytes, step = view.rows * mode.width_bytes, view.k * view.bits // 8
    for name, factor in sorted(factors):
        inside = abs(factor) < mode.width_bytes and factor % step == 0  # a part of K
        if factor % atom_bytes and not inside:
            return (
                f"{name} moves the start of {operand.upper()} by {factor} bytes, which is not a multiple of"
                f" the {view.rows} rows of {mode.width_bytes} bytes that one instruction reads: only"
                f" {name} = 0 was followed."
            )
    return ""


def measure_group_step(starts: Sequence[LinearExpression | None], view: View, stored: StoredTile) -> int:
    """Return the bytes from the starts of one warpgroup to those of the next, if they read rows of one instruction's
    tile; 0 if not, or if the starts within a warpgroup differ.
    """
    mode = stored.make_storage(0, view).mode
    if view.major != "K" or mode.chunks == 1 or any(line is None for line in starts):
        return 0
    factors = {next((factor for name, factor in line.terms if WARPGROUP.fullmatch(name)), 0) for line in starts if line}
    step = factors.pop() if len(factors) == 1 else 0
    return step if 0 < step < view.rows * mode.width_bytes and step % (8 * mode.width_bytes) == 0 else 0


def describe_overlap(operand: VerifiedOperand, other: VerifiedOperand, bits: Mapping[str, int]) -> str:
    """Describe the overlap of the tiles of A and B in a stage, "" if they do not overlap.

    bits: of an element of each operand.
    """
    if set(operand.symbols) != set(other.symbols):
        return ""
    for stage in sorted({step.stage for step in operand.steps} & {step.stage for step in other.steps}):
        (low, past), (first, last) = (_get_byte_range(which, stage, bits[which.name]) for which in (operand, other))
        if low != first and low < last and first < past:
            return (
                f"The tiles overlap: {operand.name.upper()} takes {low:#x} to {past - 1:#x},"
                f" {other.name.upper()} {first:#x} to {last - 1:#x}."
            )
    return ""


def _get_byte_range(operand: VerifiedOperand, stage: int, bits: int) -> tuple[int, int]:
    """Return (first byte, past last) of an operand's tiles in a stage; an empty range if its address is unknown."""
    steps = [step for step in operand.steps if step.stage == stage and step.base is not None]
    if not steps:
        return 0, 0
    size = max(s.mn + s.rows for s in steps) * max(s.k + s.depth for s in steps) * bits // 8
    bases = [step.base for step in steps if step.base is not None]
    return min(bases), max(bases) + size
