"""Where documents and hardware differ: every row is proved, by the engine, the evidence files, ptxas or the
compiler.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from lanescope import find
from lanescope.descriptor import matrix as descriptor
from lanescope.errors import LayoutError
from lanescope.ptx import catalog, hardware_runs, wmma
from lanescope.ptx.differences import DocumentSlip, list_document_slips, list_narrow_strides
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import list_slots
from tests.cases import for_each
from tests.ptxas import assembler, nvrtc

ROOT = Path(__file__).parents[1]
ROWS = list_document_slips()
needs_ptxas = pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")


def assemble_line(text: str, target: str, declared: str = "") -> tuple[int, str]:
    """ptxas's exit status and what it says of one line."""
    source = f".version 9.0\n.target {target}\n.address_size 64\n.entry k() {{ {declared}\n{text}\nret; }}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "line.ptx"
        path.write_text(source)
        command = [str(assembler.find_ptxas()), f"-arch={target}", str(path), "-o", str(path.with_suffix(".cubin"))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr + done.stdout


def write_line(text: str, like: Instruction) -> tuple[str, str]:
    """A line of PTX with the operands of a similar instruction, and their declarations."""
    declared = []
    for slot in list_slots(like):
        if slot.kind == "vector":
            declared.append(f".reg .{slot.type} {slot.name}<{slot.registers}>;")
        elif slot.kind != "immediate":
            declared.append(f".reg .{slot.type} {slot.name};")
    return f"{text} {', '.join(slot.text for slot in list_slots(like))};", " ".join(declared)


@for_each("row", ROWS, ids=lambda row: row.key)
def test_every_row_is_proved(row: DocumentSlip) -> None:
    assert row.says and row.really and row.place and row.document
    assert row.ran or row.assembled or row.refused or row.test or row.stated
    for text in row.ran:
        found = find(text)
        assert found.ptx == text
        assert {run.device for run in hardware_runs.list_hardware_runs(found) if run.agrees} == {
            "NVIDIA H100 80GB HBM3",
            "NVIDIA H200",
        }, text
    for text in row.assembled:
        assert find(text).ptx == text and catalog.get_target_support(find(text)).targets
    for text in row.refused:
        with pytest.raises(LayoutError):
            find(text)
    if row.test:
        name, function = row.test.split("::")
        assert f"def {function}(" in (ROOT / name).read_text()
    assert not row.message or row.refused or row.test


@needs_ptxas
@for_each("row", [row for row in ROWS if row.refused], ids=lambda row: row.key)
def test_ptxas_refuses_in_these_words(row: DocumentSlip) -> None:
    for text in row.refused:
        like = find_nearest_legal(text)
        line, declared = write_line(text, like)
        target = catalog.get_target_support(like).targets[-1]
        code, said = assemble_line(line, target, declared)
        assert code and row.message in said, said
        assert (
            assemble_line(line.replace(text, like.ptx), target, declared)[0] == 0
        )  # the operands are not what it refuses


def find_nearest_legal(text: str) -> Instruction:
    with pytest.raises(LayoutError) as refused:
        find(text)
    return find(refused.value.nearest[0])


def test_the_printed_column_of_m16n8k256_is_no_map() -> None:
    """PTX's rule for A, as printed and with the mask that its second half has."""
    op = find("mma.m16n8k256.row.col.s32.b1.b1.s32.xor.popc").operand("a")
    lane, i = np.meshgrid(np.arange(32), np.arange(128), indexing="ij")
    row = np.where((i < 32) | ((i >= 64) & (i < 96)), lane >> 2, (lane >> 2) + 8)
    printed = np.where(i < 64, lane % 4 * 32 + i, lane % 4 * 32 + (i & 31) + 128)
    masked = np.where(i < 64, lane % 4 * 32 + (i & 31), printed)
    assert np.array_equal(op.rows, row) and np.array_equal(op.cols, masked)
    assert len(set(zip(row.ravel().tolist(), printed.ravel().tolist(), strict=True))) < 16 * 256
    assert np.array_equal(np.flatnonzero((printed != masked).any(axis=0)), np.arange(32, 64))


def test_the_four_products_of_m8n8k4_share_nothing() -> None:
    for i in (
        i for i in catalog.instructions() if i.family.name == "mma" and i.shape == "m8n8k4" and i.types["a"] == "f16"
    ):
        for op in i.operands.values():
            product = op.coords["product"]
            for q in range(4):
                lanes = np.flatnonzero((product == q).any(axis=1))
                assert lanes.tolist() == [*range(4 * q, 4 * q + 4), *range(16 + 4 * q, 20 + 4 * q)]
                held = op.rows[lanes] * op.col_count + op.cols[lanes]
                assert sorted(held.ravel().tolist()) == list(
                    range(op.row_count * op.col_count)
                )  # a whole matrix each, nothing twice


def test_default_strides_that_break_the_rule() -> None:
    assert list_narrow_strides() == (
        "wmma.load.a.sync.aligned.col.m8n32k16.f16",
        "wmma.load.b.sync.aligned.row.m32n8k16.f16",
    )
    for text in list_narrow_strides():
        (op,) = find(text).operands.values()
        assert wmma.get_default_stride(op, find(text).syntax.layouts[0]) == 8 and wmma.count_fragment_bytes(op) == 32


def test_a_stride_of_halves_is_a_multiple_of_16() -> None:
    _, asked = wmma.get_requirements(find("wmma.load.a.row.m16n16k16.f16").operand("a"))
    assert (asked.document, asked.ldm_elements, asked.pointer_bytes) == ("PTX", 16, 32)


@needs_ptxas
def test_align_counts_bytes(tmp_path: Path) -> None:
    """The section that holds an array with .align 32 is aligned to 32 in the ELF file, whose unit is the byte."""
    (tmp_path / "a.ptx").write_text(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .global .align 32 .b8 A[64] = {1};\n.entry k() {"
        " ret; }"
    )
    subprocess.run(
        [str(assembler.find_ptxas()), "-arch=sm_90", str(tmp_path / "a.ptx"), "-o", str(tmp_path / "a.cubin")],
        check=True,
    )
    elf = (tmp_path / "a.cubin").read_bytes()
    offset, size = int.from_bytes(elf[0x28:0x30], "little"), int.from_bytes(elf[0x3A:0x3C], "little")
    heads = [elf[offset + n * size : offset + (n + 1) * size] for n in range(int.from_bytes(elf[0x3C:0x3E], "little"))]
    names = heads[int.from_bytes(elf[0x3E:0x40], "little")]
    strings = int.from_bytes(names[0x18:0x20], "little")
    called = {
        elf[strings + int.from_bytes(h[:4], "little") :].split(b"\0")[0].decode(): int.from_bytes(
            h[0x30:0x38], "little"
        )
        for h in heads
    }
    assert called[".nv.global.init"] == 32


def test_sizes_of_m16n8k16() -> None:
    ops = find("mma.m16n8k16.row.col.f32.f16.f16.f32").operands
    assert [(ops[name].row_count, ops[name].col_count) for name in "abcd"] == [(16, 16), (16, 8), (16, 8), (16, 8)]


def test_lbo_of_sparse_b_is_read_with_the_32_byte_swizzle() -> None:
    """The descriptor runs of both devices hold 40 words for it; the address model that agrees with them reads LBO in
    mode 32B alone.
    """
    found = find("wgmma.mma_async.sp.m64n32k32.f32.f16.f16")
    name = f"{found.ptx} b K-major"
    assert all(
        data["descriptors"][name]["agreed"] == data["descriptors"][name]["ran"] > 0
        for data in hardware_runs.load_evidence()
    )
    seen = descriptor.view(found, "b", "K")
    for swizzle in ("32B", "64B", "128B"):
        near, far = (descriptor.reads(descriptor.encode_wgmma(4096, lbo, 512, 0, swizzle), seen) for lbo in (16, 2048))
        assert np.array_equal(near, far) == (swizzle != "32B"), swizzle


@needs_ptxas
def test_ptxas_refuses_one_register_for_the_f64_accumulator() -> None:
    head, declared = "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64", ".reg .f64 d<2>, a, b, c<2>;"
    assert assemble_line(head + " {d0, d1}, {a}, {b}, {c0, c1};", "sm_80", declared)[0] == 0
    code, said = assemble_line(head + " {d0}, {a}, {b}, {c0};", "sm_80", declared)
    assert code and "Argument vector size mismatch" in said
    assert find("wmma.load.c.row.m8n8k4.f64").operand("c").registers == 2


@needs_ptxas
def test_ptxas_refuses_two_registers_for_tf32_multiplicands() -> None:
    """The line names a0 to a3: with two of each declared, a2 is none; with two of each in the braces, they are few."""
    found = find("wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32")
    line, declared = write_line(found.ptx, found)
    assert ".reg .b32 a<4>;" in declared and assemble_line(line, "sm_80", declared)[0] == 0
    code, said = assemble_line(line, "sm_80", declared.replace("a<4>", "a<2>").replace("b<4>", "b<2>"))
    assert code and "Unknown symbol 'a2'" in said
    few = line.replace("{a0, a1, a2, a3}", "{a0, a1}").replace("{b0, b1, b2, b3}", "{b0, b1}")
    code, said = assemble_line(few, "sm_80", declared)
    assert code and "Argument vector size mismatch" in said


@needs_ptxas
@for_each("text", ["wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "wmma.store.d.sync.aligned.row.m16n16k16.f32"])
def test_ptxas_refuses_wmma_without_aligned(text: str) -> None:
    line, declared = write_line(text, find(text))
    assert assemble_line(line, "sm_80", declared)[0] == 0
    code, said = assemble_line(line.replace(".aligned", ""), "sm_80", declared)
    assert code and ".aligned modifier required for instruction" in said


@needs_ptxas
def test_ptxas_refuses_a_conversion_to_f32_without_rounding() -> None:
    declared = ".reg .u16 a; .reg .f32 d;"
    assert assemble_line("cvt.rn.f32.u16 d, a;", "sm_80", declared)[0] == 0
    code, said = assemble_line("cvt.f32.u16 d, a;", "sm_80", declared)
    assert code and "Rounding modifier required" in said


@needs_ptxas
def test_the_selector_that_ptxas_lets_pass() -> None:
    for types, taken in (("f32.f16.f16.f32", 4), ("f16.f16.f16.f16", 2)):
        i = find(f"mma.sp::ordered_metadata.m16n8k32.row.col.{types}")
        line, declared = write_line(i.ptx, i)
        answers = [assemble_line(re.sub(r"0;$", f"{selector};", line), "sm_80", declared) for selector in range(4)]
        assert [code == 0 for code, _ in answers] == [selector < taken for selector in range(4)]
        assert all("expected to be in range [0..1]" in said for code, said in answers if code)
        assert i.operand("a").sparsity is not None and i.operand("a").sparsity.selectors == 2


def test_kind_f8f6f4_assembles_for_sm_100a() -> None:
    with_kind = [i for i in catalog.instructions() if "kind::f8f6f4" in i.modifiers and i.types]
    wider = {i for i in with_kind if "sm_100a" in catalog.get_target_support(i).targets}
    assert {(i.types["a"], i.types["b"]) for i in wider} == {(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")}


@pytest.mark.skipif(
    nvrtc.find_library() is None or nvrtc.find_headers() is None,
    reason="no NVRTC or no CUDA headers: make test installs both",
)
@for_each(
    ("shape", "element", "there"),
    [
        ("16, 16, 16", "char", False),
        ("16, 16, 16", "signed char", True),
        ("16, 16, 8", "float", False),
        ("16, 16, 8", "wmma::precision::tf32", True),
    ],
)
def test_char_and_float_are_no_element_types(shape: str, element: str, there: bool) -> None:
    source = (
        f"#include <mma.h>\nusing namespace nvcuda;\nstatic_assert(wmma::fragment<wmma::matrix_a, {shape}, {element},"
        " wmma::row_major>::num_elements > 0);"
    )
    assert bool(nvrtc.compile_ptx(source, "sm_90", nvrtc.find_headers())[0]) == there


def test_the_layout_of_single_bit_m16n8k128() -> None:
    assert find("mma.m16n8k128.row.col.s32.b1.b1.s32.xor.popc").operand("a").cute == "((4,8),(32,2)):((512,1),(16,8))"
    cutlass = pytest.importorskip("cutlass_library")
    text = (Path(cutlass.__file__).parent / "source/include/cute/atom/mma_traits_sm80.hpp").read_text()
    traits = text[text.index("MMA_Traits<SM80_16x8x128_S32U1U1S32_TN_XORPOPC>\n{") :].split("};")[0]
    assert re.search(
        r"ALayout = Layout<Shape<Shape<_4,_8>,Shape<_32,_2>>,\s*Stride<Stride<_512,_1>,Stride<Stride<_16,_8>>>>;",
        traits,
    )
