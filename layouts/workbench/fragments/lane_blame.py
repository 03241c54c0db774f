"""Find the value that gives lanes of an ldmatrix wrong rows, by the bits of the lane whose addresses are wrong.

Bits 0 to 2 of the lane count the rows of an 8×8 matrix, bits 3 and 4 the matrices: one of these leads 8 rows further,
the other 16 bytes along the row. The bit that leads elsewhere tells which variable of the address is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.source_text import WORD_START
from lanescope.errors import LayoutError
from lanescope.reader.threads.memory.records import MatrixLoad, MmaUse, RegisterUse
from lanescope.reader.threads.memory.storage import EMPTY, OPEN, ZEROED, DataBytes, ReadBytes, Span, list_offsets
from lanescope.reader.threads.runner import KernelRunner
from lanescope.workbench.fragments.thread_fragments import ArrivedOperand, count_wrong_elements, find_wrong_element
from lanescope.workbench.kernels.address_values import LANE, WARP_SIZE, list_values
from lanescope.workbench.repair.blamed_numbers import find_given_value
from lanescope.workbench.source.shared_budget import compute_number
from lanescope.workbench.text.function_texts import blank_text

Ints = NDArray[np.int64]
Calls = tuple[Span, ...]
_ROW_BITS, _ROW_BYTES = (0, 1, 2), 16
_WORD = re.compile(r"[A-Za-z_]\w*(?:\s*\.\s*[xyz])?")
_OPCODE = re.compile(rf"{WORD_START}ldmatrix[.\w:]*")
_OWN_ASM = re.compile(r"(?i:trans|_t$|load_?[ab]\b|ldsm_?[ab]|frag)|\d[tT]$|[a-z]T$")
_SWIZZLE = re.compile(r"\^|swizzle|permute", re.I)


@dataclass(frozen=True, slots=True)
class _WrongBits:
    """The bits of the lane whose addresses are wrong. lost: those that lead nowhere; rows: whether one counts rows."""

    bits: frozenset[int]
    lost: frozenset[int]
    rows: bool


_REGISTER = re.compile(r"\"r\"\s*\(\s*([A-Za-z_][\w.\[\]+ ]*?)\[(\d)\]\s*\)")


def find_misordered_registers(text: str, use: MmaUse, arrived: ArrivedOperand) -> Span | None:
    """Return the place (the asm statement of the product, else the call around it) that passes the registers of one
    ldmatrix in another order than it fills them; None if the order is right.
    """
    numbers = [register.number for register in arrived.registers]
    if len(arrived.loads) != 1 or numbers == sorted(numbers):
        return None
    last: dict[str, int] = {}
    for match in _REGISTER.finditer(text, *use.span):
        if int(match[2]) < last.get(match[1], -1):
            return match.span()
        last[match[1]] = int(match[2])
    return use.calls[-1] if use.calls else use.span


def find_repeated_register(arrived: ArrivedOperand) -> RegisterUse | None:
    """Return the register of an operand that is one of its ldmatrix for the second time, instead of another."""
    numbers = [register.number for register in arrived.registers]
    repeated = [n for n, number in enumerate(numbers) if numbers.count(number) > 1 and number != n]
    return arrived.registers[repeated[-1]] if repeated and len(arrived.loads) == 1 else None


def find_wrong_value(run: KernelRunner, arrived: ArrivedOperand, load: MatrixLoad) -> Span | None:
    """Return the variable's value, or the address, that gives lanes the wrong rows; None if that is not certain."""
    located = _locate_rows(run, load)
    wrong = _find_wrong_bits(*located, *_find_roles(arrived, load)) if located is not None else None
    if wrong is None or not wrong.bits:
        return None
    blank = blank_text(run.text)
    values = [span for span in list_values(run.text, load.site, load.calls) if LANE.search(blank[slice(*span)])]
    values = [span for span in values if not WARP_SIZE.search(blank[slice(*span)])]
    found = _choose_value({span: _find_lane_bits(run.text, span) for span in values}, wrong, blank)
    return found if found != load.site else None


def _locate_rows(run: KernelRunner, load: MatrixLoad) -> tuple[Ints, NDArray[np.bool_]] | None:
    """Return (where the row of each lane begins in global memory, whether it is stored); None if that is not known.

    The first is [lanes, products of open names], with the bytes in the last column.
    """
    count = 32 if ".x4" in load.opcode else 16 if ".x2" in load.opcode else 8
    first = DataBytes(load.rows.record[:count, :1], load.rows.thread[:count, :1], load.rows.byte[:count, :1])
    if len(first.record) < count or np.isin(first.record, (ZEROED, OPEN)).any() or (first.record < 0).any():
        return None
    grids = dict(list_offsets(run.records, first, run.threads))
    bytes_ = grids.pop("", np.zeros((count, 1), np.int64))
    return np.concatenate([*grids.values(), bytes_], axis=1), first.record[:, 0] != EMPTY


def _find_roles(arrived: ArrivedOperand, load: MatrixLoad) -> tuple[int, int]:
    """Return the bits of the lane that lead 8 rows further and 16 bytes along a row; -1 for none."""
    numbers = [register.number for register in arrived.registers]
    turned = ".trans" in load.opcode
    along_k = numbers[0] ^ numbers[2 if arrived.name == "a" and len(numbers) > 2 else -1]
    along_m = numbers[0] ^ numbers[1] if arrived.name == "a" and len(numbers) > 2 else 0
    k_bit, m_bit = (2 + along.bit_length() if along in (1, 2) else -1 for along in (along_k, along_m))
    return (k_bit, m_bit) if turned else (m_bit, k_bit)


def _find_wrong_bits(offsets: Ints, stored: NDArray[np.bool_], rows: int, columns: int) -> _WrongBits:
    """Find the bits of the lane that lead elsewhere than they have to. rows, columns: those that count matrices."""
    lanes = np.arange(len(offsets))
    steps: dict[int, Ints] = {}
    wrong = set()
    for bit in range(len(offsets).bit_length() - 1):
        clear = lanes[(lanes >> bit & 1 == 0) & stored & stored[lanes ^ 1 << bit]]
        step = offsets[clear | 1 << bit] - offsets[clear]
        if len(step) and (step == step[:1]).all():
            steps[bit] = step[0]
        else:
            wrong.add(bit)
    scale = {0: 1, 1: 2, 2: 4, rows: 8}
    units = [tuple((steps[bit] // scale[bit]).tolist()) for bit in (*_ROW_BITS, rows) if bit in steps]
    usual = max(set(units), key=units.count) if units else ()
    along = np.zeros(offsets.shape[1], np.int64)
    along[-1] = _ROW_BYTES
    for bit, step in steps.items():
        expected = np.array(usual) * scale[bit] if bit in scale else along if bit == columns else step
        if not (step == expected).all():
            wrong.add(bit)
    lost = frozenset(bit for bit in wrong if bit in steps and not steps[bit].any())
    return _WrongBits(frozenset(wrong), lost, bool(wrong & {*_ROW_BITS, rows}))


def _find_lane_bits(source: str, at: Span) -> frozenset[int]:
    """Return the bits of the lane that an expression depends on by itself."""
    blank = blank_text(source)
    known: dict[str, str] = {}
    for found in _WORD.finditer(blank, *at):
        given = find_given_value(blank, found[0], found.span()) if not LANE.search(found[0]) else None
        number = compute_number(blank, given) if given is not None else None
        known[found[0]] = "lane" if LANE.search(found[0]) else str(number or 0)
    text = _WORD.sub(lambda found: known[found[0]], blank[slice(*at)])
    try:
        values = [evaluate_constant(text.replace("lane", str(lane))).word for lane in range(32)]
    except LayoutError:
        return frozenset()
    if values == list(range(32)):
        return frozenset()  # the lane itself
    return frozenset(bit for bit in range(5) if any(values[lane] != values[lane ^ 1 << bit] for lane in range(32)))


def _choose_value(values: dict[Span, frozenset[int]], wrong: _WrongBits, blank: str) -> Span | None:
    """Return the one value that the wrong bits point to."""
    if any(bits & wrong.lost for bits in values.values()):
        return None  # what is computed of that value loses them
    if len(wrong.bits) > 1 and wrong.bits - set(_ROW_BITS):
        both = [span for span, bits in values.items() if bits == {3, 4} <= wrong.bits]  # it should be one of them
        return _find_first_alone(both, [span for span in values if _SWIZZLE.search(blank[slice(*span)])])
    of_kind = set(_ROW_BITS) if wrong.rows else {3, 4}
    kind = [span for span, bits in values.items() if bits & of_kind]
    alone = kind if wrong.rows else [span for span in kind if not values[span] & set(_ROW_BITS)]
    return _find_first_alone([span for span in kind if values[span] & wrong.bits], alone, kind)


def _find_first_alone(*choices: list[Span]) -> Span | None:
    """Return the span of the first list that has one only; None if none has."""
    return next((spans[0] for spans in choices if len(spans) == 1), None)


def blame_opcode(text: str, good: Set[tuple[Span, Calls, str]], code: str, wrong: tuple[Span, Calls]) -> Span:
    """Return the opcode of an asm statement that is wrong, or the call that selects the wrong helper.

    good: the right reads; wrong: the ldmatrix and the calls around it.
    """
    site, calls = wrong
    opcode = _OPCODE.search(text, *site)
    opcode_site = opcode.span() if opcode is not None else site
    if not calls:
        return opcode_site
    right = [where for at, where, _ in good if at == site]
    for depth in range(len(calls), 0, -1):
        shared = any(where[:depth] == calls[:depth] for where in right)
        if not shared:
            name = re.match(r"[\w:]+", text[calls[depth - 1][0] :])
            helper = name[0] if name else ""
            in_helper = depth == len(calls) and not right and bool(_OWN_ASM.search(helper)) == (code == "trans_missing")
            return opcode_site if in_helper else calls[depth - 1]
    return calls[0]


def _loads_others(arrived: ArrivedOperand, site: Span) -> bool:
    """Return whether one load, such as that of a helper, fills registers that are right, too."""
    wrong = [bool(of.any()) for of in count_wrong_elements(arrived)] if arrived.warps else []
    right = [one.data for one, is_wrong in zip(arrived.registers, wrong, strict=False) if not is_wrong]
    return any(isinstance(data, ReadBytes) and site in data.sites for data in right)


def find_direct_site(run: KernelRunner, use: MmaUse, arrived: ArrivedOperand, code: str) -> Span:
    """Return the load of the wrong register if it was not an ldmatrix, or where it is computed; else the call of the
    product, also if another product has set it.
    """
    if code == "wmma_layout":
        return use.fragments["ab".index(arrived.name)]
    register, byte = find_wrong_element(arrived) if arrived.warps else (0, 0)
    data, stored = arrived.registers[register].data, arrived.registers[register].stored
    product = use.calls[-1] if use.calls else use.span
    if arrived.warps and arrived.warps[0].computed and stored != (0, 0):
        return product if any(one.span[0] <= stored[0] < one.span[1] for one in run.products) else stored
    if isinstance(data, ReadBytes) and data.sites[byte] != (0, 0):
        return stored if stored != (0, 0) and _loads_others(arrived, data.sites[byte]) else data.sites[byte]
    return product
