"""Texts that name a UMMA atom, the instruction descriptor that each means, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lanescope.blackwell import idesc, umma_atom
from lanescope.errors import LayoutError
from lanescope.ptx.table.umma_atoms import OPERATIONS, ROWS
from lanescope.reader.cute import umma as spelled
from lanescope.tiles import umma_code
from lanescope.tiles.tiled_mma import tiled_mma
from tests.cases import for_each
from tests.test_umma_tile import MN, NVFP4, SS, K

WORDS = {  # what a text says → (CTAs, A in tensor memory, instruction descriptor)
    SS: (1, False, "0x08400010"),
    f"using T = cutlass::bfloat16_t;\nusing A = SM100_MMA_F16BF16_2x1SM_SS<T, T, float, 256, 128, {K}, {MN}>;": (
        2,
        False,
        "0x10210490",
    ),
    f"cute::SM100_MMA_TF32_TS<tfloat32_t, tfloat32_t, float, 128, 64, {K}, {MN}>": (1, True, "0x08110910"),
    f"SM100_MMA_S8_2x1SM_SS<int8_t, int8_t, int32_t, 256, 128, {K}, {K}>": (2, False, "0x102004a0"),
    f"SM100_MMA_S8_SS<uint8_t, int8_t, int32_t, 128, 128, {K}, {K}, UMMA::Saturate::True>": (1, False, "0x08200428"),
    f"SM100_MMA_F8F6F4_SS<float_e4m3_t, cutlass::detail::float_e2m1_unpacksmem_t, float, 64, 96, {K}, {K}>": (
        1,
        False,
        "0x04181410",
    ),
    f"SM100_MMA_MXF8F6F4_SS<float_e4m3_t, float_e5m2_t, float, float_ue8m0_t, 128, 192, {K}, {MN}>": (
        1,
        False,
        "0x08b10400",
    ),
    NVFP4: (2, False, "0x10400480"),
    f"SM100_MMA_F16BF16_SS_SPARSE<half_t, half_t, float, 128, 256, {K}, {K}>": (1, False, "0x08400014"),
    f"SM100_MMA_F16BF16_SS<half_t, half_t, half_t, 128, 64, {K}, {K}, UMMA::ScaleIn::Neg, UMMA::ScaleIn::One>": (
        1,
        False,
        "0x08102000",
    ),
    "tcgen05.MmaMXF4NVF4Op(cutlass.Float8E4M3FN, (256, 128, 64), tcgen05.CtaGroup.TWO, tcgen05.OperandSource.SMEM)": (
        2,
        False,
        "0x10200480",
    ),
    "op = tcgen05.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (64, 64, 16), tcgen05.CtaGroup.ONE,\n"
    " tcgen05.OperandSource.TMEM, cute.nvgpu.OperandMajorMode.K, cute.nvgpu.OperandMajorMode.MN)\n": (
        1,
        True,
        "0x04110490",
    ),
}


@for_each("text", WORDS, ids=lambda text: text[:40])
def test_a_text_is_its_atom(text: str) -> None:
    one = spelled.parse_umma_text(text)
    assert one and one.atom
    assert (one.atom.ctas, one.atom.tensor_a, str(one.atom.word)) == WORDS[text]


@for_each(
    ("row", "ending", "pair"), [(row, ending, pair) for row in ROWS for ending in row.endings for pair in (False, True)]
)
def test_every_atom_is_read_as_it_is_written(row: Any, ending: str, pair: bool) -> None:
    for vector, kind in row.kinds.items():
        wish: dict[str, object] = {"m": 256 if pair else 128, "n": 64, **({"k": str(row.k)} if row.k else {})}
        whole = row.k or idesc.get_kind(kind).k * (2 if "SPARSE" in ending else 1)
        factors = {0: "", 2: "2X", 3: "2X", 4: "4X", 6: "4X"}[whole // vector if vector else 0]
        if factors == "2X" and kind == "mxf4nvf4":
            wish["scale_type"] = "ue8m0"
        form = "cta_group::2" if pair else "cta_group::1"
        atom = umma_atom.make_umma_atom(
            idesc.get_kind(kind),
            form,
            wish,
            sparse="SPARSE" in ending,
            tensor_a=ending.startswith("TS"),
            factors=factors,
            scaled_d="SCALED" in ending,
        )
        text = umma_code.format_template(atom)
        assert text.startswith(umma_atom.format_stem(row, ending, pair) + "<"), text
        again = spelled.parse_umma_text(text.replace("ScaleC", "8"))
        assert again and again.atom
        assert (again.atom.word, again.atom.tensor_a, again.atom.bound.ptx) == (
            atom.word,
            atom.tensor_a,
            atom.bound.ptx,
        )


@for_each("name", OPERATIONS)
def test_every_operation_is_printed_and_read(name: str) -> None:
    row = OPERATIONS[name]
    types = {"f16": "Float16", "tf32": "TFloat32", "i8": "Int8"}.get(row.kind, "Float8E4M3FN")
    types = "Float4E2M1FN" if row.kind.startswith("mxf4") else types
    named = {"d": "Float32", "scale_type": "Float8E4M3FN"}
    given = [f"cutlass.{named.get(one, types)}" for one in row.types]
    given += ["(128, 64)", "tcgen05.CtaGroup.ONE", "tcgen05.OperandSource.SMEM"]
    given += ["tcgen05.OperandMajorMode.K"] * (2 * row.majors)
    one = spelled.parse_umma_text(f"tcgen05.{name}({', '.join(given)})")
    assert one and one.atom and one.atom.word.k == (row.k or one.atom.word.kind.k)
    again = spelled.parse_umma_text(umma_code.format_operation(one.atom))
    assert again and again.atom and again.atom.word == one.atom.word
    shown = f"{row.title}\n  A data type = {types}\n  B data type = {types}\n  Accumulator data type = "
    shown += "Int32\n" if row.kind == "i8" else "Float32\n"
    shown += "  Scale factor data type = Float8E4M3FN\n  CTA group = CtaGroup.ONE\n  A source location = OperandSource"
    shown += ".SMEM\n  A major mode = OperandMajorMode.K\n  B major mode = OperandMajorMode.K\n"
    printed = spelled.parse_umma_text(shown + f"  Instruction shape MNK = (128, 64, {one.atom.word.k})")
    assert printed and printed.atom and printed.atom.word == one.atom.word


REFUSED = {
    f"SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 260, {K}, {K}>": "n is 260",
    f"SM100_MMA_F16BF16_TS<half_t, half_t, float, 128, 24, {K}, {K}>": "requires a multiple of 16 as N",
    f"SM100_MMA_F16BF16_TS<half_t, half_t, float, 128, 32, {MN}, {K}>": "A is MN-major",
    f"SM100_MMA_F16BF16_SS<half_t, float_e4m3_t, float, 128, 32, {K}, {K}>": "B type of kind::f16",
    f"SM100_MMA_F16BF16_SS<half_t, half_t, float, M, 32, {K}, {K}>": "does not give M",
    "SM100_MMA_F16BF16_SS": "without its arguments",
    "SM100_MMA_F16BF16_SS<half_t, half_t>": "has 2 template arguments",
    "SM100_MMA_F17_SS<half_t>": "not a UMMA atom",
    f"SM100_MMA_TF32_TS_INTERLEAVED_CF32CTF32CTF32CF32_TN<128, 64, {K}, {K}>": "several instructions",
    f"SM100_MMA_MXF4_SS<float_e2m1_t, float_e2m1_t, float, float_ue4m3_t, 128, 64, 8, {K}, {K}>": "VS of",
    f"SM100_MMA_MXF8F6F4_2x1SM_SS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 128, 64, {K}, {K}>": "M = 256",
    "tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (128, 64, 16))": "lacks",
}


@for_each("text", REFUSED, ids=lambda text: text[:50])
def test_what_is_no_atom_is_named(text: str) -> None:
    with pytest.raises(LayoutError, match=re.escape(REFUSED[text])):
        tiled_mma(text)
