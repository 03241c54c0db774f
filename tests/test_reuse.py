"""An accumulator as the next A: every element's true holder, orders of K proved to exist or not, and the code, executed
on this machine.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import numpy as np
import pytest
from numpy.typing import NDArray

from lanescope import find
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, codec
from lanescope.ptx.fragment_words import pack_values
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render.reuse import find_conversion, render_code
from lanescope.tiles.reuse import AccumulatorReuse, match_accumulator
from tests import cpp
from tests.cases import for_each
from tests.ptxas import nvrtc
from tests.sample import FULL, take_sample

M16 = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
FP8 = "wgmma.mma_async.m64n{}k32.f32.e4m3.e4m3"
Values = NDArray[np.float64]


def list_distinct_operands(name: str) -> dict[tuple[object, ...], Instruction]:
    """One instruction for every different D or A: map, type and container."""
    out: dict[tuple[object, ...], Instruction] = {}
    for i in catalog.instructions():
        if (op := i.operands.get(name)) is not None:
            out.setdefault((op.pattern, op.element.name, op.container_bits, op.axes, bool(op.sparsity)), i)
    return out


@lru_cache(maxsize=1)
def list_pairs() -> list[tuple[Instruction, Instruction, AccumulatorReuse]]:
    """Every D that can meet every A, each kind of map and type once."""
    out = []
    seconds = list_distinct_operands("a").values()
    for first in list_distinct_operands("d").values():
        for second in seconds:
            try:
                out.append((first, second, match_accumulator(first, second)))
            except LayoutError as error:
                assert error.code == "no_reuse"
    return out


def find_holders(op: Operand) -> list[frozenset[tuple[int, ...]]]:
    """For each column who holds it: (row, lane), and of which product."""
    out: list[set[tuple[int, ...]]] = [set() for _ in range(op.col_count)]
    third = op.coords[op.axes[2]] if len(op.axes) == 3 else 0 * op.rows
    for lane, (rows, cols, products) in enumerate(zip(op.rows.tolist(), op.cols.tolist(), third.tolist(), strict=True)):
        for row, col, which in zip(rows, cols, products, strict=True):
            out[col].add((row, lane, which))
    return [frozenset(column) for column in out]


@pytest.mark.thorough
def test_every_order_of_k_is_right_and_where_none_is_said_none_exists() -> None:
    """By the owners alone: an order is a permutation that leaves every element in its lanes; none exists where the
    columns' holders differ in number.
    """
    pairs = list_pairs()
    assert len(pairs) > 800 and Counter(found.verdict for *_, found in pairs)["shuffle"] > 10
    numbers: dict[object, int] = {}
    kinds_of: dict[object, list[int]] = {}
    for first, second, found in pairs:
        for op in (found.target, found.source):
            if op.pattern not in kinds_of:
                kinds_of[op.pattern] = [numbers.setdefault(kind, len(numbers)) for kind in find_holders(op)]
        wants, has = kinds_of[found.target.pattern], kinds_of[found.source.pattern]
        columns = found.steps * found.target.col_count
        assert columns == found.tiles * found.source.col_count
        wanted, given = ([kinds[at % len(kinds)] for at in range(columns)] for kinds in (wants, has))
        if found.order is None:
            assert Counter(wanted) != Counter(given), (first.ptx, second.ptx)
        else:
            assert sorted(found.order) == list(range(columns))
            assert all(wanted[at] == given[to] for at, to in enumerate(found.order)), (first.ptx, second.ptx)


@pytest.mark.thorough
def test_every_element_is_where_it_is_said_to_be() -> None:
    for _, _, found in list_pairs()[::51]:
        for step in range(found.steps):
            for t in range(0, found.target.threads, 7):
                for v in range(found.target.values):
                    tile, inside = divmod(
                        step * found.target.col_count + int(found.target.cols[t, v]), found.source.col_count
                    )
                    third = [int(found.target.coords[axis][t, v]) for axis in found.target.axes[2:]]
                    assert (found.lane[step, t, v], found.value[step, t, v]) in found.source.owner(
                        int(found.target.rows[t, v]), inside, *third
                    )
                    assert found.tile[step, t, v] == tile


@for_each("n", [8, 16, 24, 32, 64, 72, 96, 128, 184, 256])
def test_fp8_wgmma_needs_no_shuffle_at_any_n(n: int) -> None:
    found = match_accumulator(find(FP8.format(n)), find(FP8.format(n)))
    assert found.verdict == "reordered" and found.order
    assert found.order[:16] == (0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15) and found.period == 16
    for step in range(found.steps):  # 32 columns of D make each K step, and no step needs another's
        assert sorted(found.order[32 * step : 32 * step + 32]) == list(range(32 * step, 32 * step + 32))


@for_each(
    ("n", "verdict", "steps", "tiles"),
    [(8, "registers", 1, 2), (24, "registers", 3, 2), (64, "registers", 4, 1), (256, "registers", 16, 1)],
)
def test_k_steps_of_a_wide_accumulator(n: int, verdict: str, steps: int, tiles: int) -> None:
    text = f"wgmma.mma_async.m64n{n}k16.f32.f16.f16"
    found = match_accumulator(find(text), find(text))
    assert (found.verdict, found.steps, found.tiles) == (verdict, steps, tiles)


@for_each(
    ("first", "second", "says"),
    [
        (M16, "mma.sp::ordered_metadata.m16n8k16.row.col.f32.f16.f16.f32", "stored compressed"),
        (M16, "wgmma.mma_async.m64n8k16.f32.f16.f16", "D belongs to 32 threads"),
        ("mma.m8n8k16.row.col.s32.s8.s8.s32", "mma.m16n8k32.row.col.s32.s8.s8.s32", "D has 8 rows, A has 16"),
        ("movmatrix.m8n8.trans.b16", "mma.m8n8k16.row.col.s32.s8.s8.s32", "has no product"),
        ("mma.m8n8k4.row.col.f32.f16.f16.f32", "mma.m8n8k16.row.col.s32.s8.s8.s32", "four products"),
        (
            "wgmma.mma_async.m64n248k16.f32.f16.f16",
            "wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc",
            "With K = 256, use N = 8, 16, 24, 32, 48, 64, 96, 128, 192, 256",
        ),
    ],
)
def test_what_cannot_meet_says_why(first: str, second: str, says: str) -> None:
    with pytest.raises(LayoutError, match=says):
        match_accumulator(find(first), find(second))


# conversions ----------------------------------------------------------------------------------------------------------


def convert_values(values: Values, source: str, target: str) -> NDArray[np.uint64]:
    """The codes of A's type: nearest even, narrow floats and integers saturating; tf32 ties away from zero."""
    if source == "f32" or target == "tf32":
        values = values.astype(np.float32).astype(np.float64)
    if target in ("f16", "f64"):
        with np.errstate(over="ignore"):  # beyond f16: infinity
            return codec.encode_values(values, target)
    if target in ("bf16", "tf32"):
        word = values.astype(np.float32).view(np.uint32).astype(np.uint64)
        if target == "tf32":
            return (word + np.uint64(0x1000)) & np.uint64(0xFFFFE000) if source != "f16" else word
        return (word + np.uint64(0x7FFF) + (word >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)
    if target == "b1":
        return (values != 0).astype(np.uint64)
    if target in ("s8", "u8", "s4", "u4"):
        bits = int(target[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if target[0] == "s" else (0, (1 << bits) - 1)
        return codec.encode_values(np.clip(np.rint(values), low, high), target)
    bits = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}[target]
    codes = np.arange(1 << bits, dtype=np.uint64)
    known = codec.decode_bits(codes, target)
    finite = (known == known) & (
        np.abs(known) <= {"e4m3": 448, "e5m2": 57344, "e3m2": 28, "e2m3": 7.5, "e2m1": 6}[target]
    )
    codes, known = codes[finite], known[finite]
    apart = np.abs(values.ravel()[:, None] - known)
    best = apart == apart.min(axis=1, keepdims=True)
    sign = (codes >> np.uint64(bits - 1) == 1) == np.signbit(values.ravel())[
        :, None
    ]  # of both zeros the one with the value's sign
    even = (codes & np.uint64(1) == 0)[None, :]
    rank = best * 4 + (best & sign) * 2 + (best & even)
    return codes[rank.argmax(axis=1)].reshape(values.shape)


@lru_cache(maxsize=1)
def sample_reuses() -> list[tuple[Instruction, Instruction, AccumulatorReuse]]:
    """Every pair of types in every container, with every verdict it has, and several K steps."""
    chosen = {}
    for first, second, found in list_pairs():
        key = (
            found.source.element.name,
            found.target.element.name,
            found.target.container_bits,
            found.verdict,
            min(found.steps, 2),
        )
        if found.steps <= 8:
            chosen.setdefault(key, (first, second, found))
    return [*chosen.values(), *((i, i, match_accumulator(i, i)) for i in (find(FP8.format(n)) for n in (64, 128)))]


def make_values(kind: str, size: tuple[int, ...]) -> Values:
    """Values of an accumulator's type: around every rounding step of the narrow types, and far beyond their ranges."""
    rng = np.random.default_rng(7)
    small, wide = rng.integers(-256, 257, size) / 16, rng.normal(0, 300, size)
    mixed = np.where(rng.random(size) < 0.6, small, wide)
    if kind == "s32":
        return (
            np.where(rng.random(size) < 0.1, rng.integers(-70000, 70000, size), np.rint(mixed)) + 0.0
        )  # an integer has no -0
    return mixed.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind]).astype(np.float64)


def pack_registers(op: Operand, values: Values) -> NDArray[np.generic]:
    """What an mma leaves in D's registers, [tile, thread, entry]."""
    kind = op.element.name
    if kind == "f16":
        return pack_values(op, codec.encode_values(values, "f16"))
    return values.astype({"f32": np.float32, "f64": np.float64, "s32": np.int32}[kind])


def describe_registers(found: AccumulatorReuse) -> tuple[str, int, str, str]:
    """(type and count of a thread's entries of D, type and dimensions of its registers of A)."""
    source, target = found.source, found.target
    packed = source.element.bits < 32
    kind = "unsigned" if packed else {"f32": "float", "f64": "double", "s32": "int"}[source.element.name]
    shape = (f"[{found.steps}]" if found.steps > 1 else "") + f"[{target.registers}]"
    entries = source.registers if packed else source.values
    return kind, entries, "double" if target.register_bits == 64 else "unsigned", shape


def render_driver(number: int, found: AccumulatorReuse) -> str:
    """A C++ function that runs the generated one in every lane of one warp after the other and writes A's registers."""
    source, (kind, entries, out, shape) = found.source, describe_registers(found)
    return f"""
namespace n{number} {{
void all() {{
  static {kind} d[{source.threads}][{found.tiles}][{entries}];
  static {out} a[{source.threads}]{shape};
  if (fread(d, sizeof(d), 1, stdin) != 1) abort();
  for (int warp = 0; warp < {source.threads // 32}; ++warp) {{
    auto one = [&](unsigned lane) {{
      threadIdx.x = 32 * warp + lane;
      d_to_a(a[32 * warp + lane], d[32 * warp + lane]);
    }};
    if ({int(found.verdict == "shuffle")}) together(one);
    else for (unsigned lane = 0; lane < 32; ++lane) one(lane);
  }}
  fwrite(a, sizeof(a), 1, stdout);
}}
}}"""


@pytest.mark.thorough
@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
@pytest.mark.skipif(nvrtc.find_headers() is None, reason="no cuda_fp16.h: make test installs nvidia-cuda-runtime")
def test_the_code_makes_every_register_of_a() -> None:
    """Executed with CUDA's own host conversions: each element of A is D's, converted, in its place, for every pair of
    types, of which some are asked.
    """
    every = sample_reuses()
    assert len(every) > 60
    cases = take_sample(every, 4)
    parts, given, expected = [], [], []
    headers: list[str] = []
    for number, (_, _, found) in enumerate(cases):
        text = cpp.convert_to_host(render_code(found))
        headers += re.findall(r"#include <.*>", text)
        parts += [f"namespace n{number} {{\n{re.sub(r'#include <.*>', '', text)}}}", render_driver(number, found)]
        source, target = found.source, found.target
        matrix = make_values(source.element.name, (*source.extents.values(), found.tiles))
        held = np.stack(
            [matrix[(*(source.coords[axis] for axis in source.axes), tile)] for tile in range(found.tiles)]
        )  # [tile, thread, value]
        given.append(np.swapaxes(pack_registers(source, held), 0, 1).tobytes())
        order = np.array(found.order if found.verdict == "reordered" else range(found.steps * target.col_count))
        columns = order[np.arange(found.steps)[:, None, None] * target.col_count + target.cols]
        tile, inside = np.divmod(columns, source.col_count)
        wanted = matrix[(target.rows, inside, *(target.coords[axis] for axis in target.axes[2:]), tile)]
        bits = convert_values(wanted, source.element.name, target.element.name)
        expected.append(np.swapaxes(pack_values(target, bits), 0, 1))
    calls = "".join(f"  n{number}::all();\n" for number in range(len(cases)))
    program = "\n".join([cpp.DEVICE, *dict.fromkeys(headers), cpp.INTRINSICS, *parts, f"int main() {{\n{calls}}}"])
    told = cpp.build_and_run(program, b"".join(given), nvrtc.find_headers())
    for (first, second, _), want in zip(cases, expected, strict=True):
        got, told = np.frombuffer(told[: want.nbytes], want.dtype).reshape(want.shape), told[want.nbytes :]
        assert np.array_equal(got, want), (first.ptx, second.ptx, np.argwhere(got != want)[:3])
    assert not told


@pytest.mark.skipif(
    nvrtc.find_library() is None or nvrtc.find_headers() is None, reason="no NVRTC: make test installs it"
)
def test_the_code_compiles() -> None:
    """A part: all of them run on the host in a full run."""
    parts, headers = [], []
    for number, (_, _, found) in enumerate(sample_reuses()[:: 3 if FULL else 7]):
        text = render_code(found)
        headers += re.findall(r"#include <.*>", text)
        kind, entries, out, shape = describe_registers(found)
        kernel = (
            f'extern "C" __global__ void k{number}({out} (*a){shape}, {kind} (*d)[{found.tiles}][{entries}]) {{'
            f" n{number}::d_to_a(*a, *d); }}"
        )
        parts.append(f"namespace n{number} {{\n{re.sub(r'#include <.*>', '', text)}}}\n{kernel}")
    made, log = nvrtc.compile_ptx("\n".join([*dict.fromkeys(headers), *parts]), "sm_90a", nvrtc.find_headers())
    assert made, log[:2000]
    assert "cvt.rn.satfinite.e4m3x2.f32" in made and "cvt.rna.tf32.f32" in made and "shfl.sync" in made


def test_narrow_floats_are_cuda_s_own_conversions() -> None:
    def text(target: str) -> str:
        return find_conversion("f32", find(target).operand("a")).body

    assert "__nv_cvt_float2_to_fp4x2" in text("mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0")
    assert "__nv_cvt_float2_to_fp6x2" in text("mma.m16n8k32.row.col.kind::f8f6f4.f32.e3m2.e4m3.f32")
    packed = text("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e4m3.f32")
    assert "(p & 0xFu) << 2" in packed
    assert (
        "no conversion to one bit"
        in find_conversion("f32", find("mma.m16n8k128.row.col.s32.b1.b1.s32.xor.popc").operand("a")).note
    )
