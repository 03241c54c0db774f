"""Any value of a parameter of a Triton layout is read or refused, and no text takes long."""

from __future__ import annotations

import random

import pytest

from lanescope.errors import LayoutError
from lanescope.triton.gluon import triton_layout
from tests.cases import for_each
from tests.client import share_client
from tests.sample import choose_count
from tests.test_triton import BLOCKED, MMA

PARAMETERS: dict[str, dict[str, str]] = {  # a parameter's value each as text
    "#ttg.blocked<{}>": {
        "sizePerThread": "[1, 4]",
        "threadsPerWarp": "[8, 4]",
        "warpsPerCTA": "[4, 1]",
        "order": "[1, 0]",
        "CGALayout": "[[0, 1]]",
    },
    "#ttg.blocked<{ }>": {
        "sizePerThread": "[1, 4]",
        "threadsPerWarp": "[8, 4]",
        "warpsPerCTA": "[4, 1]",
        "order": "[1, 0]",
        "CTAsPerCGA": "[1, 2]",
        "CTASplitNum": "[1, 2]",
        "CTAOrder": "[1, 0]",
    },
    "#ttg.nvidia_mma<{}>": {"versionMajor": "2", "versionMinor": "0", "warpsPerCTA": "[2, 2]", "instrShape": "[16, 8]"},
    "#ttg.dot_op<{}>": {"opIdx": "0", "parent": MMA, "kWidth": "2"},
    "#ttg.slice<{}>": {"dim": "1", "parent": BLOCKED},
    "#ttg.linear<{}>": {
        "register": "[[0, 1]]",
        "lane": "[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]",
        "warp": "[[8, 0]]",
        "block": "[]",
    },
    "#ttg.swizzled_shared<{}>": {"vec": "8", "perPhase": "1", "maxPhase": "8", "order": "[1, 0]"},
    "#ttg.shared<{}>": {"vec": "8", "perPhase": "1", "maxPhase": "8", "order": "[1, 0]", "hasLeadingOffset": "true"},
    "#ttg.nvmma_shared<{}>": {
        "swizzlingByteWidth": "128",
        "transposed": "false",
        "elementBitWidth": "16",
        "fp4Padded": "false",
    },
    "#ttg.padded_shared<[64:+8] {}>": {"order": "[1, 0]", "offset": "[[0, 1], [1, 0]]", "block": "[]"},
    "#ttg.shared_linear<{}>": {"offset": "[[0, 1], [1, 0]]", "block": "[]"},
    "gl.PaddedSharedLayout()": {
        "interval_padding_pairs": "[[64, 8]]",
        "offset_bases": "[[0, 1], [1, 0]]",
        "cga_layout": "[]",
        "shape": "[2, 2]",
    },
    "gl.DotOperandLayout()": {
        "operand_index": "0",
        "parent": "gl.NVMMADistributedLayout(version=[2, 0], warps_per_cta=[2, 2], instr_shape=[16, 8])",
        "k_width": "2",
    },
    "gl.NVMMASharedLayout()": {"swizzle_byte_width": "128", "element_bitwidth": "16", "rank": "2"},
    "#ttg.amd_mfma<{}>": {
        "version": "3",
        "warpsPerCTA": "[2, 2]",
        "instrShape": "[16, 16, 16]",
        "isTransposed": "true",
        "tilesPerWarp": "[1, 2]",
        "elementBitWidth": "64",
    },
    "#ttg.amd_wmma<{}>": {
        "version": "3",
        "isTranspose": "true",
        "ctaLayout": "{register = [[0, 1]], warp = [[0, 2], [1, 0]]}",
        "instrShape": "[16, 16, 32]",
    },
    "gl.amd.AMDMFMALayout()": {
        "version": "3",
        "instr_shape": "[32, 32, 8]",
        "transposed": "True",
        "warps_per_cta": "[4, 1]",
    },
    "gl.amd.AMDWMMALayout()": {"version": "2", "transposed": "True", "warp_bases": "[[0, 1]]", "reg_bases": "[[1, 0]]"},
    "gl.NVMMADistributedLayout()": {"version": "[3, 0]", "warps_per_cta": "[4, 1]", "instr_shape": "[16, 64, 16]"},
}
WRONG = (
    "0",
    "16",
    "-1",
    "3",
    "65536",
    "9" * 30,
    "9" * 5000,
    "0x" + "f" * 5000,
    "1.5",
    "true",
    "x",
    '"x"',
    "[]",
    "[0]",
    "[[0]]",
    "[[]]",
    "[4096, 4096]",
    "[[4096, 4096]]",
    "[1, [2]]",
    "[true, 1]",
    "[1, 4, 1, 1, 1, 1]",
    MMA,
    "None",
)


def format_layout(kind: str, params: dict[str, str]) -> str:
    words = ", ".join(f"{name} = {value}" for name, value in params.items())
    return kind.replace("{}", "{" + words + "}").replace("{ }", "{" + words + "}").replace("()", f"({words})")


def make_wrong_layouts() -> list[str]:
    out = [f"gl.PaddedSharedLayout({value}, [[0, 1]], [], [2, 1])" for value in WRONG]
    for kind, params in PARAMETERS.items():
        for name in params:
            out += [format_layout(kind, {**params, name: value}) for value in WRONG]
            out.append(format_layout(kind, {key: value for key, value in params.items() if key != name}))
    return out


@pytest.mark.thorough
def test_any_value_of_a_parameter_is_read_or_refused() -> None:
    made = refused = 0
    for kind, params in PARAMETERS.items():
        shape = (128,) if "slice" in kind else (2, 2) if "added" in kind or "shared_lin" in kind else (128, 64)
        triton_layout(format_layout(kind, params), shape)
    for text in make_wrong_layouts():
        try:
            found = triton_layout(text, (128,) if "slice" in text else (2, 2) if "offset" in text else (128, 64))
            assert found.offset.size if found.shared else found.coords[0].size
            made += 1
        except LayoutError as error:
            assert error.message and error.hint
            refused += 1
    assert made > 50 and refused > 800, (made, refused)


@for_each("sizes", ["9" * 5000 + "x16xf16", "16x16xf" + "9" * 5000, "16x16xf" + "9" * 5000 + "E4M3"])
def test_sizes_of_any_length_are_no_shape(sizes: str) -> None:
    text = f"#a = {BLOCKED}\n%0 = tensor<{sizes}, #a>"
    with pytest.raises(LayoutError):
        triton_layout(text + " " + "#ttg.none<{}>", None, 0)
    assert triton_layout(text, (32, 16)).element_bits == 16


@for_each("parameter", ["CGALayout = [[4096, 4096]]", "CGALayout = [[0, 2]]", "CGALayout = [[1, 1]]"])
def test_blocks_that_do_not_fill_their_tensor_are_refused(parameter: str) -> None:
    for shape in ((8192, 8192), (64, 64)):
        with pytest.raises(LayoutError, match="its bases reach 2 of"):
            triton_layout(BLOCKED.replace("}", f", {parameter}}}"), shape)


def test_a_tensor_is_bounded_whatever_its_bases() -> None:
    with pytest.raises(LayoutError) as told:
        triton_layout("#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>", (8192, 8192))
    assert told.value.code == "too_large"


def test_no_text_ends_the_server() -> None:
    client = share_client()
    texts = make_wrong_layouts()
    some = random.Random(3).sample(texts, choose_count(40, 15))
    for text in (*some, "#ttg.dot_op<{opIdx = [0], parent = " + MMA + "}>", texts[0]):
        for url in ("/api/v1/layouts/triton", "/api/v1/read"):
            body = {"text": text} | ({"shape": [64, 64]} if "triton" in url else {})
            assert client.post(url, json=body).status_code in (200, 400, 413, 422), (url, text[:200])
        assert client.get("/read", params={"text": text[:3000]}).status_code < 500, text[:200]
