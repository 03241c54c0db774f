"""What the API and the command line say about an instruction: plain dicts, made from the engine, no framework."""

from __future__ import annotations

from typing import Any

from app.instruction import wmma as wmma_facts
from app.kit.rows import summary
from layouts import catalog, qualifiers
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand

Json = dict[str, Any]
METHODS = {"mma": "random products compared with NumPy", "fragment": "the maps measured element by element"}


def detail(instruction: Instruction) -> Json:
    """The summary and, for each operand, everything but the element arrays."""
    return summary(instruction) | {
        "note": instruction.family.note,
        "deprecated": instruction.family.deprecated,
        "convergence": qualifiers.convergence(instruction),
        "source": str(instruction.family.source),
        "operands": [operand_facts(instruction, op) for op in instruction.operands.values()],
        "scales": [scale_map(instruction, name) for name in instruction.scales],
        "address": address_map(instruction) if instruction.address else None,
        "operands_elsewhere": dict(instruction.family.elsewhere),
        "memory": wmma_facts.memory(instruction),
    }


def operand_facts(instruction: Instruction, op: Operand) -> Json:
    """One operand: sizes, registers, pattern and everything derived from it as text."""
    pattern = op.pattern
    formula = op.formula()
    return {
        "name": op.name,
        "rows": op.row_count,
        "cols": op.dense_col_count,
        "stored_cols": op.col_count,
        "axes": list(op.axes),
        "dims": list(op.dims),
        "threads": op.threads,
        "values": op.values,
        "element_type": op.element.name,
        "element_bits": op.element.bits,
        "container_bits": op.container_bits,
        "registers": op.registers,
        "register_type": op.element.register_type,
        "register_bits": op.register_bits,
        "pattern": str(pattern),
        "cute": op.cute,
        "linear_layout": pattern.linear_layout(),
        "formula": {way: "\n".join(f"{k} = {v}" for k, v in lines.items()) for way, lines in formula.items()},
        "terms": {
            "thread": _terms(pattern.thread_terms()),
            "value": _terms(pattern.value_terms()),
            **{axis: _terms(terms) for axis, terms in zip(op.axes, pattern.coord_terms(), strict=True)},
        },
        "copies": pattern.copies,
        "sparsity": sparsity_facts(op),
        "source": str(op.source),
        "evidence": evidence(instruction),
    }


def _terms(terms: Any) -> list[Json]:
    return [{"name": t.name, "size": t.size, "weight": t.weight} for t in terms]


def sparsity_facts(op: Operand) -> Json | None:
    """How a stored A is compressed, None where it is not."""
    s = op.sparsity
    if s is None:
        return None
    return {"kept": s.kept, "group": s.group, "index_bits": s.index_bits, "selectors": s.selectors, "index": str(s.index)}


def scale_map(instruction: Instruction, name: str, byte_id: int = 0, thread_id: int = 0) -> Json:
    """A block-scale operand: "thread" and "byte" are [row][block] for scale_a, [col][block] for scale_b (NumPy)."""
    scale = instruction.scales[name]
    thread, byte = scale.owners(byte_id, thread_id)
    k = instruction.sizes["k"]
    return {
        "name": name,
        "element_type": scale.element.name,
        "blocks": scale.blocks,
        "block_k": k // scale.blocks,
        "byte_id": byte_id,
        "byte_ids": list(scale.byte_ids),
        "thread_id": thread_id,
        "thread_ids": list(scale.thread_ids),
        "pattern": str(scale.pattern),
        "thread": thread,
        "byte": byte,
        "source": "PTX ISA 9.1, 9.7.14.3",
    }


def address_map(instruction: Instruction) -> Json:
    """ "matrix" and "row" by lane: whose row's address the lane supplies, -1 where it supplies none."""
    import numpy as np

    op = instruction.address
    assert op is not None
    matrix, row = (np.pad(op.coords[axis][:, 0], (0, 32 - op.threads), constant_values=-1) for axis in ("matrix", "row"))
    return {"name": "address", "pattern": str(op.pattern), "lanes": op.threads, "matrix": matrix, "row": row}


def operand_map(instruction: Instruction, op: Operand, selector: int = 0) -> Json:
    """The facts and the map: every axis, register and bit as [thread][value] arrays (NumPy; the caller serialises).

    A sparse A also has group_col, meta_thread, meta_bit and group_size for its sparsity selector; its col is the dense column
    while every index keeps the first positions.
    """
    import numpy as np

    value = np.arange(op.values)
    register, bit = np.divmod(value * op.container_bits, op.register_bits)
    whole = (op.threads, op.values)
    sparse: Json = {}
    if op.sparsity:
        meta_thread, meta_bit = op.sparsity.suppliers(selector)
        stored = op.coords["col"]
        sparse = {
            "stored_col": stored,
            "group_col": op.sparsity.group_columns(stored),
            "meta_thread": meta_thread,
            "meta_bit": meta_bit,
            "group_size": op.sparsity.group,
            "selector": selector,
        }
    elif selector:
        raise LayoutError(
            "bad_selector", f"Operand {op.name} of {instruction.ptx} has no sparsity selector.", "Leave selector out.", "selector"
        )
    return (
        operand_facts(instruction, op)
        | sparse
        | {
            **op.coords,
            op.plane[1]: op.cols,
            "register": np.broadcast_to(register, whole),
            "bit": np.broadcast_to(bit, whole),
        }
    )


def any_operand(instruction: Instruction, name: str, selector: int = 0, byte_id: int = 0, thread_id: int = 0) -> Json:
    """Whatever map goes by this name: a fragment, a scale or the addresses."""
    wanted = name.lower()
    if wanted in instruction.scales:
        return scale_map(instruction, wanted, byte_id, thread_id)
    if wanted == "address" and instruction.address:
        return address_map(instruction)
    return operand_map(instruction, instruction.operand(wanted), selector)


def evidence(instruction: Instruction) -> list[Json]:
    """Which independent statements stand behind this instruction's maps, strongest first; says so where hardware is missing."""
    known = catalog.assembled(instruction)
    meta = catalog.assembler()
    out: list[Json] = []
    if known.targets:
        out.append(
            {
                "kind": "assembled",
                "text": f"assembles for {known.targets[0]}{' and up' if len(known.targets) > 1 else ''}",
                "by": meta["assembler"],
                "date": meta["date"],
            }
        )
    family = instruction.family
    runs = catalog.runs(instruction)
    ran: list[Json] = [
        {
            "kind": "ran" if run.agrees else "differs",
            "text": f"{'ran' if run.agrees else 'DIFFERS'} on {catalog.short(run.device)}, {run.date}",
            "by": f"{run.device}: {' and '.join(METHODS[method] for method in run.methods)}",
            "date": run.date,
        }
        for run in runs
    ]
    if family.measured:
        ran.append(
            {"kind": "ran", "text": family.measured, "by": "a map measured on the device, tests/golden/hardware", "date": "2026-11-21"}
        )
    out = ran + out
    if not family.specified:
        out.append({"kind": "not_run", "text": "unspecified by PTX; other architectures unknown", "by": str(family.source), "date": ""})
        return out
    out.append({"kind": "documented", "text": "documented", "by": str(family.source), "date": ""})
    if not ran:
        out.append({"kind": "not_run", "text": "not yet run on hardware by this project", "by": "", "date": ""})
    return out


def _short(device: str) -> str:
    """ "NVIDIA H100 80GB HBM3" → "H100"."""
    return device.removeprefix("NVIDIA ").split(" ")[0]
