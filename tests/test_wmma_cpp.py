"""nvcuda::wmma: what the pages say of fragments, functions and memory is what CUDA's own header and compiler say."""

from __future__ import annotations

import re

import pytest

from lanescope import find
from lanescope.ptx import catalog, wmma
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.wmma_api import BIT_OPERATIONS, FUNCTIONS
from lanescope.render import wmma_cpp
from tests.cases import for_each
from tests.ptxas import nvrtc

needs_headers = pytest.mark.skipif(
    nvrtc.find_library() is None or nvrtc.find_headers() is None,
    reason="no NVRTC or no CUDA headers: make test installs both",
)
PRODUCTS = [i for i in catalog.instructions() if i.family.name == "wmma" and ".mma" in i.ptx]


def compile_cuda(source: str) -> tuple[str, str]:
    return nvrtc.compile_ptx(source, "sm_90", nvrtc.find_headers(), optimized=True)


def list_opcodes(text: str) -> list[str]:
    """The wmma opcodes of a PTX file, spelled as the catalogue spells them."""
    return [find(opcode).ptx for opcode in re.findall(r"wmma\.[\w.:]+", text)]


@needs_headers
def test_every_kernel_compiles_to_its_own_instructions() -> None:
    able = [i for i in PRODUCTS if wmma_cpp.is_available(i)]
    assert len(PRODUCTS) - len(able) == 16  # f64: four roundings of four layouts
    bodies = [wmma_cpp.render_kernel(i).text.removeprefix(wmma_cpp.HEAD) for i in able]
    text, log = compile_cuda(
        wmma_cpp.HEAD + "".join(f"namespace n{number} {{{body}}}\n" for number, body in enumerate(bodies))
    )
    assert text, log[:2000]
    assert {opcode for opcode in list_opcodes(text) if ".mma." in opcode} == {spell_compiled(i) for i in able}


def spell_compiled(i: Instruction) -> str:
    """The C++ API spells the default rounding of f64."""
    return find(i.ptx.replace(".m8n8k4.", ".m8n8k4.rn.")).ptx if i.types["a"] == "f64" else i.ptx


@needs_headers
def test_the_header_has_these_fragments_with_these_sizes() -> None:
    lines = []
    for f in wmma.list_fragments():
        name = wmma_cpp.qualify_fragment(f.cpp.removeprefix("nvcuda::"))
        lines.append(
            f"static_assert({name}::num_elements == {f.num_elements} && {name}::num_storage_elements =="
            f" {f.num_storage_elements});"
        )
        lines.append(f"static_assert(same<{name}::storage_element_type, {f.storage_cpp}>);")
    same = (
        "template <class A, class B> constexpr bool same = false; template <class A> constexpr bool same<A, A> ="
        " true;\n"
    )
    text, log = compile_cuda(wmma_cpp.HEAD + same + "\n".join(lines))
    assert text, log[:2000]
    headers = nvrtc.find_headers()
    assert headers
    declared = re.findall(r"class (fragment<\w+, [^>]*>) : public", (headers / "crt" / "mma.h").read_text())
    assert len(declared) == len(wmma.list_fragments()) == 75


@needs_headers
def test_the_first_architecture_is_the_headers() -> None:
    """Each fragment is declared inside the #ifdef of the architectures that have it (__CUDA_ARCH__ 730 is sm_75's
    first).
    """
    text = (nvrtc.find_headers() / "crt" / "mma.h").read_text()  # type: ignore[operator]
    least = {name: int(arch) for arch, name in re.findall(r"__CUDA_ARCH__ >= (\d+)\n#define (\w+) 1", text)}
    names = {"": "sm_70", "__CUDA_IMMA__": "sm_72", "__CUDA_SUBBYTE_IMMA__": "sm_75", "__CUDA_AMPERE_MMA__": "sm_80"}
    assert least == {"__CUDA_IMMA__": 720, "__CUDA_SUBBYTE_IMMA__": 730, "__CUDA_AMPERE_MMA__": 800}
    since, inside = {f.cpp.removeprefix("nvcuda::wmma::"): f.since for f in wmma.list_fragments()}, [""]
    for line in text.splitlines():
        if opened := re.match(r"#ifdef (\w+)", line):
            inside.append(opened[1])
        elif line.startswith("#endif") and len(inside) > 1 and inside[-1] in line:
            inside.pop()
        elif declared := re.search(r"class (fragment<\w+, [^>]*>) : public", line):
            assert since.pop(declared[1]) == names[inside[-1]], line
    assert not since


@needs_headers
def test_ldm_24_is_compiled_as_it_stands() -> None:
    """C++ takes 24 halves, and passes them to a wmma.load whose rows PTX wants 32 bytes apart: nothing between them
    rounds up.
    """
    text, _ = compile_cuda(
        wmma_cpp.render_kernel(find("wmma.mma.row.col.m16n16k16.f32.f32")).text.replace("(a, A, 16)", "(a, A, 24)")
    )
    (stride,) = re.findall(r"wmma\.load\.a\S*\s+\{[^}]*\}, \[[^\]]*\], (%r\d+);", text)
    assert re.search(rf"mov\.[bu]32\s+{stride}, 24;", text)
    op = find("wmma.load.a.row.m16n16k16.f16").operand("a")
    assert [rule.name for rule in wmma.check_pointer(op, 0, 24, "row") if not rule.holds] == ["PTX ldm"]


@needs_headers
def test_x_is_the_registers_in_their_order() -> None:
    """x[3] of a half fragment is the upper half of the second register that wmma.load writes."""
    lines = "fragment<matrix_a, 16, 16, 16, __half, row_major> a; load_matrix_sync(a, A, 16); *D = a.x[3];"
    text, _ = compile_cuda(
        f"{wmma_cpp.HEAD}using namespace wmma; __global__ void k(const __half* A, __half* D) {{ {lines} }}"
    )
    (registers,) = re.findall(r"wmma\.load\.a\S*\s+\{([^}]*)\}", text)
    second = registers.split(", ")[1]
    (half,) = re.findall(r"st\.global\.[bu]16\s+\[[^\]]*\], (%rs\d+);", text)
    assert re.search(rf"mov\.b32\s+\{{[^,]*, {half}\}}, {second};", text), text


def test_elements_of_a_lane_are_the_map() -> None:
    f = next(
        f
        for f in wmma.list_fragments()
        if f.cpp.endswith("matrix_a, 8, 8, 32, experimental::precision::s4, row_major>")
    )
    assert wmma.list_elements(f.operand, 5) == [[(1, 8 + e) for e in range(8)]]
    half = next(f for f in wmma.list_fragments() if "matrix_a, 16, 16, 16, __half, row" in f.cpp)
    held = wmma.list_elements(half.operand, 13)
    assert len(held) == half.num_storage_elements == 16 and held[:8] == held[8:] and held[0] == [(3, 2)]


@for_each(
    ("ptx", "ldm_cpp", "ldm_ptx", "ldm_both"),
    [
        ("wmma.load.a.row.m16n16k16.f16", 8, 16, 16),
        ("wmma.load.c.row.m16n16k16.f32", 4, 8, 8),
        ("wmma.load.a.row.m16n16k16.s8", 16, 8, 16),
        ("wmma.load.a.row.m8n8k32.s4", 32, 8, 32),
        ("wmma.load.a.row.m8n8k128.b1", 128, 32, 128),
        ("wmma.load.a.row.m8n8k4.f64", 2, 1, 2),
    ],
)
def test_what_the_documents_ask(ptx: str, ldm_cpp: int, ldm_ptx: int, ldm_both: int) -> None:
    (op,) = find(ptx).operands.values()
    assert [asked.ldm_elements for asked in wmma.get_requirements(op)] == [ldm_cpp, ldm_ptx]
    assert wmma.combine_requirements(op).ldm_elements == ldm_both and wmma.combine_requirements(op).pointer_bytes == 32


def test_default_strides_are_ptx_table() -> None:
    """PTX ISA 9.1, 9.7.14.4.2: A row, A column, B row, B column, accumulator row, accumulator column."""
    table = {
        "m16n16k16": (16, 16, 16, 16, 16, 16),
        "m8n32k16": (16, 8, 32, 16, 32, 8),
        "m32n8k16": (16, 32, 8, 16, 8, 32),
        "m8n8k32": (32, 8, 8, 32, 8, 8),
        "m8n8k128": (128, 8, 8, 128, 8, 8),
        "m16n16k8": (8, 16, 16, 8, 16, 16),
        "m8n8k4": (4, 8, 8, 4, 8, 8),
    }
    for i in PRODUCTS:
        ops = [i.operands[name] for name in "abc"]
        assert table[i.shape] == tuple(wmma.get_default_stride(op, layout) for op in ops for layout in ("row", "col"))


def test_rows_name_what_is_in_the_catalogue() -> None:
    for function in FUNCTIONS:
        if function.becomes.startswith("wmma"):
            assert any(i.ptx.startswith(function.becomes) for i in catalog.instructions())
    for operation in BIT_OPERATIONS:
        assert find(f"wmma.mma.{operation.ptx}.popc.row.col.m8n8k128.s32.b1.b1.s32").modifiers == (
            operation.ptx,
            "popc",
        )


@for_each(
    ("pointer", "ldm", "failing"),
    [
        (0, 16, set()),
        (0x10, 16, {"CUDA C++ pointer", "PTX pointer"}),
        (0, 20, {"CUDA C++ ldm", "PTX ldm"}),
        (0, 24, {"PTX ldm"}),
        (0, 8, {"PTX ldm", "no overlap"}),
    ],
)
def test_wmma_alignment(pointer: int, ldm: int, failing: set[str]) -> None:
    op = find("wmma.load.a.row.m16n16k16.f16").operand("a")
    assert {rule.name for rule in wmma.check_pointer(op, pointer, ldm, "row") if not rule.holds} == failing


@pytest.mark.thorough
@needs_headers
@for_each("argument", ["true", "false"])
def test_satf_is_of_integer_products_alone(argument: str) -> None:
    for ptx, there in (
        ("wmma.mma.row.col.m16n16k16.f32.f32", False),
        ("wmma.mma.row.col.m16n16k16.f16.f16", False),
        ("wmma.mma.row.col.m16n16k8.f32.tf32.tf32.f32", False),
        ("wmma.mma.row.col.m8n8k4.f64.f64.f64.f64", False),
        ("wmma.mma.row.col.m16n16k16.s32.s8.s8.s32", True),
        ("wmma.mma.row.col.m8n8k32.s32.u4.u4.s32", True),
    ):
        text, _ = compile_cuda(
            re.sub(r"(mma_sync\([^)]*)\)", rf"\1, {argument})", wmma_cpp.render_kernel(find(ptx)).text)
        )
        assert bool(text) == there, ptx
        if there:
            assert (".satfinite" in text) == (argument == "true")
