"""The truth of each kind of question, from sources that the answering tools do not use: PTX's pages as transcribed in
tests/oracle, pycute, and the rules below, computed element by element. Nothing here imports lanescope.

Sources: PTX ISA 9.1, 9.7.15.5.1.2 (matrix descriptors: fields, core matrices, LBO and SBO), 9.7.16.4.2 (instruction
descriptors), CUDA C++ Programming Guide, 10.29 (swizzle modes of TMA); CuTe's Swizzle<B, M, S>.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pycute

from tests.oracle import cutlass, movement, ptx, tcgen05, tensor

Json = dict[str, Any]
Places = dict[tuple[int, int], int]
WIDTHS = {"none": 16, "32B": 32, "64B": 64, "128B": 128}  # bytes of a line of the atom
CODES = {"none": 0, "128B": 1, "64B": 2, "32B": 3}  # bits 62 and 63 of wgmma's descriptor
XORED = {"none": 0, "32B": 1, "64B": 2, "128B": 3}  # bits from 7 up that are XORed into the bits from 4 up
BITS = {"f64": 64, "tf32": 32, "f16": 16, "bf16": 16, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1}


def swizzle(address: int, mode: str) -> int:
    """XOR the bits above bit 7 of an address into those above bit 4."""
    return address ^ ((address >> 7 & (1 << XORED[mode]) - 1) << 4)


# fragments ------------------------------------------------------------------------------------------------------------


def find_fragment(text: str, operand: str) -> tuple[Callable[[int, int], tuple[int, ...]], int, int]:
    """Return PTX's fragment of an operand, its threads and the values of each."""
    words = text.split(".")
    if text.startswith(("ldmatrix", "stmatrix")):
        count = next(int(word[1:]) for word in words if re.fullmatch(r"x\d", word))
        return movement.data("m8n8", "trans" in words), 32, 2 * count
    shape = next(word for word in words if re.fullmatch(r"m\d+n\d+k\d+", word))
    m, n, k = (int(size) for size in re.findall(r"\d+", shape))
    types = words[words.index(shape) + 1 :]
    if text.startswith("wgmma"):
        bits = BITS[types[1]]
        return (ptx.wgmma_a(bits), 128, m * k // 128) if operand == "a" else (ptx.wgmma_d, 128, m * n // 128)
    types = [word for word in types if word in BITS or word in ("f32", "s32")]
    bits = BITS[types[1]]
    rows, cols = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}[operand]
    return ptx.mma(shape, bits, operand, ("row", "col"), types[0]), 32, rows * cols // 32


def find_holders(asks: Json) -> Json:
    fragment, threads, values = find_fragment(asks["instruction"], asks["operand"])
    wanted = tuple(asks[name] for name in ("matrix", "row", "col") if name in asks)
    pairs = ((thread, value) for thread in range(threads) for value in range(values))
    return {"holders": [[thread, value] for thread, value in pairs if fragment(thread, value) == wanted]}


def find_element(asks: Json) -> Json:
    fragment = find_fragment(asks["instruction"], asks["operand"])[0]
    place = fragment(asks["thread"], asks["value"])
    return dict(zip(("matrix", "row", "col")[-len(place) :], place, strict=True))


def find_tv_element(asks: Json) -> Json:
    """The element of a CuTe thread-value layout: pycute's index, rows first."""
    shape, stride = (parse_tuple(part) for part in asks["layout"].split(":"))
    index = pycute.Layout(shape, stride)(asks["thread"], asks["value"])
    return {"row": index % asks["tile"][0], "col": index // asks["tile"][0]}


def parse_tuple(text: str) -> Any:
    """((4,8),2) as Python's tuples."""
    import ast

    return ast.literal_eval(text)


# words ----------------------------------------------------------------------------------------------------------------


def encode_word(asks: Json) -> Json:
    word = (asks["start_address"] & 0x3FFFF) >> 4
    word |= (asks["lbo_bytes"] >> 4) << 16 | (asks["sbo_bytes"] >> 4) << 32
    word |= asks["base_offset"] << 49 | CODES[asks["swizzle"]] << 62
    return {"descriptor": f"0x{word:016x}"}


def encode_idesc(asks: Json) -> Json:
    """The 32 bits of Tables 42 to 46, field by field."""
    word, given = 0, {"k": "64", "scale_type": "ue8m0"} | asks
    for low, _, name, codes in tcgen05.FIELDS[asks["mma_kind"]]:
        name = {"transpose_a": "major_a", "transpose_b": "major_b"}.get(name, name)
        value = given.get(name)
        if value is not None and name != "reserved":
            code = value >> codes if isinstance(codes, int) else {text: one for one, text in codes.items()}[value]
            word |= code << low
    return {"word": f"0x{word:08x}"}


def list_stored(storage: Json, rows: int, depth: int, size: int) -> Places:
    """Where each element (mn, k) of the slice at (0, 0) is stored: panels of `width_bytes`, then the XOR."""
    places = {}
    for mn in range(rows):
        for k in range(depth):
            line, inner = (mn, k) if storage["inner"] == "K" else (k, mn)
            byte, width = inner * size, storage["width_bytes"]
            at = line // 8 * storage["outer8_stride"] + line % 8 * width + byte // width * storage["inner_stride"]
            places[mn, k] = swizzle(storage["base"] + at + byte % width, storage["swizzle"])
    return places


def list_read(word: int, major: str, rows: int, depth: int, size: int) -> Places:
    """Where wgmma reads each element through a descriptor: core matrices of 8 lines, LBO and SBO by the major."""
    start, lbo, sbo = (word & 0x3FFF) << 4, (word >> 16 & 0x3FFF) << 4, (word >> 32 & 0x3FFF) << 4
    mode = {code: name for name, code in CODES.items()}[word >> 62]
    width, places = WIDTHS[mode], {}
    for mn in range(rows):
        for k in range(depth):
            line, byte = (mn, k * size) if major == "K" else (k, mn * size)
            across, along = (lbo, sbo) if mode != "none" or major == "K" else (sbo, lbo)
            at = line // 8 * along + line % 8 * width + byte // width * across + byte % width
            places[mn, k] = swizzle(start + at, mode)
    return places


def measure_operand(asks: Json) -> tuple[int, int, int]:
    """Rows, depth and bytes of an element of an operand of wgmma."""
    words = asks["instruction"].split(".")
    m, n, k = (int(size) for size in re.findall(r"\d+", next(w for w in words if re.fullmatch(r"m\d+n\d+k\d+", w))))
    return (m if asks["operand"] == "a" else n), k, BITS[words[-1]] // 8


def reads_tile(word: int, asks: Json) -> bool:
    """Whether a word reads every element from where it is stored."""
    rows, depth, size = measure_operand(asks)
    return list_read(word, asks["major"], rows, depth, size) == list_stored(asks["storage"], rows, depth, size)


def judge_repair(asks: Json, answer: Json) -> bool:
    """Whether verdict and repaired word are right: any word that reads the tile is."""
    if answer.get("verdict") != ("match" if reads_tile(int(asks["descriptor"], 16), asks) else "mismatch"):
        return False
    return reads_tile(parse_word(answer.get("descriptor")), asks)


def judge_tile(asks: Json, answer: Json) -> bool:
    """Whether a word reads the slice of a canonical tile that begins at a k."""
    return reads_tile(parse_word(answer.get("descriptor")), asks)


def parse_word(given: object) -> int:
    return int(given, 16) if isinstance(given, str) and re.fullmatch(r"0x[0-9a-fA-F]{1,16}", given) else 0


# tensor memory --------------------------------------------------------------------------------------------------------


def find_in_tensor(asks: Json) -> Json:
    """Lane and column of an element of D with 32 bits."""
    form = "ws" if asks["ws"] else f"cta_group::{asks['cta_group']}"
    organization = tensor.layout(asks["m"], form, False)[1]
    lane, column = tensor.of_d(organization, asks["n"], asks["row"], asks["col"])
    return {"lane": int(lane), "column": int(column)}


def find_tensor_element(asks: Json) -> Json:
    """The element of D at a lane and a column: the only one whose place that is."""
    rows = {256: 128, 128: 128 if asks["cta_group"] == 1 else 64}.get(asks["m"], asks["m"])
    for row in range(rows):
        for col in range(asks["n"]):
            if find_in_tensor(asks | {"row": row, "col": col}) == {"lane": asks["lane"], "column": asks["column"]}:
                return {"row": row, "col": col}
    raise ValueError("no element")


def find_moved(asks: Json) -> Json:
    shape = asks["instruction"].split(".")[4]
    lane, column = tensor.moved(shape, asks["thread"], asks["register"], 0)
    return {"lane": int(lane), "column": int(column)}


# conversions and banks ------------------------------------------------------------------------------------------------


def map_blocked(layout: Json, shape: Sequence[int]) -> dict[tuple[int, int], tuple[int, int]]:
    """(thread, register) → element of Triton's blocked layout over a tensor no smaller than it, by its definition:
    registers, lanes and warps count along `order`, the fastest dimension first; repetitions follow in the same order.
    """
    per, lanes, warps, order = (layout[name] for name in ("size_per_thread", "threads_per_warp", "warps", "order"))
    tile = [per[d] * lanes[d] * warps[d] for d in (0, 1)]
    times = [shape[d] // tile[d] for d in (0, 1)]
    fast, slow = order
    out = {}
    for thread in range(32 * warps[0] * warps[1]):
        warp, lane = divmod(thread, 32)
        at = {fast: lane % lanes[fast], slow: lane // lanes[fast]}
        of = {fast: warp % warps[fast], slow: warp // warps[fast]}
        for register in range(per[0] * per[1] * times[0] * times[1]):
            repeat, inside = divmod(register, per[0] * per[1])
            step = {fast: repeat % times[fast], slow: repeat // times[fast]}
            part = {fast: inside % per[fast], slow: inside // per[fast]}
            place = [step[d] * tile[d] + of[d] * per[d] * lanes[d] + at[d] * per[d] + part[d] for d in (0, 1)]
            out[thread, register] = (place[0], place[1])
    return out


def count_moves(asks: Json) -> Json:
    """Of the destination's registers, how many find their element in the same thread, and in the same warp."""
    source, target = (map_blocked(asks[name], asks["shape"]) for name in ("source", "target"))
    held = {element: thread for (thread, _), element in source.items()}
    threads = [(thread, held[element]) for (thread, _), element in target.items()]
    return {
        "in_thread": sum(to == of for to, of in threads),
        "in_warp": sum(to // 32 == of // 32 for to, of in threads),
    }


LANES = {"ld.shared.b32": 32, "st.shared.b32": 32, "ldmatrix.x1": 8, "ldmatrix.x2": 8, "ldmatrix.x4": 8}  # at once
BYTES = {"ld.shared.b32": 4, "st.shared.b32": 4, "ldmatrix.x1": 16, "ldmatrix.x2": 16, "ldmatrix.x4": 16}


def count_wavefronts(access: str, addresses: Sequence[int]) -> int:
    """The largest number of different words of one bank, for each group of lanes that is served at once."""
    used = {"ldmatrix.x1": 8, "ldmatrix.x2": 16}.get(access, 32)
    total = 0
    for first in range(0, used, LANES[access]):
        words = {
            byte // 4
            for address in addresses[first : first + LANES[access]]
            for byte in range(address, address + BYTES[access], 4)
        }
        banks = np.bincount([word % 32 for word in words], minlength=32)
        total += int(banks.max())
    return total


def judge_swizzle(asks: Json, answer: Json) -> bool:
    """Whether Swizzle<B, M, S> frees the access of conflicts: every group of lanes is served by one wavefront."""
    try:
        bits, base, shift = (int(answer[name]) for name in ("bits", "base", "shift"))
    except (KeyError, TypeError, ValueError):
        return False
    mask = (1 << bits) - 1
    moved = [address ^ ((address >> base + shift & mask) << base) for address in asks["address"]]
    groups = {"ldmatrix.x1": 1, "ldmatrix.x2": 2, "ldmatrix.x4": 4}.get(asks["access"], 1)
    return count_wavefronts(asks["access"], moved) == groups


# all kinds ------------------------------------------------------------------------------------------------------------

TRUTHS: Mapping[str, Callable[[Json], Json]] = {
    "element": find_holders,
    "value": find_element,
    "tv": find_tv_element,
    "descriptor": encode_word,
    "idesc": encode_idesc,
    "tensor_element": find_in_tensor,
    "tensor_place": find_tensor_element,
    "tensor_load": find_moved,
    "convert": count_moves,
    "banks": lambda asks: {"wavefronts": count_wavefronts(asks["access"], asks["address"])},
}
# Kinds with several right answers: a word, a repair, a swizzle. Their truth is that it works.
JUDGES: Mapping[str, Callable[[Json, Json], bool]] = {
    "tile": judge_tile,
    "repair": judge_repair,
    "swizzle": judge_swizzle,
}


def is_right(question: Json, answer: object) -> bool:
    """Return whether an answer is right: every field of the truth, or what a judge of its kind executes."""
    asks = question["asks"]
    if not isinstance(answer, dict):
        return False
    if judge := JUDGES.get(asks["kind"]):
        return judge(asks, answer)
    return all(answer.get(name) == value for name, value in question["answer"].items())


def find_wgmma_d(n: int) -> Any:
    """CUTLASS's accumulator layout by pycute: [thread, value] → row + 64 · column. A second source of wgmma's D."""
    return cutlass.indices(cutlass.wgmma_d(n), 128, n // 2)
