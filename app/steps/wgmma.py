"""Everything one wgmma product does, step by step: memory, tiles, descriptors, the bytes each term is read from, D.

A factor is what its descriptor reads, not what the matrix holds: a wrong descriptor shows where it reads and what that
does to D.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from app.gpu import numbers, own, products, whole
from app.gpu.products import Inputs
from app.gpu.reference import read_elements
from layouts import descriptor as desc
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.plan import Described, Placed, Plan, Tiled
from layouts.planning import SIDES, plan

Json = dict[str, Any]


def steps(i: Instruction, run: Json, row: int, col: int) -> Json:
    """The steps of one run of kind mma with the options of a whole product, whose inputs are made again
    from its seed.
    """
    made = plan(i, *(run["request"].get(side, {}) for side in SIDES))
    data = run["request"].get("data")
    given = whole.inputs(made, run["request"]["seed"], data)
    staged = whole.stage(made, given)
    d = np.asarray(run["measured"], float)
    for name, at, count in (("row", row, d.shape[0]), ("col", col, d.shape[1])):
        if not 0 <= at < count:
            raise LayoutError("bad_element", f"{name} {at} is not in D.", f"D has {count}, from 0.", name)
    tiled = [side for side in (made.a, made.b) if isinstance(side, Described)]
    element = _element(made, given, staged, d, row, col)
    return {
        **of_run(i, run, data),
        "options": made.options,
        "steps": made.steps,
        "immediates": made.immediates,
        "memory": _memory(made, given),
        "shared": {side.letter: _tile(side) for side in tiled},
        "descriptors": {side.letter: [_descriptor(side, step) for step in range(made.steps)] for side in tiled},
        "metadata": (
            [[f"0x{int(word):08X}" for word in words] for words in given.metadata] if i.operands["a"].sparsity else None
        ),
        "registers": _registers(made, given, d, element["thread"]),
        "element": element,
        "d": d,
    }


def of_run(i: Instruction, run: Json, data: Any) -> Json:
    """What every trace says of the run it takes apart."""
    same = {name: run[name] for name in ("backend", "simulation", "device", "agrees")}
    return {"ptx": i.ptx, "seed": run["request"]["seed"], "data": own.told(data), **same}


def _memory(made: Plan, given: Inputs) -> Json:
    """A, B and C as global memory holds them: lines of the contiguous dimension."""
    out = {}
    for side, matrix in ((made.a, given.stored_a[0]), (made.b, given.b[0].T)):  # both [mn, k]
        along = "K" if side.major == "K" else "MN"[side.letter == "b"]
        out[side.letter] = {
            "order": f"lines of {along}",
            "element": side.element.name,
            "lines": matrix if side.major == "K" else matrix.T,
        }
    if made.accumulate:
        out["c"] = {"order": "lines of N", "element": made.instruction.operands["d"].element.name, "lines": given.c[0]}
    return out


def _tile(side: Described) -> Json:
    """Where each element of the product lies in shared memory: address [mn][k], bytes from its start."""
    mn, k = np.arange(side.mn)[:, None], np.arange(side.k)[None, :]
    return {
        "major": side.major,
        "how": how(side),
        "base": side.base,
        "end": side.end,
        "address": np.asarray(side.address(mn, k)),
    }


def how(side: Described) -> str:
    """How an operand is stored, in a few words."""
    return (
        f"swizzle {side.tile.mode.name}"
        if isinstance(side, Tiled)
        else side.where.text
        if isinstance(side, Placed)
        else ""
    )


def _descriptor(side: Described, step: int) -> Json:
    word = side.descriptor(step)
    amounts = {
        "start_address": word.start_address,
        "lbo_bytes": word.lbo_bytes,
        "sbo_bytes": word.sbo_bytes,
        "base_offset": word.base_offset,
    }
    return {
        "step": step,
        "descriptor": str(word),
        **amounts,
        "swizzle": word.mode.name,
        "unused": sorted(desc.inert(word, side.view)),
    }


def _read(side: Described, step: int, image: Any) -> tuple[Any, Any]:
    """(byte address, value) of every element [mn, k] that a step's descriptor reads."""
    at = desc.reads(side.descriptor(step), side.view)
    bits = side.element.bits
    if bits == 1:
        held = image[at].astype(np.uint64) >> (np.arange(side.step) % 8).astype(np.uint64) & np.uint64(1)
    else:
        held = read_elements(image[None], at // (bits // 8), bits)[0]
    return at, numbers.decode(held, side.element.name)


def _element(made: Plan, given: Inputs, staged: whole.Staged, d: Any, row: int, col: int) -> Json:
    """One element of D: its terms in order, where each factor is read, and the sum."""
    i, image = made.instruction, whole.image(made, staged)
    op, k = i.operands["a"], i.sizes["k"]
    bit = made.a.element.bits == 1 if isinstance(made.a, Described) else op.element.bits == 1
    sign = -1 if made.a.negated != made.b.negated else 1
    c = own.plain(given.c[0, row, col]) if made.accumulate else 0
    terms, total = [], float(c)
    for step in range(made.steps):
        column = _stored(made, given, step, row)
        a_at, a = (
            _read(made.a, step, image)
            if isinstance(made.a, Described)
            else (None, given.stored_a[0][:, step * op.col_count :])
        )
        assert isinstance(made.b, Described)
        b_at, b = _read(made.b, step, image)
        for n in range(k):
            stored = column.get(n, -1)
            left = float(a[row, stored]) if stored >= 0 else 0.0
            right = float(b[col, n])
            value = sign * (float(int(left) & int(right)) if bit else left * right) + 0.0  # no negative zero
            total += value
            where = (
                "not stored"
                if stored < 0
                else _owner(op, row, stored)
                if a_at is None
                else _place(a_at[row, stored], stored, bit)
            )
            term = {
                "k": step * k + n,
                "step": step,
                "a": left,
                "a_at": where,
                "b": right,
                "b_at": _place(b_at[col, n], n, bit),
                "product": value,
            }
            terms.append(term)
    thread, value_index = i.operands["d"].owner(row, col)[0]
    return {
        "row": row, "col": col, "terms": terms, "c": c, "sum": total, "d": float(d[row, col]),
        "d_at": f"T{thread}:d{value_index}", "thread": thread,
        "expected": float(whole.expected(made, given)[0, row, col]),
    }  # fmt: skip


def _owner(op: Any, row: int, stored: int) -> str:
    thread, value = op.owner(row, stored)[0]
    return f"T{thread}:a{value}"


def _place(address: Any, k: int, bit: bool) -> str:
    """A byte of shared memory, and the bit in it where eight elements share one."""
    return str(int(address)) + (f".{k % 8}" if bit else "")


def _stored(made: Plan, given: Inputs, step: int, row: int) -> dict[int, int]:
    """Dense column of a step → stored column, of one row of A."""
    op = made.instruction.operands["a"]
    if op.sparsity is None:
        return {n: n for n in range(op.col_count)}
    dense = op.sparsity.dense_columns(op.coords["col"], given.metadata[step].tolist(), made.selector)
    mine = op.rows == row
    return dict(zip(dense[mine].tolist(), op.coords["col"][mine].tolist(), strict=True))


def _registers(made: Plan, given: Inputs, d: Any, thread: int) -> Json:
    """One thread's registers: A of every step where it comes from registers, D before and after."""
    i = made.instruction
    op, out = i.operands["d"], i.operands["a"]
    held: Json = {"thread": thread}
    if made.a_from == "registers":
        parts = (given.stored_a[:, :, step * out.col_count : (step + 1) * out.col_count] for step in range(made.steps))
        held["a"] = [_hex(products.pack(out, part)[thread]) for part in parts]
    start = given.c if made.accumulate else 0 * given.c
    return held | {"c": _hex(products.pack(op, start)[thread]), "d": _hex(products.pack(op, d[None])[thread])}


def _hex(words: Any) -> list[str]:
    return [f"0x{int(word):08X}" for word in words]


def text(found: Json) -> str:
    """All of it as plain text."""
    how = "NumPy simulation, no GPU" if found["simulation"] else f"ran on {found['device']['name']}"
    lines = [
        found["ptx"],
        f"{how}; {own.origin(found)}; D {'agrees with' if found['agrees'] else 'DIFFERS from'} NumPy's product",
        "",
    ]
    for name, memory in found["memory"].items():
        lines.append(f"1. global memory of {name.upper()}: {memory['element']}, {memory['order']}")
        matrix = np.asarray(memory["lines"]).tolist()
        wide = max(3, *(len(own.number_text(v)) for line in matrix for v in line))
        lines += [
            f"   {n:3}  " + " ".join(own.number_text(v).rjust(wide) for v in line) for n, line in enumerate(matrix)
        ]
    lines.append("")
    for name, tile in found["shared"].items():
        rows = "M" if name == "a" else "N"
        lines.append(
            f"2. {name.upper()} in shared memory, the byte of each element ({rows} down, K across):"
            f" {tile['major']}-major, {tile['how']}"
        )
        lines += [
            f"   {n:3}  " + " ".join(f"{int(at):5}" for at in line)
            for n, line in enumerate(np.asarray(tile["address"]))
        ]
    lines += ["", "3. fence.proxy.async, barrier, wgmma.fence; the descriptors of each step"]
    for name, words in found["descriptors"].items():
        for w in words:
            fields = (
                f"start {w['start_address']}, LBO {w['lbo_bytes']}, SBO {w['sbo_bytes']}, base offset"
                f" {w['base_offset']}, swizzle {w['swizzle']}"
            )
            unread = f"; not read: {', '.join(w['unused'])}" if w["unused"] else ""
            lines.append(f"   {name.upper()} step {w['step']}  {w['descriptor']}  {fields}{unread}")
    lines.append(
        "   immediates: " + (", ".join(f"{name} {value}" for name, value in found["immediates"].items()) or "none")
    )
    if found["metadata"]:
        for step, words in enumerate(found["metadata"]):
            lines.append(f"   metadata e, step {step}: " + " ".join(f"T{t}:{word}" for t, word in enumerate(words)))
    e, held = found["element"], found["registers"]
    lines += [
        "",
        (
            f"4. D[{e['row']},{e['col']}]: C + sum over k of A[{e['row']},k]·B[k,{e['col']}], each factor with where it"
            " is read"
        ),
    ]
    for t in e["terms"]:
        lines.append(
            f"   step {t['step']} k {t['k']:3}  {own.number_text(t['a']).rjust(3)} ({t['a_at']}) ×"
            f" {own.number_text(t['b']).rjust(3)} ({t['b_at']}) = {own.number_text(t['product'])}"
        )
    differs = "" if e["sum"] == e["expected"] else f"; NumPy's product has {own.number_text(e['expected'])}"
    lines += [
        (
            f"   + C {own.number_text(e['c'])} = {own.number_text(e['sum'])}; D holds {own.number_text(e['d'])}"
            f" ({e['d_at']}){differs}"
        ),
        "",
        f"5. registers of thread {held['thread']} after wait_group 0",
    ]
    lines += [f"   a step {step}  {' '.join(words)}" for step, words in enumerate(held.get("a", []))]
    lines += [f"   d before  {' '.join(held['c'])}", f"   d after   {' '.join(held['d'])}"]
    return "\n".join(lines) + "\n"
