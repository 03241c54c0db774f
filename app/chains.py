"""Chains and banks as the API, the pages and the command line say them: plain dicts, no framework."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from app.memory import number
from layouts import banks, catalog, chain
from layouts.errors import LayoutError
from layouts.instruction import Instruction, Operand
from layouts.swizzle import MODES, Swizzle
from layouts.tiling import Storage, storage

Json = dict[str, Any]
CHAIN_FIELDS = ("storage", "load", "mma", "operand", "major")


def chain_of(given: Json) -> tuple[chain.Chain, chain.Outcome, Operand, str]:
    """(the chain, what it does over the storage, the operand as stored, its major); LayoutError names the wrong field."""
    unknown = sorted(set(given) - set(CHAIN_FIELDS))
    if unknown:
        raise LayoutError("bad_field", f"No field '{unknown[0][:40]}'.", f"Allowed: {', '.join(CHAIN_FIELDS)}.", unknown[0][:40])
    load, mma = _find(given, "load"), _find(given, "mma")
    spec = given.get("storage")
    if not isinstance(spec, dict):
        raise LayoutError("bad_storage", "storage is missing.", "Give {'kind': 'canonical' | 'atoms' | 'rows' | 'cute', …}.", "storage")
    letter = str(given.get("operand") or ("d" if load.family.name == chain.STORES else "a")).lower()
    operand = stored_operand(mma, letter, load)
    major = str(given.get("major") or spec.get("major") or spec.get("inner") or "K")
    found = chain.chain(load, operand, major)
    told = chain.follow(found, place(spec, operand, major))
    return found, told, operand, major


def _find(given: Json, field: str) -> Instruction:
    try:
        return catalog.find(str(given.get(field, "")))
    except LayoutError as error:
        raise LayoutError("bad_instruction", error.message, error.hint, field, error.nearest) from None


def stored_operand(mma: Instruction, letter: str, load: Instruction) -> Operand:
    """The operand as memory holds it: a and b as they are, an accumulator converted to the store's width where it is wider."""
    stores = load.family.name == chain.STORES
    if stores != (letter in "cd"):
        which = "stmatrix writes c or d" if stores else "ldmatrix reads a or b"
        raise LayoutError("bad_operand", f"Operand '{letter[:20]}' with {load.ptx}.", f"{which}.", "operand")
    operand = mma.operand(letter)
    if stores and "data" in load.operands:
        bits = load.operands["data"].container_bits
        if operand.container_bits > bits:
            return chain.packed(operand, bits)
    return operand


def place(spec: Json, operand: Operand, major: str) -> Storage:
    """The storage in elements of the operand; elements that share a byte are counted in bytes."""
    bits = max(8, operand.container_bits)
    return storage({**spec, "element_bits": bits} if spec.get("kind") == "canonical" else spec, bits, major)


def chain_facts(given: Json) -> Json:
    """POST /chain."""
    found, told, operand, major = chain_of(given)
    better = chain.advise(operand, major, found.load.instruction.family.name == chain.STORES)
    costs = bank_costs(told)
    return {
        "verdict": "match" if told.match else "mismatch",
        "matched": told.matched,
        "total": told.total,
        "first_mismatch": told.first_mismatch,
        "lane_addresses": told.lane_addresses[0, 0].tolist() if told.lane_addresses.shape[0] == 1 else told.lane_addresses[:, 0].reshape(-1).tolist(),
        "turns": told.lane_addresses.transpose(1, 0, 2).reshape(found.count, -1).tolist(),
        "matrices": [[{"line": int(line), "byte": int(byte)} for line, byte in turn] for turn in found.place[0]],
        "feeds": bool(found.right.all()),
        "notes": list(told.notes) + ([] if found.right.all() or better else [chain.why_not(operand, major)]),
        "instead": [c.load.instruction.ptx for c in better] if not found.right.all() else [],
        "wavefronts": costs[0].wavefronts if costs else None,
        "ways": max((cost.ways for cost in costs), default=None),
        "code": code(found, operand, major) if found.right.all() else "",
    }  # fmt: skip


def bank_costs(told: chain.Outcome) -> list[banks.Cost]:
    """What each turn of the first warp costs in banks; empty where the addresses are not legal."""
    load = told.chain.load.instruction
    count = load.operands["data"].extents["matrix"] * load.address.extents["row"] // 8 if load.address else 0
    kind = banks.ACCESSES.get(f"{load.family.name}.x{count}")
    if kind is None or told.notes:
        return []
    return [banks.cost(kind, told.lane_addresses[0, turn][: kind.lanes].tolist()) for turn in range(told.chain.count)]


def code(found: chain.Chain, operand: Operand, major: str) -> str:
    """The CUDA loop that does it (executed by `lanescope gpu verify`), for rows with a pitch in bytes; a swizzle is a function of the offset."""
    from layouts.render.cuda import function_name, wrapper

    load = found.load.instruction
    stores = load.family.name == chain.STORES
    formula, steps = chain.lane_formula(found), chain.turn_steps(found)
    count = found.load.registers
    name = operand.name
    what = "store" if stores else "load"
    line = {"k": "k", "m": "m", "n": "n"}[found.want.contiguous]
    lines_along = {"a": {"k": "m", "m": "k"}, "b": {"k": "n", "n": "k"}}.get(name, {"n": "m", "m": "n"})[line]
    warps = operand.threads // 32 > 1
    body = [
        f"// {name.upper()} {operand.row_count}×{operand.col_count} {operand.element.name}, {line} contiguous: lines of {lines_along}, `pitch` bytes apart (a multiple of 16).",
        "// `swizzle` turns a byte offset into a byte offset; identity where there is none.",
        "template <class Swizzle>",
        f"__device__ inline void {what}_{name}({'const unsigned' if stores else 'unsigned'} (&r)[{operand.registers}], unsigned tile, unsigned pitch, Swizzle swizzle) {{",
        "  const unsigned lane = threadIdx.x % 32;",
        *(["  const unsigned warp = threadIdx.x / 32 % 4;"] if warps else []),
        f"  const unsigned line = {formula['line']}, byte = {formula['byte']};",
    ]
    if found.count == 1:
        call = f"{function_name(load)}({{}})"
        arguments = ("tile + swizzle(line * pitch + byte), r", "r, tile + swizzle(line * pitch + byte)")[not stores]
        body.append("  " + call.format(arguments) + ";")
    else:
        even = {(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(steps)}
        if len(even) == 1:
            ((dl, db),) = even
            at = (
                f"(line + {dl} * i) * pitch + byte + {db} * i"
                if dl and db
                else f"(line + {dl} * i) * pitch + byte"
                if dl
                else f"line * pitch + byte + {db} * i"
            )
        else:
            body.append(
                f"  constexpr unsigned lines[] = {{{', '.join(str(a) for a, _ in steps)}}}, bytes[] = {{{', '.join(str(b) for _, b in steps)}}};"
            )
            at = "(line + lines[i]) * pitch + byte + bytes[i]"
        part = f"reinterpret_cast<{'const ' if stores else ''}unsigned (&)[{count}]>(r[{count} * i])"
        arguments = f"tile + swizzle({at}), {part}" if stores else f"{part}, tile + swizzle({at})"
        body += ["#pragma unroll", f"  for (int i = 0; i < {found.count}; ++i)", f"    {function_name(load)}({arguments});"]
    return wrapper(load) + "\n" + "\n".join([*body, "}"]) + "\n"


# banks -----------------------------------------------------------------------------------------------------------------------


def bank_facts(given: Json) -> Json:
    """POST /banks."""
    unknown = sorted(set(given) - {"access", "address"})
    if unknown:
        raise LayoutError("bad_field", f"No field '{unknown[0][:40]}'.", "Allowed: access, address.", unknown[0][:40])
    kind = banks.access(str(given.get("access", "")))
    address = given.get("address")
    if not isinstance(address, list) or any(type(at) is not int and at is not None for at in address):
        raise LayoutError(
            "bad_address",
            "address is no list of whole numbers.",
            "Give a byte address a lane: [0, 16, …]; null for an inactive one.",
            "address",
        )
    return cost_facts(banks.cost(kind, address))


def cost_facts(found: banks.Cost) -> Json:
    """A cost as an answer: each phase with its lanes and how many words every bank serves."""
    return {
        "access": found.access.name,
        "wavefronts": found.wavefronts,
        "ideal": found.ideal,
        "ways": found.ways,
        "phases": [
            {"lanes": list(phase.lanes), "wavefronts": phase.wavefronts, "ideal": phase.ideal, "ways": phase.ways, "words": list(phase.words)}
            for phase in found.phases
        ],
    }  # fmt: skip


# Which bytes a warp touches in a tile of rows: the access pattern → line and byte along it of every lane's address.
PATTERNS = {
    "rows": "lane l at line l, byte 0 (ldmatrix down a column of chunks)",
    "ldmatrix": "lanes 0–15 at lines 0–15, lanes 16–31 the next 16 bytes (A of m16n8k16)",
    "along": "lane l at line 0, element l (a row, coalesced)",
    "fragment": "lane l at line l div 4, register l mod 4 (fragment by ld.shared.b32)",
    "columns": "lane l at line l mod 8, chunk l div 8 (8 lines of 64 bytes)",
}


def pattern(name: str, bytes_each: int) -> tuple[Any, Any]:
    """(line, byte along it) of 32 lanes."""
    lane = np.arange(32)
    known = {
        "rows": (lane, 0 * lane),
        "ldmatrix": (lane % 16, lane // 16 * 16),
        "along": (0 * lane, lane * bytes_each),
        "fragment": (lane // 4, lane % 4 * 4),
        "columns": (lane % 8, lane // 8 * 16),
    }
    if name not in known:
        raise LayoutError("bad_pattern", f"No pattern '{name[:40]}'.", f"Allowed: {', '.join(known)}.", "pattern")
    return known[name]


def tile_access(given: Json) -> Json:
    """A pattern on rows of `row_bytes` (plus `pad`) under a swizzle: addresses and cost."""
    kind = banks.access(str(given.get("access") or "ldmatrix.x4"))
    name = str(given.get("pattern") or "ldmatrix")
    row_bytes, pad = number(given.get("row_bytes") or 128, "row_bytes"), number(given.get("pad") or 0, "pad")
    xor = _swizzle(given)
    if not row_bytes or row_bytes > 1 << 16 or pad > 1 << 12:
        raise LayoutError("bad_number", f"row_bytes {row_bytes}, pad {pad}.", "row_bytes from 1 to 65536, pad to 4096.", "row_bytes")
    line, along = pattern(name, kind.bytes)
    address = [int(at) for at in xor(np.asarray(line * (row_bytes + pad) + along, np.int64))][: kind.lanes]
    return {"address": address, "swizzle": str(xor), **cost_facts(banks.cost(kind, address))}


def _swizzle(given: Json) -> Swizzle:
    import re

    text = str(given.get("swizzle") or "none").strip()
    for mode in MODES:
        if mode.name.lower() == text.lower():
            return mode.swizzle()
    match = re.fullmatch(r"(?:Sw|Swizzle)?<?\s*(\d)\s*,\s*(\d{1,2})\s*,\s*(-?\d{1,2})\s*>?", text)
    if not match or int(match[3]) < int(match[1]):
        raise LayoutError(
            "unknown_swizzle", f"No swizzle '{text[:40]}'.", "none, 32B, 64B, 128B, or B,M,S in bytes with S ≥ B: 3,4,3.", "swizzle"
        )
    return Swizzle(*(int(part) for part in match.groups()))


def solve(given: Json) -> Json:
    """The least Swizzle<B, M, S> (in bytes) under which every access of a tile is free of conflicts, or why there is none.

    given: row_bytes, pad, accesses: [{"access", "pattern"}]. Tried: every B to 5, M from 2 to 7, S from B to 7; the least B wins, then
    the largest M, then the smallest S.
    """
    row_bytes, pad = number(given.get("row_bytes") or 128, "row_bytes"), number(given.get("pad") or 0, "pad")
    wanted = given.get("accesses")
    if not isinstance(wanted, list) or not wanted or not all(isinstance(item, dict) for item in wanted):
        raise LayoutError(
            "bad_accesses", "accesses is no list of objects.", "[{'access': 'ldmatrix.x4', 'pattern': 'ldmatrix'}, …]", "accesses"
        )
    kinds = [(banks.access(str(item.get("access", ""))), str(item.get("pattern", "ldmatrix"))) for item in wanted]
    places = [np.asarray(line * (row_bytes + pad) + along, np.int64) for line, along in (pattern(name, kind.bytes) for kind, name in kinds)]
    finest = max(kind.bytes for kind, _ in kinds).bit_length() - 1
    tried = []
    best: tuple[int, Swizzle, list[banks.Cost]] | None = None
    for bits in range(6):
        for base in range(7, 1, -1) if bits else (4,):
            for shift in range(max(bits, 1), 8) if bits else (3,):
                if bits and base < finest:
                    continue  # the XOR would tear a lane's bytes apart
                xor = Swizzle(bits, base, shift)
                costs = [banks.cost(kind, xor(at)[: kind.lanes].tolist()) for (kind, _), at in zip(kinds, places, strict=True)]
                worst = max(cost.ways for cost in costs)
                tried.append(worst)
                if best is None or worst < best[0]:
                    best = (worst, xor, costs)
                if worst == 1:
                    return _solved(
                        xor,
                        kinds,
                        costs,
                        True,
                        f"Swizzle<{bits},{base},{shift}> on byte addresses: the least that frees all {len(kinds)}."
                        if bits
                        else "No swizzle is needed.",
                    )
    assert best
    least, xor, costs = best
    why = f"None of {len(tried)} swizzles frees all of them; the best leaves {least}-way conflicts. "
    alone = [
        min(
            banks.cost(kind, Swizzle(b, m, s)(at)[: kind.lanes].tolist()).ways
            for b in range(6)
            for m in range(max(finest, 2), 8)
            for s in range(max(b, 1), 8)
        )
        for (kind, _), at in zip(kinds, places, strict=True)
    ]
    stuck = [f"{kind.name} {name}" for (kind, name), ways in zip(kinds, alone, strict=True) if ways > 1]
    why += (
        f"Not even alone: {', '.join(stuck)}: an XOR within 128-byte lines cannot part lines that are too few or too alike."
        if stuck
        else "Each could be freed alone, but by different swizzles."
    )
    return _solved(xor, kinds, costs, False, why)


def _solved(xor: Swizzle, kinds: list[tuple[banks.Access, str]], costs: list[banks.Cost], free: bool, why: str) -> Json:
    return {
        "free": free,
        "swizzle": {"bits": xor.bits, "base": xor.base, "shift": xor.shift, "text": str(xor)},
        "mode": next((m.name for m in MODES if m.swizzle() == xor or (not xor.bits and m.chunks == 1)), None),
        "why": why,
        "accesses": [{"access": kind.name, "pattern": name, "wavefronts": cost.wavefronts, "ideal": cost.ideal, "ways": cost.ways} for (kind, name), cost in zip(kinds, costs, strict=True)],
    }  # fmt: skip
