"""atom and red, executed thread by thread in order of index. PTX ISA 9.1, 9.7.13.5 and 9.7.13.6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, instruction
from lanescope.emulate.instructions.arithmetic import check_words
from lanescope.emulate.instructions.data import find_space
from lanescope.emulate.instructions.floats import choose_extreme, flush_element, mark_nan32
from lanescope.emulate.instructions.reductions import INTEGER, UFUNCS
from lanescope.emulate.instructions.rounding import ELEMENTS, Element, add_to_odd, decode, encode
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.memory import Allocation, FaultError
from lanescope.emulate.text.program import (
    AddressOperand,
    Discarded,
    Operand,
    OperandError,
    Register,
    RemainingOperands,
    Statement,
    require_address,
)
from lanescope.ptx.operations.operation import join_lanes, take_lanes
from lanescope.ptx.register_types import TYPES, U128, RegisterType

Array = NDArray[Any]
Update = Callable[..., Array]
_ORDERS = ("relaxed", "acquire", "release", "acq_rel")
_SCOPES = ("cta", "cluster", "gpu", "sys")
_SPACES = ("global", "shared", "shared::cta", "shared::cluster")
_KINDS = {"add": "us", "min": "us", "max": "us", "inc": "u", "dec": "u", "cas": "bus"}  # of types; b for the others
_UPDATES: dict[str, Update] = {
    **INTEGER,
    "exch": lambda old, b: np.broadcast_to(b, old.shape),
    "cas": lambda old, b, c: np.asarray(np.where(old == b, c, old)),
}


@instruction("atom", "red")
def build_atomic(compiler: Compiler, statement: Statement) -> Action:
    """Build atom (read, compute, write, return the old value) and red (without result)."""
    allowed = (*_ORDERS, *_SCOPES, *_SPACES, *_UPDATES, "noftz", "L2::cache_hint", "v2", "v4", "v8")
    (row,) = check_words(statement, allowed)
    name = statement.find_word(_UPDATES)
    target, address, sources = _name_operands(statement, 2 if name == "cas" else 1)
    if not name:
        raise UnknownInstructionError(statement)
    space, _ = find_space(compiler, statement, address)
    if row.bits == 128:
        return _build_wide(compiler, target, address, sources, name, space)
    update, row = _find_update(statement, name, row, space)
    lanes = int((statement.find_word(("v2", "v4", "v8")) or "v1")[1:])
    readers = [compiler.read_all(source, row) for source in sources]
    read_address = compiler.read_address(address)
    write = None if isinstance(target, Discarded) else compiler.write_all(target, row)
    at = UFUNCS.get(name) if write is None and update is _UPDATES[name] else None
    dtype = row.dtype

    def act(group: Group) -> None:
        addresses = read_address(group)
        values = [np.broadcast_to(read(group), (group.count, lanes)) for read in readers]
        result = np.empty((group.count, lanes), dtype)
        changed = False
        for chosen, view, first in _find_places(group, space, addresses, dtype, lanes):
            those = slice(None) if chosen is None else chosen
            part = [value[those] for value in values]
            if at is not None:
                at.at(view, first, part[0][:, 0])
                changed = True
                continue
            result[those], changes = _run_in_order(view, first, part, lanes, update)
            changed |= changes
        group.run.machine.version += changed  # a lock that is taken is only polled
        if write is not None:
            write(group, result)
            group.run.machine.note_poll(group, (addresses.tobytes(), result.tobytes()))

    return act


def _name_operands(statement: Statement, count: int) -> tuple[Operand, AddressOperand, list[Operand]]:
    """Return (destination of the old value, address, operands of the operation)."""
    operands = RemainingOperands(statement.operands)
    target: Operand = operands.pop(0) if statement.words[0] == "atom" else Discarded()
    address = require_address(operands.pop(0))
    if statement.has("L2::cache_hint"):
        operands.pop()  # the policy
    if len(operands) != count:
        raise UnknownInstructionError(statement)
    return target, address, operands


def _find_places(
    group: Group, space: str, addresses: NDArray[np.int64], dtype: np.dtype[Any], lanes: int
) -> list[tuple[Array | None, Array, Array]]:
    """Return (threads, the allocation's elements, first element of each thread), checked for load and store."""
    size = dtype.itemsize * lanes
    for _ in group.memory.resolve(group, space, addresses, size, writes=False, align=size):
        pass
    places = []
    for chosen, allocation, offsets in group.memory.resolve(group, space, addresses, size, writes=True, align=size):
        _check_size(allocation, dtype)
        places.append(
            (
                chosen,
                allocation.data[: allocation.size // dtype.itemsize * dtype.itemsize].view(dtype),
                offsets // dtype.itemsize,
            )
        )
    return places


def _check_size(allocation: Allocation, dtype: np.dtype[Any]) -> None:
    if allocation.data.ctypes.data % dtype.itemsize:
        raise FaultError("misaligned", f"{allocation.name} is not aligned to {dtype.itemsize} bytes in the emulator.")


def _run_in_order(view: Array, first: Array, values: list[Array], lanes: int, update: Update) -> tuple[Array, bool]:
    """Update elements; threads with the same element take turns.

    Return each one's old value, [threads, lanes], and whether any element changed.
    """
    places = first[:, None] + np.arange(lanes) if lanes > 1 else first[:, None]
    old = np.empty(places.shape, view.dtype)
    ranks = _rank(first)
    most = int(ranks.max())
    if most == 0:
        old[:] = view[places]
        new = update(old, *values)
        view[places] = new
        return old, bool((new != old).any())
    order = np.argsort(ranks, kind="stable")
    bounds = np.searchsorted(ranks[order], np.arange(most + 2))
    changed = False
    for rank in range(most + 1):
        now = order[bounds[rank] : bounds[rank + 1]]
        elements = places[now]
        current = view[elements]
        old[now] = current
        new = update(current, *(value[now] for value in values))
        view[elements] = new
        changed = changed or bool((new != current).any())
    return old, changed


def _rank(first: Array) -> Array:
    """Return, for each thread, how many threads before it have the same element."""
    order = np.argsort(first, kind="stable")
    ordered = first[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    within = np.arange(len(first)) - np.repeat(starts, np.diff(np.append(starts, len(first))))
    ranks = np.empty(len(first), np.int64)
    ranks[order] = within
    return ranks


def _find_update(statement: Statement, name: str, row: RegisterType, space: str) -> tuple[Update, RegisterType]:
    """Return the function that updates an element, and the type in which it is read."""
    if row.name.lstrip("b").startswith("f") and name in ("add", "min", "max"):
        return _find_float_update(statement, name, row, space)
    update = _UPDATES[name]
    if (
        statement.has("noftz")
        or row.kind not in _KINDS.get(name, "b")
        or row.bits < 16
        or statement.find_word(("v2", "v4", "v8"))
    ):
        raise UnknownInstructionError(statement)
    if row.bits == 16 and name not in ("cas", "exch"):
        raise UnknownInstructionError(statement)
    if name in ("inc", "dec") and row.bits != 32:
        raise UnknownInstructionError(statement)
    return update, TYPES[f"b{row.bits}"] if name == "cas" else row


def _find_float_update(statement: Statement, name: str, row: RegisterType, space: str) -> tuple[Update, RegisterType]:
    element = ELEMENTS[row.name.partition("x")[0]]
    if row.name == "f32x2" or statement.has("noftz") != (element.bits.itemsize == 2):
        raise UnknownInstructionError(statement)
    if name != "add" and (element.bits.itemsize > 2 or not statement.find_word(("v2", "v4", "v8"))):
        raise UnknownInstructionError(statement)
    if row.name == "f64":
        return np.add, row
    if row.name == "f32":
        return _make_single_sum(space), row
    bits = TYPES[f"b{row.bits}"]
    if name == "add":
        return (lambda old, b: _by_lanes(_add_lanes, old, b, element)), bits
    smallest = name == "min"
    return (
        lambda old, b: _by_lanes(
            lambda x, y, kind: choose_extreme([x, y], kind, frozenset(), smallest), old, b, element
        )
    ), bits


def _make_single_sum(space: str) -> Update:
    """Return f32 addition: in global memory it flushes subnormal results, in shared memory it does not."""
    if space.startswith("shared"):
        return lambda old, b: mark_nan32(old + b)
    single = ELEMENTS["f32"]
    return lambda old, b: mark_nan32(
        flush_element(flush_element(old, single) + flush_element(b, single), single).astype(np.float32)
    )


def _add_lanes(a: Array, b: Array, element: Element) -> Array:
    return encode(add_to_odd(decode(a, element), decode(b, element)), element)


def _by_lanes(compute: Callable[[Array, Array, Element], Array], old: Array, b: Array, element: Element) -> Array:
    """Apply an operation to the packed elements of each register."""
    x, y = (take_lanes(lanes.reshape(-1), element.bits) for lanes in (old, np.ascontiguousarray(b)))
    return join_lanes(compute(x, y, element), old.dtype).reshape(old.shape)


def _build_wide(
    compiler: Compiler, target: Operand, address: AddressOperand, sources: list[Operand], name: str, space: str
) -> Action:
    """Build exch and cas of 128 bits."""
    if name not in ("exch", "cas") or not all(isinstance(source, Register) for source in sources):
        raise OperandError("operands of 128 bits")
    slots = [source.slot for source in sources if isinstance(source, Register)]
    read_address = compiler.read_address(address)
    to = target.slot if isinstance(target, Register) else None

    def act(group: Group) -> None:
        addresses = read_address(group)
        values = [group.frame.registers[slot][group.threads] for slot in slots]
        for chosen, view, first in _find_places(group, space, addresses, U128, 1):
            places = np.arange(group.count) if chosen is None else chosen
            for number, place in zip(places, first, strict=True):
                old = view[place].copy()
                if name == "exch" or old == values[0][number]:
                    view[place] = values[-1][number]
                if to is not None:
                    group.frame.registers[to][group.ids[number]] = old
        group.run.machine.version += 1

    return act
