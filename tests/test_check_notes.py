"""Notes name what a person can give, briefly, and tiles that TMA and threads share are judged for what is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lanescope.app.check.facts import CheckedSource, SourceText
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.notes import collect_notes
from lanescope.app.check.printing import list_notes, list_stats
from lanescope.app.check.running import check_source, describe_gap
from lanescope.workbench.check_report import CheckReport
from lanescope.workbench.fragments.thread_gaps import list_kernels_by_text
from lanescope.workbench.source.gaps import _join_names
from lanescope.workbench.text.asm_operands import join_strings
from tests.cases import for_each
from tests.checked import check_text
from tests.test_check_fix import make_finding
from tests.test_check_origins import KERNEL as ORIGIN_KERNEL

# Two maps fill one buffer in turn; V is read MN-major, a tile of 64 columns from each of its three buffers.
KERNEL = r"""
__device__ uint64_t make_desc(int at) {
  return ((at & 0x3FFFFull) >> 4) | (uint64_t)(1024 >> 4) << 32 | 1ull << 46 | 2ull << 61;
}
__device__ void load(int to, const CUtensorMap* map, int x, int bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::"
               "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(to), "l"(map), "r"(x), "r"(0), "r"(bar));
}
__device__ void multiply(int d, uint64_t a, uint64_t b, uint32_t idesc) {
  asm volatile("tcgen05.mma.cta_group::1."
               "kind::f16 [%0], %1, %2, %3, 1;" ::"r"(d), "l"(a), "l"(b), "r"(idesc));
}
__global__ void kernel(const CUtensorMap* q_map, const CUtensorMap* kv_map, int d, int bars) {
  extern __shared__ __align__(1024) char buffer[];
  int base = __cvta_generic_to_shared(buffer);
  for (int n = 0; n < 3; n++) {
    load(base + 16384 + n * 16384, q_map, n, bars + n * 8);
    load(base + 16384 + n * 16384, kv_map, n, bars + n * 8);
  }
  load(base, q_map, 0, bars);
  STORE
  constexpr uint32_t idesc = 1u << 4 | 1u << 7 | 1u << 10 | 1u << 16 | (64u >> 3) << 17 | (128u >> 4) << 24;
  for (int n = 0; n < 3; n++)
    for (int k = 0; k < 4; k++)
      multiply(d + n * 64, make_desc(base + k * 32), make_desc(base + 16384 + n * 16384 + k * 16 * 128), idesc);
}
"""
STORE = 'asm volatile("st.shared.b32 [%0], %1;" ::"r"(base + (int)threadIdx.x * 128), "r"(0));'


def check_with_maps(store: str = "", kv_swizzle: str = "128") -> CheckReport:
    maps = {
        f"macro.{name}_map.{key}": value for name in ("q", "kv") for key, value in (("box_0", "64"), ("box_1", "128"))
    }
    maps |= {"macro.q_map.swizzle": "128", "macro.kv_map.swizzle": kv_swizzle}
    return check_text(KERNEL.replace("STORE", store), maps)


def test_an_opcode_that_two_literals_share_is_one_word() -> None:
    assert "cta_group::1.kind::f16 [%0]" in join_strings('"tcgen05.mma.cta_group::1." // half\n  "kind::f16 [%0]"')


def test_maps_that_store_alike_may_fill_the_same_bytes() -> None:
    """4 K steps of A, and 4 of each of B's three tiles, each of which a box of its own fills."""
    report = check_with_maps()
    assert (report.findings, report.steps) == ((), 16)
    assert check_with_maps(kv_swizzle="64").steps == 4  # which of the two maps B has is open


def test_what_threads_store_after_tma_is_not_what_the_map_says() -> None:
    report = check_with_maps(STORE)
    assert (report.findings, report.steps) == ((), 12)
    assert any("threads store into it after TMA" in one.message for one in report.open)


def test_a_wrong_step_in_such_a_tile_is_found() -> None:
    wrong = KERNEL.replace("STORE", "").replace("k * 16 * 128", "k * 8 * 128")
    given = {
        f"macro.{m}_map.{key}": v
        for m in ("q", "kv")
        for key, v in (("box_0", "64"), ("box_1", "128"), ("swizzle", "128"))
    }
    assert check_text(wrong, given).findings


@for_each(
    ("term", "names"),
    [
        ("((threadIdx.x/128 - 1) == 1 ? 4 : thre…82b855a1)", "threadIdx.x"),
        ("(BK / 64)·p.pitch", "BK, p.pitch"),
        ("(defined(DEBUG) ? 4 : another value)", "DEBUG"),
        ("threadI…", "a value that has no name"),
    ],
)
def test_no_name_is_cut_off(term: str, names: str) -> None:
    assert _join_names([term]) == names


def test_a_long_list_is_shortened_and_whole_in_json() -> None:
    names = [f"P{n}" for n in range(9)]
    text = f"template <{', '.join(f'int {name}' for name in names)}> __global__ void kernel() {{"
    text += 'uint64_t desc = make(P0) | 1ull << 62; asm("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"); }'
    text = "__device__ uint64_t make(int x) { return (uint64_t)((x & 0x3FFFF) >> 4) | (uint64_t)64 << 32; }\n" + text
    report = merge_reports([check_source(SourceText("a.cu", text), 60.0)])
    assert any(all(name in gap for name in names) for gap in report.gaps)
    assert "P5 and 3 more" in "\n".join(list_notes(report)) and "P6" not in "\n".join(list_notes(report))
    assert describe_gap("depends on BN", 2) == "2 depend on BN"


def test_what_differs_from_thread_to_thread_is_not_asked_for() -> None:
    report = merge_reports([check_source(SourceText("a.cu", ""), 60.0)])
    report.sources[0].gaps.update({"depends on threadIdx.x, BK": 1})
    (note,) = [line for line in list_notes(report) if "Give" in line]
    assert note.endswith("Give -D BK=VALUE.")


@for_each(
    ("text", "said"),
    [
        ('void f() { asm("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"); }', "wgmma and no descriptor"),
        ("using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>>;", "CuTe's TiledMMA and no tile"),
    ],
)
def test_what_a_file_has_none_of_is_what_it_would_multiply(text: str, said: str) -> None:
    report = merge_reports([check_source(SourceText("a.cu", text), 60.0)])
    assert f"It has {said} that is" in "\n".join(list_notes(report))


def test_folders_of_the_table_begin_at_the_argument() -> None:
    report = merge_reports(check_source(SourceText(f"/a/b/{name}", ""), 60.0) for name in ("x.cu", "c/y.cu"))
    assert [line.split()[0] for line in list_stats(report.sources, ["/a/b"])] == ["folder", ".", "c", "all"]
    assert [line.split()[0] for line in list_stats(report.sources, ["/a/b/x.cu", "/a/b/c"])][1:3] == [".", "c"]


def test_an_invalid_id_is_no_descriptor() -> None:
    text = "struct EventDesc { EventDesc() : first(0x7fffffffffffffffull) {} unsigned long long first; };\n"
    assert check_text(text + "EventDesc desc; // wgmma").findings == ()


TILED = """
template <class T, int M, int N> __device__ void run(T* tile) {
  auto tiled_mma = make_tiled_mma(SM100_MMA_F16BF16_SS<T, T, float, M, N, UMMA::Major::K, UMMA::Major::K>{});
  auto tensor = make_tensor(make_smem_ptr(tile), UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<T>{}, shape));
  auto fragment = tiled_mma.get_slice(0).make_fragment_A(tensor);
}
"""


def test_the_parameters_of_an_open_tiled_mma_are_named() -> None:
    report = check_text(TILED)
    assert [one.gap for one in report.checked] == ["depends on T, M, N"]
    assert "depends on T, M, N" in report.open[0].message


def test_an_array_has_an_address_that_nobody_can_give() -> None:
    assert _join_names(["As"], "__shared__ half As[64 * 64];") == "the address of the array As"
    assert _join_names(["As + BK"], "half* As = smem;") == "As, BK"


def test_an_instruction_may_follow_the_end_of_a_line_in_its_string() -> None:
    """The n of \\n is none of its letters."""
    kernel = (
        '__global__ void k(int* p) { asm volatile("{\\n\\tldmatrix.sync.aligned.m8n8.x4.shared.b16 a;\\nREST;}"); }'
    )
    found = [list_kernels_by_text(kernel.replace("REST", rest)) for rest in ("mma.sync a", "wgmma.mma_async a", "ret")]
    gaps = ["", "with ldmatrix beside wgmma", "without an mma that takes what it loads"]
    assert [one.gap for (one,) in found] == gaps


UNLAUNCHED = """__global__ void multiply(float* c, const uint32_t* x) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]));
}
"""


def test_a_missing_number_of_threads_is_said_once() -> None:
    report = merge_reports([check_source(SourceText("a.cu", UNLAUNCHED), 60.0)])
    (note,) = list_notes(report)
    assert "The fragments of multiply are not verified" in note and "-D blockDim.x=128" in note


@for_each(
    ("changes", "printed"),
    [
        ({}, False),  # the notes of the kernel say it
        ({"kernel_gaps": {}, "gaps": {"tile_unknown": 1}}, True),
        ({"unfound": ["tile.h"]}, True),
        ({"gaps": {"tile_unknown": 1}}, True),
        ({"gaps": {"unread": 1}}, False),
        ({"kernel_gaps": {"depends on BK": 1}}, True),
        ({"multiplier": "wgmma"}, False),
        ({"multiplier": "wgmma", "descriptors": 0}, True),
    ],
)
def test_a_file_has_a_note_of_its_own_if_it_says_more_than_those_of_its_kernels(
    changes: dict[str, Any], printed: bool
) -> None:
    facts = {"kernels": 1, "kernel_gaps": {"with operands of unknown origin": 1}, "gaps": {}, "descriptors": 1}
    facts |= {"file": "a.cu", "lines": 1, "included": [], "unfound": [], "tensor_maps": 0, "verified": 0, "placed": 0}
    source = CheckedSource(**{**facts, "multiplier": "", "target": "", **changes})
    assert bool(list(list_notes(replace(merge_reports(()), sources=[source])))) is printed


def test_instructions_that_read_one_operand_have_one_note() -> None:
    multiply = """  asm volatile("wgmma.mma_async.sync.aligned.m64n%dk16.f32.f16.f16 {%%0}, %%1, %%2, 1, 1, 1, 0, 0;"
               : "+f"(d[0]) : "l"(desc), "l"(b));
"""
    word = "(uint64_t)((__cvta_generic_to_shared(a) & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62"
    head = f"__global__ void f(float* d) {{\n  __shared__ half a[64 * 64];\n  uint64_t desc = {word};\n"
    text = head + "".join(multiply % n for n in (8, 16, 24)) + "}\n"
    (note,) = collect_notes(merge_reports([check_source(SourceText("a.cu", text), 60)]))
    assert note.message == (
        "A of wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 and of 2 other instructions is not verified:"
        " no tensor map, layout or store that is followed says how A is stored. (3 reads)"
    )


def test_a_mistake_in_a_header_is_listed_once_with_the_repair_of_one_of_its_sources() -> None:
    finding = make_finding((3, 5, 8, "BN"))
    fixed = replace(check_source(SourceText("a.cu", ""), 60.0), findings=(finding,))
    moved = replace(finding, edits=[], place=replace(finding.place, column=1, end_column=2))
    bare = replace(fixed, findings=(moved,))
    assert merge_reports([bare, fixed]).findings == merge_reports([fixed, bare]).findings == [finding]
    elsewhere = replace(moved, place=replace(moved.place, line=moved.place.line + 1))
    assert len(merge_reports([replace(fixed, findings=(elsewhere,)), fixed]).findings) == 2


def test_a_wrong_d_that_follows_from_a_descriptor_has_no_note_of_its_own() -> None:
    """Also beside a comment on kernels: the text has one kernel, and its D is wrong because it reads wrong bytes."""
    wrong = ORIGIN_KERNEL.replace("1024", "512", 1)
    report = check_text(f"// what a __global__ function may read\n{wrong}")
    assert ([one.code for one in report.findings], report.open) == (["sbo_other_width"], ())
