"""Explain why registers do not hold the slice that an mma or a wgmma multiplies.

They are exchanged, of another slice, or loaded by an ldmatrix with other row addresses. layouts/shared/chain.py
computes the right lanes and registers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from lanescope.capture.file_format import Record
from lanescope.capture.operand_codes import MAJORS, Ints, KnownOperand, RecordedMemory
from lanescope.capture.recorded_operands import (
    MemoryWindows,
    MultiplyStep,
    OperandCodes,
    find_origin,
    find_taken_registers,
)
from lanescope.capture.slice_order import OperandSlice
from lanescope.capture.slice_storage import StorageCache, StoredRectangle
from lanescope.descriptor.case import Diagnosis
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.shared.chain import make_chain
from lanescope.shared.storage import Storage
from lanescope.shared.swizzle import MODES


def diagnose_registers(
    step: MultiplyStep,
    side: OperandCodes,
    part: OperandSlice,
    records: Sequence[Record],
    windows: MemoryWindows,
    fits: StorageCache,
) -> tuple[Diagnosis, ...]:
    """Return the diagnoses of registers that do not hold their slice, or of their ldmatrix if that is the cause."""
    loads = [records[at] for at in step.fed.get(side.operand, ()) if records[at].kind == "ldmatrix"]
    if loads and (causes := _diagnose_loads(side, part, loads, windows, fits)):
        return causes
    return (_diagnose_contents(side, part),)


def _diagnose_contents(side: OperandCodes, part: OperandSlice) -> Diagnosis:
    assert side.fragment is not None
    name = side.operand.upper()
    expected = _compute_registers(side.fragment, side.known, part, side.operand)
    words = side.registers[0]
    count = words.shape[1]
    same = np.array([[bool((words[:, r] == expected[:, p]).all()) for p in range(count)] for r in range(count)])
    if (same.sum(axis=1) == 1).all() and (same.sum(axis=0) == 1).all():
        holds = same.argmax(axis=1)
        pairs = [(r, int(p)) for r, p in enumerate(holds) if r < p and holds[p] == r]
        if 2 * len(pairs) == int((holds != np.arange(count)).sum()):
            exchanges = join_words([f"{r} and {p}" for r, p in pairs])
            message = (
                f"Registers {exchanges} of {name} are exchanged."
                f" {_describe_register(side.fragment, side.operand, pairs[0][0])}"
            )
        else:
            moved = join_words([f"register {r} has the contents of {p}" for r, p in enumerate(holds) if p != r])
            message = f"The registers of {name} are in the wrong order: {moved}."
        return Diagnosis("registers_exchanged", message)
    origin = find_origin(side)
    if origin is not None and origin[2] == 1.0:
        letter = "m" if side.operand == "a" else "n"
        message = (
            f"The registers of {name} hold the slice at {letter} = {origin[0]}, k = {origin[1]}; this step needs"
            f" {letter} = {part.mn}, k = {part.k}."
        )
        return Diagnosis("other_slice", message)
    right = side.mask_right(part.mn, part.k)
    row, k = (int(n) for n in np.argwhere(~right)[0])
    holder = _format_holder(side.fragment, side.operand, row, k)
    message = f"The first wrong element is {name}[{_format_element(side.operand, row, k)}] of the operand, {holder}."
    return Diagnosis("registers_wrong", message)


def _format_element(operand: str, row: int, k: int) -> str:
    return f"{row},{k}" if operand == "a" else f"{k},{row}"


def _format_holder(fragment: Operand, operand: str, row: int, k: int) -> str:
    at = fragment.owner(row, k) if operand == "a" else fragment.owner(k, row)
    thread, value = at[0]
    register, _ = fragment.register_of(value)
    return f"register {register} of thread {thread}"


def _describe_register(fragment: Operand, operand: str, register: int) -> str:
    """Return a sentence with the first element in a register of thread 0."""
    value = register * (32 // fragment.container_bits)
    row, column = int(fragment.rows[0, value]), int(fragment.cols[0, value])
    return f"Register {register} of thread 0 begins with {operand.upper()}[{row},{column}] of the operand."


def _compute_registers(fragment: Operand, known: KnownOperand, part: OperandSlice, operand: str) -> Ints:
    """Return the expected registers of each thread: [thread][register], of the first pass."""
    mn, k = (fragment.rows, fragment.cols) if operand == "a" else (fragment.cols, fragment.rows)
    codes = known.get_codes(part.mn + mn.astype(np.int64), part.k + k.astype(np.int64))
    per = 32 // fragment.container_bits
    split = codes.reshape(codes.shape[0], -1, per)
    return np.asarray((split << np.arange(per) * fragment.container_bits).sum(axis=2))


# ldmatrix -------------------------------------------------------------------------------------------------------------


def find_row_starts(record: Record, memory: RecordedMemory) -> tuple[Ints, Ints]:
    """Return (mn, k) of the first element in each lane's row, for lanes whose address is used."""
    assert record.addresses is not None
    try:
        address = catalog.find(record.text).address
    except LayoutError:  # not a known ldmatrix: use the addresses of all lanes
        address = None
    count = len(address.coords["matrix"]) if address is not None else 32
    return memory.find_elements(record.addresses[:count].astype(np.int64))


def _diagnose_loads(
    side: OperandCodes, part: OperandSlice, loads: Sequence[Record], windows: MemoryWindows, fits: StorageCache
) -> tuple[Diagnosis, ...]:
    """Return the diagnoses of the ldmatrix that load this operand; () if their rows are right."""
    assert side.fragment is not None
    taken = find_taken_registers(loads, side.registers[0])
    if not taken or any(load.addresses is None for load in loads):
        return ()
    memory = windows.get_memory(side.operand, [loads[taken[0][0]]])
    known = memory.known
    present = memory.mn >= 0
    major = MAJORS[int(np.round(memory.major[present].mean()))] if present.any() else "K"
    record = _merge_loads(loads, taken)
    try:
        load = catalog.find(record.text)
        chain = make_chain(load, side.fragment, major)
    except LayoutError as error:
        return (Diagnosis(error.code, f"{record.where}: {error.message}"),)
    if not chain.match:
        return (_diagnose_transposed(record, load, side, major),)
    if (exchanged := _diagnose_taken_registers(side, part, loads, taken)) is not None:
        return (exchanged,)
    assert record.addresses is not None
    places = chain.lane_places[0, 0]
    lanes = np.flatnonzero(places[:, 0] >= 0)
    line, along = places[lanes, 0], places[lanes, 1] * 8 // known.element.bits
    mn, k = (line, along) if major == "K" else (along, line)
    mn, k = part.mn + mn, part.k + k
    got_mn, got_k = memory.find_elements(record.addresses[lanes].astype(np.int64))
    wrong = _mask_differences(known, got_mn, mn, 0) | _mask_differences(known, got_k, k, 1)
    if not wrong.any():
        return ()
    first = int(lanes[np.flatnonzero(wrong)[0]]) // 8
    where = loads[taken[first][0]].where if first < len(taken) else record.where
    cause = _find_row_cause(
        record,
        memory=memory,
        lanes=lanes,
        expected=(mn, k),
        got=(got_mn, got_k),
        side=side,
        part=part,
        fits=fits,
    )
    return (Diagnosis(cause[0], f"{where}: {cause[1]}"),)


def _merge_loads(loads: Sequence[Record], taken: Sequence[tuple[int, int]]) -> Record:
    """Return one load with the registers that an operand takes from several loads."""
    first = loads[taken[0][0]]
    if ".m8n8." not in first.text or len(taken) not in (1, 2, 4):
        return first
    addresses = [loads[n].addresses[8 * register : 8 * register + 8] for n, register in taken]  # type: ignore[index]
    text = re.sub(r"\.x[124]\b", f".x{len(taken)}", first.text)
    return replace(first, text=text, addresses=np.resize(np.concatenate(addresses), 32))


def _diagnose_taken_registers(
    side: OperandCodes, part: OperandSlice, loads: Sequence[Record], taken: Sequence[tuple[int, int]]
) -> Diagnosis | None:
    """Return the diagnosis if the loads have the slice but the instruction uses other registers of them; else None."""
    assert side.fragment is not None
    right = find_taken_registers(
        loads, _compute_registers(side.fragment, side.known, part, side.operand).astype(np.uint32)
    )
    if not right or right == list(taken):
        return None
    in_order = all(b == (a[0], a[1] + 1) for a, b in pairwise(taken) if a[0] == b[0]) and list(taken) == sorted(taken)
    alone = all(len(taken) == load.registers["a"].shape[1] for load in loads)
    if in_order and alone:
        return None
    has, needs = (
        join_words([f"{register} of the load at {loads[n].where}" for n, register in which])
        if len(loads) > 1
        else join_words([str(register) for _, register in which])
        for which in (taken, right)
    )
    of = "" if len(loads) > 1 else f" of the load at {loads[0].where}"
    message = f"{side.operand.upper()} uses registers {has}{of}, in this order; its slice is in registers {needs}."
    return Diagnosis("registers_exchanged", message)


def _mask_differences(
    known: KnownOperand, got: Ints, expected: Ints, axis: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    away = got - expected if known.real else (got - expected) % known.periods[axis]
    return np.asarray((got < 0) | (away != 0))


def _diagnose_transposed(record: Record, load: Instruction, side: OperandCodes, major: str) -> Diagnosis:
    name = side.operand.upper()
    other = (
        record.text.replace(".trans", "")
        if "trans" in load.modifiers
        else record.text.replace(".shared", ".trans.shared", 1)
    )
    contiguous = "K" if major == "K" else "M" if side.operand == "a" else "N"
    try:
        assert side.fragment is not None
        fits = make_chain(catalog.find(other), side.fragment, major).match
    except LayoutError:
        fits = False
    message = (
        f"{record.where}: {name} is stored with {contiguous} contiguous, and {load.ptx} does not give the"
        " mma's registers"
    )
    message += f" from it. Use {other}." if fits else "."
    return Diagnosis("wrong_transpose", message)


def _find_row_cause(
    record: Record,
    *,
    memory: RecordedMemory,
    lanes: Ints,
    expected: tuple[Ints, Ints],
    got: tuple[Ints, Ints],
    side: OperandCodes,
    part: OperandSlice,
    fits: StorageCache,
) -> tuple[str, str]:
    """Return (code, sentence) for rows that differ from those the mma needs."""
    assert record.addresses is not None
    known, addresses = memory.known, record.addresses[lanes].astype(np.int64)
    matrices = _match_matrices(known, expected, got)
    if matrices is not None:
        pairs = [(m, p) for m, p in enumerate(matrices) if m < p and matrices[p] == m]
        exchanges = join_words([f"{m} and {p}" for m, p in pairs]) if pairs else ""
        lane = 8 * (pairs[0][0] if pairs else 0)
        message = (
            f"Matrices {exchanges} are exchanged: lanes {lane} to {lane + 7} address the rows of matrix {pairs[0][1]}."
            if pairs
            else f"The matrices are in the order {', '.join(map(str, matrices))}."
        )
        return "matrices_exchanged", message
    stored = fits.find_storage(memory, part, rows=side.rows, depth=side.depth, word=Descriptor(0))
    if stored is not None:
        stored_addresses = np.array([stored.address(known, int(m), int(c)) for m, c in zip(*expected, strict=True)])
        if (cause := _diagnose_addresses(addresses, stored_addresses, stored, side, part)) is not None:
            return cause
    lane = int(
        np.flatnonzero(
            _mask_differences(known, got[0], expected[0], 0) | _mask_differences(known, got[1], expected[1], 1)
        )[0]
    )
    name = side.operand.upper()
    has = "an unknown row" if got[0][lane] < 0 else f"{name}'s row from ({got[0][lane]}, {got[1][lane]}) on"
    needs = f"({expected[0][lane]}, {expected[1][lane]})"
    message = f"Lane {int(lanes[lane])} addresses {has}; the mma needs the row from {needs} on."
    return "other_rows", f"{message} Both are ({'m' if side.operand == 'a' else 'n'}, k)."


def _match_matrices(known: KnownOperand, expected: tuple[Ints, Ints], got: tuple[Ints, Ints]) -> list[int] | None:
    """Return the matrix that each group of eight lanes addresses; None if a group addresses no matrix."""
    count = len(expected[0]) // 8
    order = []
    for m in range(count):
        at = np.s_[8 * m : 8 * m + 8]
        like = [
            p
            for p in range(count)
            if not _mask_differences(known, got[0][at], expected[0][8 * p : 8 * p + 8], 0).any()
            and not _mask_differences(known, got[1][at], expected[1][8 * p : 8 * p + 8], 1).any()
        ]
        if len(like) != 1:
            return None
        order.append(like[0])
    return order if sorted(order) == list(range(count)) and count > 1 else None


def _diagnose_addresses(
    addresses: Ints, where: Ints, stored: StoredRectangle, side: OperandCodes, part: OperandSlice
) -> tuple[str, str] | None:
    """Return the diagnosis of the addresses: wrong swizzle, pitch or step along K."""
    name, storage = side.operand.upper(), stored.storage
    return (
        _other_swizzle(addresses, where, storage, name)
        or _moved(addresses - where, part.k, side.known.element.bits)
        or _other_pitch(addresses, where, storage.pitch_bytes, name)
    )


def _other_swizzle(addresses: Ints, where: Ints, storage: Storage, name: str) -> tuple[str, str] | None:
    base, mode = storage.base, storage.mode
    for other in MODES[1:]:
        if other is mode:
            continue
        plain = where if mode.chunks == 1 else mode.unswizzle(where)
        by_tile, by_address = base + other.unswizzle(plain - base), other.unswizzle(plain)
        for by, swizzled in (("the offset in the tile", by_tile), ("the address", by_address)):
            if np.array_equal(swizzled, addresses):
                has = f"with swizzle {mode.name}" if mode.chunks > 1 else "without a swizzle"
                return "swizzle_mode", (
                    f"The lanes' addresses have the XOR of the {other.name} swizzle, of {by}; {name} is stored {has}."
                )
    if mode.chunks > 1 and np.array_equal(mode.unswizzle(where), addresses):
        return "address_not_swizzled", (
            f"{name} is stored with swizzle {mode.name}; the lanes' addresses do not have the XOR."
        )
    return None


def _moved(step: Ints, k: int, bits: int) -> tuple[str, str] | None:
    """Return the cause if all lanes' addresses are off by the same step."""
    if not (step == step[0]).all():
        return None
    moved, right = int(step[0]), k * bits // 8
    message = f"Every lane's address is {abs(moved)} bytes {'past' if moved > 0 else 'before'} the right one."
    if right + moved == k and right:
        return "k_step_in_elements", f"{message} The step along K is in elements ({k}), not in bytes."
    return "start_wrong", message


def _other_pitch(addresses: Ints, where: Ints, pitch: int | None, name: str) -> tuple[str, str] | None:
    if not pitch or len(where) < 8:
        return None
    steps = np.diff(addresses[:8])
    if (steps == steps[0]).all() and 0 <= steps[0] != pitch and (np.diff(where[:8]) == pitch).all():
        return "pitch_wrong", (
            f"The lanes' rows are {int(steps[0])} bytes apart; the rows of {name} are {pitch} bytes apart."
        )
    return None
