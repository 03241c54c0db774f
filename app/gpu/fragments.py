"""Kind "fragment": a map measured without using the map that it is to judge.

wmma, ldmatrix, stmatrix and movmatrix move elements that carry their own index, a bit of it a run. In mma every
register slot of A is set alone while B's slots carry their number: D shows which slot of B met it, and where. wgmma's D
and A are measured against the memory order of the operands its descriptors read. Metadata: every nibble of every thread
is toggled and the group that moves is seen.

What no run can see: renumbering the rows of A and D alike (or the columns of B and D, or K in A and B) changes nothing
an mma.sync computes. There a map is judged in the numbering that the other two operands' maps give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.gpu import numbers
from app.gpu.device import Device, Product
from app.gpu.kernels import MOVE_WORDS
from app.gpu.products import shared_image
from layouts import catalog
from layouts.codec import scale_codes
from layouts.errors import LayoutError
from layouts.instruction import Feed, Instruction, Operand, Place
from layouts.wmma import default_stride

Array = NDArray[Any]
FIRST, LAST = 0x44444444, 0xEEEEEEEE  # metadata that keeps the first, the last positions of every group


@dataclass(frozen=True)
class Measured:
    """One operand's measured map: coordinate axes → [thread][value] arrays, −1 where hardware gave no single answer."""

    operand: str
    axes: tuple[str, ...]
    predicted: dict[str, Array]
    measured: dict[str, Array]
    source: str

    @property
    def wrong(self) -> Array:
        differs: Array = np.any([self.predicted[axis] != self.measured[axis] for axis in self.axes], axis=0)
        return differs


def operands(i: Instruction) -> tuple[str, ...]:
    """The operands whose map can be measured."""
    if i.family.moves:
        return ("d",)
    if i.family.multiplies and i.family.specified:
        held = ("d", "a") if i.family.by_descriptor else ("a", "b", "c", "d")
        return (*held, *(("e",) if i.operands["a"].sparsity else ()))
    return tuple(i.operands)


def unmeasured(i: Instruction) -> str:
    """Why no run measures its maps, "" where one does."""
    if i.family.unpacks:
        return "unpacks 4- and 6-bit elements"
    return "moves tensor memory" if i.family.memory is Place.TENSOR else ""


def measure(device: Device, i: Instruction, operand: str) -> Measured:
    """Measure one operand's map; LayoutError names those that can be."""
    if operand not in operands(i):
        raise LayoutError("unknown_operand", f"No fragment run for operand '{operand}' of {i.ptx}.",
        f"Allowed: {', '.join(operands(i))}.", "operand")  # fmt: skip
    if why := unmeasured(i):
        raise LayoutError(
            "unsupported_here",
            f"{i.ptx} {why}: no fragment run is known for it.",
            "Choose a b16 or b8 form.",
            "instruction",
        )
    if not i.family.specified:
        return _wmma(device, i, operand)
    if i.family.memory is Place.ROWS:
        return _moved(device, i)
    if i.family.moves:
        return _transposed(device, i)
    if operand == "e":
        return _metadata(device, i)
    if i.family.by_descriptor:
        return _wgmma_d(device, i) if operand == "d" else _wgmma_a(device, i)
    if operand == "c":
        return _added(device, i)
    return _partners(device, i)[operand]


def measure_all(device: Device, i: Instruction) -> list[Measured]:
    """Every operand, the shared experiment of A, B and D run once."""
    if i.family.multiplies and i.family.feed is Feed.MAP:
        both = _partners(device, i)
        rest = [measure(device, i, name) for name in operands(i) if name not in both]
        return [*both.values(), *rest]
    return [measure(device, i, name) for name in operands(i)]


def run(device: Device, i: Instruction, operand: str = "") -> dict[str, Any]:
    """One operand's map, predicted and measured, and every (thread, value) that differs."""
    found = measure(device, i, operand or operands(i)[0])
    mismatches = [
        {"thread": int(t), "value": int(v), "expected": [int(found.predicted[x][t, v]) for x in found.axes],
        "got": [int(found.measured[x][t, v]) for x in found.axes]}
        for t, v in np.argwhere(found.wrong)
    ]  # fmt: skip
    return {
        "operand": found.operand,
        "axes": list(found.axes),
        "predicted": found.predicted,
        "measured": found.measured,
        "mismatches": mismatches,
        "compared": int(found.wrong.size),
        "agrees": not mismatches,
        "source": found.source,
    }


# codes: an index told a bit a run -------------------------------------------------------------------------------------


def _bits(codes: Array) -> Array:
    """Codes from 0 → [runs, …] of 0 and 1: bit 0 of code + 1, bit 1, …; 0 in every run means no code arrived."""
    count = int(codes.max() + 1).bit_length()
    out: Array = (codes[None] + 1) >> np.arange(count).reshape(-1, *[1] * codes.ndim) & 1
    return out


def _codes(bits: Array, axis: int = 0) -> Array:
    """The inverse: −1 where nothing arrived."""
    weights = 1 << np.arange(bits.shape[axis])
    out: Array = np.tensordot(bits.astype(np.int64), weights, (axis, 0)) - 1
    return out


def _one(op: Operand, values: Array) -> Array:
    """0 and 1 as the element's bits, in registers [runs, threads, registers]."""
    return numbers.pack_values(op, numbers.encode(values, op.element.name))


def _ones_seen(op: Operand, registers: Array) -> Array:
    """D's values of [..., threads, registers]."""
    return numbers.decode(numbers.unpack_values(op, registers), op.element.name)


# mma.sync -------------------------------------------------------------------------------------------------------------


def _partners(device: Device, i: Instruction) -> dict[str, Measured]:
    """A, B and D from one experiment: which slot of B meets which slot of A, and where in D the product appears.

    A sparse A is met twice, keeping the first and the last positions of every group, so that every row of B is met.
    """
    a, b, c, d = (i.operands[name] for name in "abcd")
    alone = np.eye(a.threads * a.values, dtype=np.int64).reshape(-1, a.threads, a.values)
    b_slots = np.arange(b.threads * b.values).reshape(b.threads, b.values)
    xor = i.types["a"] == "b1" and "xor" in i.modifiers
    registers = {
        "a": _one(a, alone),
        "b": _one(b, _bits(b_slots)),
        "c": _one(c, np.zeros((1, c.threads, c.values), np.int64)),
    }
    sightings: list[tuple[Array, ...]] = []
    source = ""
    for e in (FIRST, LAST) if a.sparsity else (FIRST,):
        given = registers | _fixed(i, e)
        raw, source = device.product(Product(i, "registers", given))
        seen = _ones_seen(d, raw)  # [A slot, bit, thread, value]
        # popc(a ^ b) − popc(b) = popc(a) − 2 popc(a & b): the runs without any A tell popc(b), the maps the row of A's
        # slot
        if xor:
            none, _ = device.product(Product(i, "registers", given | {"a": _one(a, alone[:1] * 0)}))
            in_row = a.rows.reshape(-1, 1, 1, 1) == d.rows
            seen = (in_row - (seen - _ones_seen(d, none))) / 2
        met = _codes(
            seen.round().astype(np.int64).reshape(len(alone), seen.shape[1], -1), 1
        )  # [A slot, D slot] → B slot or −1
        x, z = np.nonzero(met >= 0)
        columns = a.sparsity.dense_columns(a.coords["col"], [e] * i.threads) if a.sparsity else a.cols
        sightings.append((x, np.minimum(met[x, z], b_slots.size - 1), z, columns.reshape(-1)[x]))
    return _name(i, sightings, source)


def _fixed(i: Instruction, e: int = FIRST) -> dict[str, Array]:
    """One metadata word for every thread, scale factors of one."""
    out: dict[str, Array] = {}
    if i.operands["a"].sparsity:
        out["e"] = np.full((1, i.threads), e, np.uint32)
    for name, scale in i.scales.items():
        _, one, _ = scale_codes(scale.element.name)
        out[f"{name}_data"] = np.full((1, i.threads), one * 0x01010101, np.uint32)
    return out


def _name(i: Instruction, sightings: list[tuple[Array, ...]], source: str) -> dict[str, Measured]:
    """Coordinates for the slots, each operand's in the numbering of the other two.

    sightings: (slot of A, of B, of D, dense column of A) of every product seen; A's own column is what the first run
    shows.
    """
    a, b, d = (i.operands[name] for name in "abd")
    where = {op.name: _flat(op, op.cols) for op in (a, b, d)}
    x, y, z, column = (np.concatenate(part) for part in zip(*sightings, strict=True))
    first = slice(len(sightings[0][0]))
    seen = {
        "a": {"row": (x, where["d"]["row"][z]), "col": (x[first], where["b"]["row"][y[first]])},
        "b": {"row": (y, column), "col": (y, where["d"]["col"][z])},
        "d": {"row": (z, where["a"]["row"][x]), "col": (z, where["b"]["col"][y])},
    }
    for third in where["d"].keys() - {"row", "col"}:  # the product of m8n8k4
        seen["a"][third], seen["b"][third], seen["d"][third] = (
            (x, where["d"][third][z]),
            (y, where["d"][third][z]),
            (z, where["a"][third][x]),
        )
    out = {}
    for op in (a, b, d):
        predicted = {axis: array.reshape(op.threads, op.values) for axis, array in where[op.name].items()}
        measured = {axis: _agreed(slot, value, op) for axis, (slot, value) in seen[op.name].items()}
        out[op.name] = Measured(op.name, tuple(predicted), predicted, measured, source)
    return out


def _flat(op: Operand, cols: Array) -> dict[str, Array]:
    return {axis: (cols if axis == "col" else array).reshape(-1).astype(np.int64) for axis, array in op.coords.items()}


def _agreed(slot: Array, value: Array, op: Operand) -> Array:
    """One value a slot where all its sightings agree, −1 where there is none or they differ: [thread][value]."""
    count = op.threads * op.values
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, -1)
    np.minimum.at(low, slot, value)
    np.maximum.at(high, slot, value)
    out: Array = np.where(low == high, high, -1).reshape(op.threads, op.values)
    return out


def _added(device: Device, i: Instruction) -> Measured:
    """C: its slots carry their number, A and B are zero, D shows where each goes."""
    a, b, c, d = (i.operands[name] for name in "abcd")
    bits = _bits(np.arange(c.threads * c.values).reshape(c.threads, c.values))
    zero = {x.name: _one(x, np.zeros((1, x.threads, x.values), np.int64)) for x in (a, b)}
    raw, source = device.product(Product(i, "registers", {**zero, "c": _one(c, bits), **_fixed(i)}))
    came = _codes(_ones_seen(d, raw[0]).round().astype(np.int64))  # [thread][value] of D → C slot
    where = _flat(d, d.cols)
    slot, at = came[came >= 0], np.flatnonzero(came.reshape(-1) >= 0)
    slot = np.minimum(slot, c.threads * c.values - 1)
    measured = {axis: _agreed(slot, array[at], c) for axis, array in where.items()}
    predicted = {axis: array.reshape(c.threads, c.values) for axis, array in _flat(c, c.cols).items()}
    return Measured("c", tuple(predicted), predicted, measured, source)


# sparsity metadata ----------------------------------------------------------------------------------------------------


def _metadata(device: Device, i: Instruction) -> Measured:
    """Every nibble of every thread from 0x4 to 0xE: which row and group of A moves to its upper half. [thread][selector
    · nibble].
    """
    a, d = i.operands["a"], i.operands["d"]
    sparsity = a.sparsity
    assert sparsity is not None
    k, n, group = i.sizes["k"], i.sizes["n"], sparsity.group
    upper = np.arange(k) % group >= group // 2
    codes = _bits(np.arange(k) // group) * upper  # [bit, k]
    b = np.repeat(codes[:, :, None], n, axis=2)
    ones = np.ones((1, a.threads, a.values), np.int64)
    e: Array = np.full((i.threads, 8, i.threads), FIRST, np.uint32)
    for nibble in range(8):
        e[np.arange(i.threads), nibble, np.arange(i.threads)] ^= np.uint32(0xA << 4 * nibble)
    e = e.reshape(-1, i.threads)
    registers: dict[str, Array] = {
        **_fixed(i),
        "a": _one(a, ones),
        "e": e,
        "c": _zeros(i.operands.get("c", d)),
    }
    image, descriptors = None, {}
    if i.family.by_descriptor:
        made = [shared_image(i, None, matrix) for matrix in b]
        image, descriptors = np.stack([m[0] for m in made]), {"b_desc": made[0][2]}
    else:
        op = i.operands["b"]
        registers["b"] = numbers.pack(op, numbers.encode(b, op.element.name))
    predicted, measured, source = [], [], ""
    thread_0, value_0 = (array[:, 0, 0] for array in d.pattern.inverse())
    per = d.values // d.registers
    keep = int(value_0.max()) // per + 1
    for selector in range(sparsity.selectors):
        raw, source = device.product(
            Product(i, "registers", registers, descriptors, image, immediates={"f": str(selector)}, keep=keep)
        )
        seen = _ones_seen(d, raw)[..., thread_0, value_0]  # [e run, bit, row], column 0
        groups = _codes((seen / sparsity.kept).round().astype(np.int64), 1)  # [e run, row]
        rows = np.where((groups >= 0).sum(1) == 1, np.argmax(groups >= 0, axis=1), -1)
        which = np.where(rows >= 0, groups[np.arange(len(e)), rows], -1)
        measured.append(np.stack([rows, which]).reshape(2, i.threads, 8))
        thread, bit = sparsity.suppliers(selector)
        want = np.full((2, i.threads, 8), -1)
        want[0, thread, bit // 4], want[1, thread, bit // 4] = a.rows, sparsity.group_columns(a.coords["col"]) // group
        predicted.append(want)
    names = ("row", "group")
    joined = [dict(zip(names, np.concatenate(part, axis=2), strict=True)) for part in (predicted, measured)]
    return Measured("e", names, joined[0], joined[1], source)


def _zeros(op: Operand) -> Array:
    return np.zeros((1, op.threads, op.registers), np.uint64 if op.register_bits == 64 else np.uint32)


# wgmma ----------------------------------------------------------------------------------------------------------------


def _wgmma_d(device: Device, i: Instruction) -> Measured:
    """D against the memory order of A and B: first A's rows carry their number, then B's columns."""
    d, m, n, k = i.operands["d"], i.sizes["m"], i.sizes["n"], i.sizes["k"]
    stored = i.operands["a"].col_count
    found, source = {}, ""
    for axis, count in (("row", m), ("col", n)):
        images = []
        for bit in _bits(np.arange(count)):
            a, b = np.zeros((m, stored), np.int64), np.zeros((k, n), np.int64)
            a[:, 0], b[0, :] = (bit, 1) if axis == "row" else (1, bit)
            images.append(shared_image(i, a, b))
        registers = {"c": _zeros(d), **_fixed(i)}
        words = {"a_desc": images[0][1], "b_desc": images[0][2]}
        raw, source = device.product(Product(i, "shared", registers, words, np.stack([image[0] for image in images])))
        found[axis] = _codes(_ones_seen(d, raw[0]).round().astype(np.int64))
    predicted = {"row": d.rows.astype(np.int64), "col": d.cols.astype(np.int64)}
    return Measured("d", ("row", "col"), predicted, found, source)


def _wgmma_a(device: Device, i: Instruction) -> Measured:
    """A in registers: its slots carry their number, B in shared memory is a shifted identity, so column n of D is
    column k of A.
    """
    a, d, n, k = i.operands["a"], i.operands["d"], i.sizes["n"], i.sizes["k"]
    bits = _bits(np.arange(a.threads * a.values).reshape(a.threads, a.values))
    images = [shared_image(i, None, np.eye(k, n, -shift, dtype=np.int64)) for shift in range(0, k, n)]
    registers = {"a": _one(a, bits), "c": _zeros(d), **_fixed(i)}
    raw, source = device.product(
        Product(i, "registers", registers, {"b_desc": images[0][2]}, np.stack([image[0] for image in images]))
    )
    seen = numbers.decode(numbers.unpack(d, raw)[0], d.element.name).round().astype(np.int64)  # [bit, shift, m, n]
    holder = np.concatenate(list(_codes(seen)), axis=1)[:, :k]  # [m, k] → slot
    rows, cols = np.nonzero(holder >= 0)
    slot = np.minimum(holder[rows, cols], a.threads * a.values - 1)
    measured = {"row": _agreed(slot, rows, a), "col": _agreed(slot, cols, a)}
    predicted = {"row": a.rows.astype(np.int64), "col": a.cols.astype(np.int64)}
    return Measured("a", ("row", "col"), predicted, measured, source)


# loads, stores and moves ----------------------------------------------------------------------------------------------


def wmma_access(i: Instruction, operand: str) -> Instruction:
    """The wmma.load or wmma.store that defines an operand of a wmma.mma; a load or store is its own."""
    if not i.family.multiplies:
        return i
    layouts = dict(zip("ab", i.syntax.layouts, strict=True))
    return catalog.access(i, operand, layouts.get(operand, "row"))


def _wmma(device: Device, i: Instruction, operand: str) -> Measured:
    """Loads: memory holds element indices. Stores: registers hold slot numbers."""
    through = wmma_access(i, operand)
    op = through.operands[operand]
    by_row = "row" in through.syntax.layouts
    stride = default_stride(op, "row" if by_row else "col")
    elements = op.row_count * op.col_count
    bits, size = op.element.bits, (elements * op.element.bits + 7) // 8
    if through.family.loads:
        runs = _bits(np.arange(elements)).astype(np.uint64)
        if bits < 8:
            per = 8 // bits
            given = np.bitwise_or.reduce(
                runs.reshape(len(runs), -1, per) << (np.arange(per) * bits).astype(np.uint64), axis=2
            ).astype(np.uint8)
        else:
            given = np.zeros((len(runs), elements, bits // 8), np.uint8)
            given[:, :, 0] = runs
            given = given.reshape(len(runs), -1)
        raw, source = device.load_store(through, given, size, stride)
        index = _codes(numbers.unpack_values(op, raw).astype(np.int64))
        rows, cols = (index // stride, index % stride) if by_row else (index % stride, index // stride)
        measured = {"row": np.where(index >= 0, rows, -1), "col": np.where(index >= 0, cols, -1)}
    else:
        slots = _bits(np.arange(op.threads * op.values).reshape(op.threads, op.values)).astype(np.uint64)
        raw, source = device.load_store(through, numbers.pack_values(op, slots), size, stride)
        holder = _codes(raw.reshape(len(slots), elements, bits // 8)[:, :, 0].astype(np.int64))
        index = np.flatnonzero(holder >= 0)
        slot = np.minimum(holder[index], op.threads * op.values - 1)
        rows, cols = (index // stride, index % stride) if by_row else (index % stride, index // stride)
        measured = {"row": _agreed(slot, rows, op), "col": _agreed(slot, cols, op)}
    predicted = {"row": op.rows.astype(np.int64), "col": op.cols.astype(np.int64)}
    return Measured(operand, ("row", "col"), predicted, measured, source)


def _moved(device: Device, i: Instruction) -> Measured:
    """ldmatrix, stmatrix: lane L gives row L of memory, so the lane whose address is used is measured with
    the element.
    """
    op, address = i.operands["data"], i.address
    assert address is not None
    size = op.container_bits // 8
    offsets = np.arange(32) * 16
    memory = np.uint16 if size == 2 else np.uint8
    if i.family.loads:
        runs = _bits(np.arange(MOVE_WORDS * 4 // size))
        raw, source = device.move(i, np.ascontiguousarray(runs.astype(memory)).view(np.uint32), offsets)
        index = _codes(numbers.unpack_values(op, raw).astype(np.int64))
        where = index * size
    else:
        slots = _bits(np.arange(op.threads * op.values).reshape(op.threads, op.values)).astype(np.uint64)
        raw, source = device.move(i, numbers.pack_values(op, slots), offsets)
        holder = _codes(np.ascontiguousarray(raw).view(memory).astype(np.int64))
        index = np.flatnonzero(holder >= 0)
        where = _agreed(np.minimum(holder[index], op.threads * op.values - 1), index * size, op)
    lanes, owner = address.pattern.inverse()[0], op.coords
    cols = op.extents["col"]
    wide = 16 // size
    flat = owner["row"] * cols + owner["col"]  # an element's place in its matrix, in rows of 16 bytes
    predicted = {
        "lane": lanes.reshape(op.extents["matrix"], -1)[owner["matrix"], flat // wide].astype(np.int64),
        "byte": flat % wide * size,
    }
    measured = {"lane": np.where(where >= 0, where // 16, -1), "byte": np.where(where >= 0, where % 16, -1)}
    return Measured("data", ("lane", "byte"), predicted, measured, source)


def _transposed(device: Device, i: Instruction) -> Measured:
    """movmatrix: every slot of a carries its number; d's is the (thread, value) it came from."""
    a, d = i.operands["a"], i.operands["d"]
    slots = np.arange(64).reshape(32, 2)
    raw, source = device.move(i, numbers.pack_values(a, (slots + 1).astype(np.uint64))[:, 0], np.zeros(32))
    came = numbers.unpack_values(d, raw[:, None]).astype(np.int64) - 1
    thread, value = (array[..., 0] for array in a.pattern.inverse())
    rows, cols = d.coords["row"], d.coords["col"]
    predicted = {"thread": thread[rows, cols].astype(np.int64), "value": value[rows, cols].astype(np.int64)}
    measured = {"thread": np.where(came >= 0, came // 2, -1), "value": np.where(came >= 0, came % 2, -1)}
    return Measured("d", ("thread", "value"), predicted, measured, source)
