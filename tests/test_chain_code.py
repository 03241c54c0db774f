"""The generated loads and stores, built with a host compiler and run lane by lane: they give exactly the addresses that
were verified.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from lanescope import find
from lanescope.app.hardware import chain_runs
from lanescope.errors import LayoutError
from lanescope.render.chain import render_code
from lanescope.shared import chain, pieces
from lanescope.shared.chain import Chain
from lanescope.shared.operand_storage import make_operand_storage
from tests import cpp
from tests.ptxas import nvrtc
from tests.sample import choose_count

F16, S8, WGMMA = chain_runs.F16, chain_runs.S8, chain_runs.WGMMA
OPERANDS = (
    (F16, "a"),
    (F16, "b"),
    (F16, "d"),
    (S8, "a"),
    (S8, "b"),
    (chain_runs.S4, "a"),
    (chain_runs.TF32, "a"),
    (WGMMA, "a"),
    (WGMMA, "d"),
    ("wgmma.mma_async.m64n24k16.f32.f16.f16", "d"),
    ("mma.m8n8k16.row.col.s32.s8.s8.s32", "b"),
)


FORMS = {
    "offsets[",
    "+ steps[i]",
    " * i",
    "swizzle_",
    ") << ",
    "x >> ",
}  # what the code is made of: a table, steps, a stride, XORs of both directions


def make_storages(rng: random.Random, major: str) -> Iterator[dict[str, Any]]:
    """Storages of every kind: any base, any mode, by address and by tile, sizes that are no powers of two."""
    mode, by = rng.choice(["none", "32B", "64B", "128B"]), rng.choice(["address", "tile"])
    base = rng.choice([0, 0x80, 0x400, 0x1080, 16 * rng.randrange(2048)])
    swizzled = {"swizzle": mode, "swizzle_by": by, "base": base}
    yield {"kind": "rows", "inner": major, "pitch_bytes": 16 * rng.choice([8, 9, 16, 17, 24]), **swizzled}
    yield {
        "kind": "canonical",
        "major": major,
        "mn": 64 * rng.choice([1, 2, 3]),
        "k": 64 * rng.choice([2, 4]),
        "order": rng.choice(["mn", "k"]),
        **swizzled,
    }
    width = 16 * rng.choice([2, 3, 3, 8])
    outer = 8 * width + 16 * rng.randrange(9)
    yield {
        "kind": "atoms",
        "inner": major,
        "width_bytes": width,
        "outer8_stride": outer,
        "inner_stride": 32 * outer,
        "line_stride": width,
        **swizzled,
    }
    unit = rng.choice(["smem_ptr[16b](unset) o ", ""])
    bits, shift = rng.randrange(1, 4), rng.choice([3, 4, 5, -3, -4])
    low = rng.randrange(3, 5) if unit else rng.randrange(3, 5) - 1
    k, mn, gap = 64, 64, rng.choice([0, 8])
    layout = f"({mn},{k}):({k + gap},1)" if major == "K" else f"(({mn // 4},4),{k}):((1,{mn // 4 * (k + 2)}),{mn // 4})"
    yield {"kind": "cute", "layout": f"Sw<{bits},{low},{shift}> o {unit}{layout}", "base": base}


@lru_cache(maxsize=1)
def sample_cases() -> list[Chain]:
    """Some of what the device runs, and storages at random until every kind was met."""
    rng = random.Random(20261121)
    out = [case.chain for case in chain_runs.generate_cases()][:: choose_count(2, 6)]
    kinds: set[tuple[str, str, int]] = set()
    while len(out) < choose_count(320, 70) or len(kinds) < 14:
        text, letter = rng.choice(OPERANDS)
        operand, major = pieces.convert_for_memory(find(text).operand(letter)), rng.choice(["K", "MN"])
        for spec in make_storages(rng, major):
            try:
                fits = chain.list_best_chains(operand, make_operand_storage(spec, operand, major), letter == "d")
            except LayoutError:
                continue  # too small for the operand, or a canonical tile that does not exist
            out += fits[:1]
            kinds |= {(spec["kind"], str(spec.get("swizzle_by")), spec["base"] % 1024 != 0) for _ in fits[:1]}
    texts = [render_code(found) for found in out]
    assert {part for part in FORMS if any(part in text for text in texts)} == FORMS
    assert (
        len(kinds) == 14
    )  # rows, canonical and atoms by address and by tile, cute; on the pattern's boundary and off it
    return out


def render_driver(number: int, found: Chain) -> str:
    """A function that runs the generated one in every thread; the instruction itself writes down the address it is
    given.
    """
    operand, base = found.want.operand, found.where.placed.base  # type: ignore[union-attr]
    body, count = re.subn(r"asm volatile\(.*?\);", "told(p);", render_code(found), flags=re.S)
    assert count == 1
    function = f"{'store' if found.store else 'load'}_{operand.name}"
    return (
        f"namespace n{number} {{\n{body}\nvoid all() {{\n  for (unsigned t = 0; t < {operand.threads}; ++t) {{\n   "
        f" unsigned r[{operand.registers}] = {{}};\n    threadIdx.x = t;\n    {function}(r, {base}u);\n  }}\n}}\n}}\n"
    )


@pytest.mark.thorough
@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
def test_the_code_gives_the_addresses_that_were_verified() -> None:
    cases = sample_cases()
    parts = [render_driver(number, found) for number, found in enumerate(cases)]
    calls = "".join(f"  n{number}::all();\n" for number in range(len(cases)))
    told = "static void told(unsigned address) { fwrite(&address, 4, 1, stdout); }\n"
    raw = np.frombuffer(
        cpp.build_and_run("".join([cpp.DEVICE, told, *parts, f"int main() {{\n{calls}}}"])), np.uint32
    ).astype(np.int64)
    for found in cases:
        warps, turns, lanes = found.lane_addresses.shape
        size = warps * turns * lanes
        mine, raw = raw[:size].reshape(warps, lanes, turns).swapaxes(1, 2), raw[size:]
        given = found.lane_addresses >= 0
        assert np.array_equal(mine[given], found.lane_addresses[given]), (
            found.where.text,
            found.where.placed,
            render_code(found),
        )
    assert not raw.size


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_code_compiles() -> None:
    parts = []
    for number, found in enumerate(sample_cases()[::7]):
        operand, what = found.want.operand, "store" if found.store else "load"
        call = f"unsigned r[{operand.registers}] = {{}}; {what}_{operand.name}(r, 64u); p[threadIdx.x] = r[0];"
        parts.append(f"namespace n{number} {{\n{render_code(found)}\n__global__ void k(unsigned* p) {{ {call} }}\n}}")
    assert nvrtc.compile_ptx("\n".join(parts), "sm_100a")[1] == ""


def test_a_swizzle_by_address_is_of_the_address_and_one_by_tile_of_the_offset() -> None:
    """Rows of 128 bytes swizzled 128B from 0x1080, off the pattern's boundary: the two differ in every lane, in both
    cases as verified.
    """
    operand = find(F16).operand("a")
    rows: dict[str, Any] = {"kind": "rows", "pitch_bytes": 128, "swizzle": "128B", "base": 0x1080}
    by_address, by_tile = (
        chain.make_chain(
            find("ldmatrix.m8n8.x4.shared.b16"),
            operand,
            make_operand_storage(rows | {"swizzle_by": by}, operand, "K"),
        )
        for by in ("address", "tile")
    )
    assert "swizzle_a(tile + offset)" in render_code(by_address) and "tile + swizzle_a(offset)" in render_code(by_tile)
    assert (by_address.lane_addresses != by_tile.lane_addresses).all()
    offset = np.arange(32) % 16 * 128 + np.arange(32) // 16 * 16
    assert by_address.lane_addresses[0, 0].tolist() == [x ^ (x >> 3 & 0x70) for x in (0x1080 + offset).tolist()]
