"""Layouts of Triton and Gluon, basis by basis, against Triton's own wheel, which runs in another process."""

from __future__ import annotations

import random
from math import prod
from typing import Any

import numpy as np
import pytest

from lanescope.cute.text import parse_cute_layout
from lanescope.errors import LayoutError
from lanescope.reader.compiler_output.ttgir import parse_module
from lanescope.tiles.tv import tv
from lanescope.triton import make_linear_layout as linear_of
from lanescope.triton.gluon import triton_layout
from lanescope.triton.linear import linear_from_cute
from tests.client import share_client
from tests.oracle.triton import Case, answers

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
MMA = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"


class LayoutCases:
    """Legal layouts by chance, the same in every run."""

    def __init__(self) -> None:
        self.random = random.Random(15)

    def split(self, total: int, rank: int) -> list[int]:
        out = [1] * rank
        while total > 1:
            out[self.random.randrange(rank)] *= 2
            total //= 2
        return out

    def order(self, rank: int) -> list[int]:
        return self.random.sample(range(rank), rank)

    def shape(self, rank: int, least: int, most: int) -> tuple[int, ...]:
        return tuple(2 ** self.random.randrange(least.bit_length() - 1, most.bit_length()) for _ in range(rank))

    def blocked(self, rank: int) -> dict[str, Any]:
        pick = self.random
        made = {
            "sizePerThread": self.split(pick.choice((1, 2, 4, 8)), rank),
            "threadsPerWarp": self.split(32, rank),
            "warpsPerCTA": self.split(pick.choice((1, 4, 8)), rank),
            "order": self.order(rank),
        }
        cga = [[0] * (rank - 1) + [1], [1] + [0] * (rank - 1)][: pick.choice((0, 0, 1, 2 if rank > 1 else 1))]
        return made | ({"CGALayout": cga} if cga else {})

    def mma(self, rank: int) -> dict[str, Any]:
        pick = self.random
        if rank == 3 or pick.random() < 0.6:
            shape = [1] * (rank - 2) + [16, 8]
            return {"versionMajor": 2, "warpsPerCTA": self.split(pick.choice((1, 4, 8)), rank), "instrShape": shape}
        wide = [16, pick.choice((8, 16, 32, 64, 128, 256)), 16]
        return {"versionMajor": 3, "warpsPerCTA": pick.choice(([4, 1], [8, 1], [4, 2])), "instrShape": wide}

    def of(self, kind: str) -> Case:
        pick = self.random
        rank = pick.choice((2, 2, 3))
        if kind == "blocked":
            rank = pick.choice((1, 2, 2, 3))
            return kind, self.blocked(rank), self.shape(rank, 2, 128)
        if kind == "nvidia_mma":
            return kind, self.mma(rank), self.shape(rank, 4, 128)
        if kind == "dot_op of blocked":
            parent = {"attribute": "blocked", "params": self.blocked(2)}
            return "dot_op", {"opIdx": pick.randrange(2), "parent": parent}, self.shape(2, 4, 64)
        if kind == "dot_op of nvidia_mma":
            params = self.mma(rank)
            operand = 0 if params["versionMajor"] == 3 else pick.randrange(2)
            given = {
                "opIdx": operand,
                "kWidth": pick.choice((1, 2, 4, 8)),
                "parent": {"attribute": "nvidia_mma", "params": params},
            }
            return "dot_op", given, self.shape(rank, 16, 128)
        if kind == "slice":
            name = pick.choice(("blocked", "nvidia_mma"))
            params = self.blocked(2) if name == "blocked" else self.mma(2)
            return (
                kind,
                {"dim": pick.randrange(2), "parent": {"attribute": name, "params": params}},
                self.shape(1, 1, 256),
            )
        if kind == "linear":
            return self.linear()
        if kind == "swizzled_shared":
            rank = pick.choice((1, 2, 2, 3))
            vec, per, phases = pick.choice((1, 2, 4, 8)), pick.choice((1, 2, 4)), pick.choice((1, 2, 4, 8))
            given = {"vec": vec, "perPhase": per, "maxPhase": phases, "order": self.order(rank)}
            return kind, given, self.shape(rank, 8, 128)
        if kind == "tensor memory":
            return self.tensor()
        if kind == "nvmma_shared, unfolded":
            bits, width = pick.choice((8, 16, 32)), pick.choice((0, 0, 32, 64))
            given = {"swizzlingByteWidth": width, "elementBitWidth": bits, "transposed": True, "fp4Padded": False}
            inner = 8 * width // bits or 4
            return (
                "nvmma_shared",
                given,
                pick.choice(((inner, 4, 16), (2 * inner, 2, 8), (inner, 2, 4, 8), (inner, 512))),
            )
        padded = pick.random() < 0.2
        bits = 8 if padded else pick.choice((8, 16, 32))
        width = 128 if padded else pick.choice((0, 32, 64, 128))
        turned = rank == 2 and pick.random() < 0.5
        given = {"swizzlingByteWidth": width, "elementBitWidth": bits, "transposed": turned, "fp4Padded": padded}
        return kind, given, self.shape(2, 128, 512) if rank == 2 else pick.choice(((2, 128, 128), (128, 8, 128)))

    def tensor(self) -> Case:
        pick = self.random
        if pick.random() < 0.4:
            cga = pick.choice(([], [], [[1, 0]], [[0, 0]]))
            return "tensor_memory_scales_encoding", {"CGALayout": cga}, self.shape(2, 16, 512)
        high, wide, pair = pick.choice((64, 128)), 2 ** pick.randrange(1, 7), pick.random() < 0.3
        cga = [[1, 0]] if pair else pick.choice(([], [], [[0, 1]], [[0, 0]]))
        given = {"blockM": high, "blockN": wide, "colStride": pick.choice((1, 1, 2)), "CGALayout": cga, "twoCTAs": pair}
        given["fp4Padded"] = given["colStride"] == 1 and pick.random() < 0.2
        rows = high * pick.choice((1, 2)) * (2 if pair else 1)
        return "tensor_memory_encoding", given, (rows, wide * pick.choice((1, 2, 4)) * (2 if cga == [[0, 1]] else 1))

    def linear(self) -> Case:
        rank = self.random.choice((1, 2))
        size = self.shape(rank, 8, 64)
        units = [[n if a == axis else 0 for a in range(rank)] for axis in range(rank) for n in _list_powers(size[axis])]
        self.random.shuffle(units)
        lanes, rest = units[:5] + [[0] * rank] * (5 - len(units)), units[5:]
        cut = self.random.randrange(len(rest) + 1)
        params = {"register": rest[:cut], "lane": lanes, "warp": rest[cut:], "block": [], "size": list(size)}
        grown = tuple(n * self.random.choice((1, 1, 2)) for n in size)
        return "linear", params, grown


def _list_powers(size: int) -> list[int]:
    return [1 << bit for bit in range(size.bit_length() - 1)]


KINDS = {
    "blocked": 60,
    "nvidia_mma": 50,
    "dot_op of blocked": 25,
    "dot_op of nvidia_mma": 60,
    "slice": 40,
    "linear": 40,
    "swizzled_shared": 40,
    "nvmma_shared": 60,
    "nvmma_shared, unfolded": 30,
    "tensor memory": 60,
}


def test_bases_are_tritons() -> None:
    made = LayoutCases()
    cases = [made.of(kind) for kind, count in KINDS.items() for _ in range(count)]
    for (kind, params, shape), want in zip(cases, answers(cases), strict=True):
        assert want is not None, (kind, params, shape)
        found = linear_of(kind, params, shape, params.get("elementBitWidth", 16))
        told = set(found.bases) - ({"block"} if "tensor_memory" in kind else set())
        ours = {name: [list(basis) for basis in bases] for name, bases in found.bases.items() if name in told}
        assert {k: v for k, v in ours.items() if v} == {k: v for k, v in want.items() if v}, (kind, params, shape)


def test_coordinates_and_offsets_are_the_bases() -> None:
    made = triton_layout(BLOCKED, (64, 32))
    assert (made.threads, made.warps, made.registers, made.copies) == (128, 4, 16, 1)
    for thread, register in ((0, 0), (37, 2), (127, 15)):
        at = [0, 0]
        for name, index in (("register", register), ("lane", thread % 32), ("warp", thread // 32)):
            for bit, basis in enumerate(made.linear.bases[name]):
                if index >> bit & 1:
                    at = [a ^ b for a, b in zip(at, basis, strict=True)]
        assert [int(axis[thread, register]) for axis in made.coords] == at
        assert made.owner(*at) == [(thread, register)]
    swizzled = triton_layout("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", (16, 64))
    row, col = np.indices((16, 64))
    assert np.array_equal(swizzled.offset, 64 * row + (col // 8 ^ row % 8) * 8 + col % 8)
    padded = triton_layout("#ttg.padded_shared<[64:+8, 128:+4] {order = [1, 0], shape = [16, 32]}>", (16, 32))
    plain = np.arange(512).reshape(16, 32)
    assert np.array_equal(padded.offset, plain + plain // 64 * 8 + plain // 128 * 4)


def test_lanes_and_columns_of_tensor_memory() -> None:
    """blockM 64 fills 16 lanes of each warp; 16-bit elements share a column; every warp has the scales."""
    half = triton_layout("#ttng.tensor_memory_encoding<blockM = 64, blockN = 32, colStride = 1>", (64, 32))
    lane, column = half.lane_and_column
    row = np.arange(64)
    assert np.array_equal(lane[:, 0], row // 16 * 32 + row % 16) and column[3].tolist() == list(range(32))
    assert half.columns == 32 and half.element_bits == 32 and half.owner(20, 5) == [(36, 5)]
    packed = triton_layout("TensorMemoryLayout([128, 64], col_stride=1)", (128, 64), 16)
    assert (
        packed.columns == 32 and packed.text == "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>"
    )
    scales = triton_layout("#ttng.tensor_memory_scales_encoding<>", (128, 8))
    assert scales.element_bits == 8 and [at for at, _ in scales.owner(40, 1)] == [8, 40, 72, 104]
    older = triton_layout("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = true>", (128, 64), 16)
    newer = triton_layout("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 2>", (128, 64), 16)
    assert older.linear == newer.linear
    answer = (
        share_client()
        .post(
            "/api/v1/layouts/triton",
            json={
                "text": "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>",
                "shape": [128, 64],
                "element_bits": 16,
            },
        )
        .json()
    )
    assert (answer["lane"][7][9], answer["column"][7][9], answer["bit"][7][9], answer["columns"]) == (7, 4, 16, 32)


def test_a_memdesc_of_one_size_more_has_several_buffers() -> None:
    text = "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"
    one, three = triton_layout(text, (64, 64)), triton_layout(text, (3, 64, 64))
    assert three.buffers == 3 and three.linear == one.linear
    for stage in range(3):
        assert np.array_equal(three.offset[stage], stage * 4096 + one.offset)
    assert three.owner(2, 9, 40) == [(0, 8192 + int(one.offset[9, 40]))]
    whole = triton_layout(text.replace("}>", ", rank = 3}>"), (4, 64, 64))
    assert whole.buffers == 1 and len(whole.linear.sizes) == 3


def test_what_gluon_makes_itself() -> None:
    """get_default_for and with_identity_for, against Gluon's own; lists are added and repeated as Python does."""
    cases: list[Case] = [
        ("get_default_for", {"dtype": dtype, "transposed": turned}, shape)
        for shape in ((128, 64), (64, 32), (128, 8), (4, 16, 32), (4, 64), (256,))
        for dtype in ("float8e5", "bfloat16", "float32")
        for turned in (False, True)
    ]
    for (_, params, shape), want in zip(cases, answers(cases), strict=True):
        text = f"gl.NVMMASharedLayout.get_default_for({list(shape)}, gl.{params['dtype']}, {params['transposed']})"
        found = triton_layout(text, shape)
        assert want is not None and found.linear.list_bases()["offset"] == want["offset"], text
    made = triton_layout("gl.PaddedSharedLayout.with_identity_for([[64, 8]], [16, 32], [1, 0])")
    same = triton_layout("#ttg.padded_shared<[64:+8] {order = [1, 0], shape = [16, 32]}>", (16, 32))
    assert made.linear == same.linear and np.array_equal(made.offset, same.offset)
    with pytest.raises(LayoutError, match=r"symbol 'gl.NVMMASharedLayout.get_default_for"):
        triton_layout("gl.NVMMASharedLayout.get_default_for([BLOCK_M, 64], gl.float16)", (64, 64))
    listed = "gl.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0], cga_layout=[[1, 0]] + [[0, 0]] * 2)"
    assert triton_layout(listed, (128, 64)).blocks == 8


def test_aliases_over_several_lines_and_comments() -> None:
    text = """
#mma = #ttg.nvidia_mma<{
  versionMajor = 2, versionMinor = 0,  // Ampere
  warpsPerCTA = [2, 2], instrShape = [16, 8]}>  // <{
#a = #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>
  %0 = ttg.convert_layout %x : tensor<64x32xf16, #a> -> tensor<64x32xf16, #mma>
"""
    found = parse_module(text)
    assert found is not None and [one.names for one in found.layouts] == [("#mma",), ("#a",)]
    assert (
        triton_layout(found.layouts[1].text, (64, 32)).linear
        == triton_layout(f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>", (64, 32)).linear
    )
    assert [move.target.layout for move in found.moves] == [found.layouts[0].text]


def test_aliases_modules_and_older_spellings() -> None:
    module = f"""
#mma = {MMA}
#a = #ttg.dot_op<{{opIdx = 0, parent = #mma, kWidth = 2}}>
  %0 = ttg.convert_layout %x : tensor<64x32xf16, #b> -> tensor<64x32xf16, #a>
"""
    found = triton_layout(module)
    assert (found.kind, found.shape, found.element_bits) == ("dot_op", (64, 32), 16)
    inline = triton_layout(f"#triton_gpu.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>", (64, 32))
    assert found.linear == inline.linear
    gluon = "gl.DotOperandLayout(operand_index=0, parent=gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]), k_width=2)"
    assert triton_layout(gluon, (64, 32)).linear == inline.linear
    older = "#ttg.shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], hasLeadingOffset = true}>"
    newer = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    assert triton_layout(older, (64, 64)).linear == triton_layout(newer, (64, 64)).linear
    split = BLOCKED.replace("}", ", CTAsPerCGA = [2, 1], CTASplitNum = [2, 1], CTAOrder = [1, 0]}")
    bases = BLOCKED.replace("}", ", CGALayout = [[1, 0]]}")
    assert triton_layout(split, (64, 32)).linear == triton_layout(bases, (64, 32)).linear
    assert triton_layout(split, (64, 32)).threads == 256


def test_cute_and_back() -> None:
    """A layout of threads as CuTe's thread-value layout has the same map; CuTe's as bases, too, or says why not."""
    for text, shape in (
        (BLOCKED, (64, 32)),
        (MMA, (32, 32)),
        (f"#ttg.dot_op<{{opIdx = 1, parent = {MMA}, kWidth = 2}}>", (32, 64)),
    ):
        made = triton_layout(text, shape)
        assert made.cute is not None
        held = tv(made.cute, shape)
        assert np.array_equal(held.rows, made.rows) and np.array_equal(held.cols, made.cols)
        back = linear_from_cute(made.cute, shape)
        names = ("warp", "lane", "register")
        for axis in (0, 1):
            assert np.array_equal(back.list_coordinates(axis, names).reshape(made.threads, -1), made.coords[axis])
    assert (
        triton_layout("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", (16, 64)).cute
        is None
    )
    for text, why in (
        ("(32,3):(1,32)", "power of two"),
        ("((4,8),2):((3,12),1)", "carry"),
        ("64:1", "not a thread-value"),
    ):
        with pytest.raises(LayoutError, match=why):
            linear_from_cute(parse_cute_layout(text), (64, 64))


def test_every_element_is_held() -> None:
    made = LayoutCases()
    for kind in ("blocked", "nvidia_mma", "dot_op of nvidia_mma", "slice", "swizzled_shared", "nvmma_shared"):
        for _ in range(4):
            name, params, shape = made.of(kind)
            found = linear_of(name, params, shape, params.get("elementBitWidth", 16))
            names = [key for key in ("block", "warp", "lane", "register", "offset") if key in found.bases]
            index = np.zeros((), dtype=np.int64)
            for axis, size in enumerate(shape):
                index = index * size + found.list_coordinates(axis, names)
            assert np.unique(index).size == prod(shape)
