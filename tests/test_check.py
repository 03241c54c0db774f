"""`lanescope check`: right sources are clean, planted mistakes stand at their line, and nothing rests on a guess."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from lanescope.descriptor import causes
from lanescope.workbench import build_bench, finding_codes, guesses, verification
from lanescope.workbench import check as engine
from lanescope.workbench.check import check_text as checked
from lanescope.workbench.consequences import FOLLOWS
from lanescope.workbench.source_objects import find_source_objects
from tests import test_reader_code as builders
from tests import workbench_cases
from tests.guilty_kernels import RIGHT as RIGHT_KERNEL
from tests.guilty_kernels import plant
from tests.sample import FULL, choose_count

KERNELS = {case.title: case for case in workbench_cases.CASES}
RIGHT = KERNELS["K-major, 128B, all right"].text
# Wrong kernels whose mistake depends on how far apart the text's boxes are put, which no text here says.
OPEN = {
    "past the 64B atom",
    "a wrong panel stride",
    "MN-major B of 128, LBO of another panel",
    "printed words with a tensor map",
    "the tensor map, the builder and the call of one kernel",
}

WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"

check = lru_cache(maxsize=256)(checked)


@pytest.mark.parametrize("case", builders.CASES, ids=str)
def test_public_builders_have_no_finding_but_their_own(case: Any) -> None:
    """62 texts after public code: what is found is what their heads say is wrong with them."""
    told = {one.code for one in check(case.code).findings}
    wanted = case.expected.get("warn", "") or case.expected.get("problems", "")
    assert told - finding_codes.WARNINGS == set(filter(None, wanted.split(",")))


def sample_kernels() -> list[Any]:
    """One kernel in twelve of every verdict and cause, the shortest among them. tests/test_workbench.py has half."""
    alike: dict[Any, list[Any]] = {}
    for case in workbench_cases.CASES:
        alike.setdefault((case.head["verdict"], case.head.get("cause"), "open" in case.head), []).append(case)
    return [
        case
        for some in alike.values()
        for case in (some if FULL else sorted(some, key=lambda case: len(case.text))[::12])
    ]


@pytest.mark.parametrize("case", sample_kernels(), ids=str)
def test_kernels_right_and_wrong(case: Any) -> None:
    """A right kernel is clean; of a wrong one the cause is found, or it is open and says what it rests on."""
    made = check(case.text)
    codes = {one.code for one in made.findings}
    if case.head["verdict"] != "mismatch":
        assert codes == ({"tile_alignment"} if "16-byte aligned" in case.title else set())
    elif (case.title in OPEN or "open" in case.head) and not codes:
        assert any("rests on" in one.message or "Exchange" in one.message for one in made.open)
    else:
        cause = case.head.get("cause")
        assert codes and (
            cause is None or codes & {cause, *(own for own, causes in FOLLOWS.items() if cause in causes)}
        )


def test_most_planted_mistakes_are_findings() -> None:
    """The rest have one: test_kernels_right_and_wrong."""
    wrong = [case for case in workbench_cases.CASES if case.head["verdict"] == "mismatch"]
    open_ = [case for case in wrong if case.title in OPEN or "open" in case.head]
    assert len(wrong) >= 40 and len(open_) <= len(wrong) // 4


def plant_mistake(old: str, new: str, text: str = RIGHT) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("enc(1024) << 32", "enc(512) << 32", "sbo_other_width", "enc(512) << 32"),
        ("1ull << 62", "1 << 62", "shifts_of_32_bits", "d |= 1 << 62"),
        ("1ull << 62", "2ull << 62", "swizzle_mode", "d |= 2ull << 62"),
        ("d |= enc(addr)", "d |= addr & 0x3FFFF", "not_shifted", "d |= addr & 0x3FFFF"),
        ("d |= enc(addr)", "d |= 0x0000000000000000; d |= addr", "not_shifted", "d |= addr"),
        ("sB + k * 16", "sB", "k_step_missing", "make_desc(sB)"),
        ("box_a[2] = {64, 64}", "box_a[2] = {128, 64}", "tma_inner_over_swizzle", "cuTensorMapEncodeTiled(&tma_a"),
        ("strides_a[1] = {K * sizeof(half)}", "strides_a[1] = {200}", "tma_stride", "cuTensorMapEncodeTiled(&tma_a"),
        (
            "strides_a[1] = {K * sizeof(half)}",
            "strides_a[1] = {K}",
            "tma_stride_in_elements",
            "cuTensorMapEncodeTiled(&tma_a",
        ),
    ],
)
def test_a_planted_mistake_is_found_at_its_line(old: str, new: str, code: str, line: str) -> None:
    text = plant_mistake(old, new)
    found = [one for one in check(text).findings if one.code == code]
    assert found, [one.code for one in check(text).findings]
    lines = text.split("\n")
    assert any(line in lines[text.count("\n", 0, one.span[0])] for one in found)


PIPED = """void maps(void* A, void* B, uint64_t M, uint64_t N, uint64_t K) {
  uint64_t dims_a[2] = {K, M}, dims_b[2] = {K, N}, strides[2] = {sizeof(bf16), K * sizeof(bf16)};
  uint32_t box_a[2] = {64, 64}, box_b[2] = {64, 128}, ones[2] = {1, 1};
  cuTensorMapEncodeTiled(&map_a, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, A, dims_a, strides + 1, box_a, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  cuTensorMapEncodeTiled(&map_b, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, B, dims_b, &strides[1], box_b, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
__device__ uint64_t pack(const void* p, uint32_t lead, uint32_t stride, uint64_t mode) {
  uint32_t a = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  uint64_t d = (a & 0x3FFFF) >> 4;
  d |= uint64_t((lead & 0x3FFFF) >> 4) << 16;
  d |= uint64_t((stride & 0x3FFFF) >> 4) << 32;
  return d | mode << 62;
}
template <int TransB> __device__ void multiply(float* d, uint64_t da, uint64_t db) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, %3;"
      : "+f"(d[0]) : "l"(da), "l"(db), "n"(TransB));
}
__global__ void gemm(float* d, int K) {
  extern __shared__ __align__(1024) uint8_t smem[];
  bf16* sA = reinterpret_cast<bf16*>(smem);
  bf16* sB = sA + 4 * 64 * 64;
  for (int tile = 0; tile < K / 64; ++tile) {
    int slot = tile % 4;
    for (int k = 0; k < 4; ++k) {
      uint64_t da = pack(sA + slot * 64 * 64 + k * 16, 16, 1024, 1);
      uint64_t db = pack(sB + slot * 128 * 64 + k * 16, 16, 1024, 1);
      if (k == 0) multiply<0>(d, da, db); else multiply<0>(d, da, db);
    }
  }
}
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        (
            "+ k * 16, 16, 1024, 1);\n      uint64_t db",
            "+ k * 16, 1024, 16, 1);\n      uint64_t db",
            "lbo_sbo_swapped",
            "uint64_t da = pack",
        ),
        ("128 * 64 + k * 16, 16, 1024, 1", "128 * 64 + k * 16, 16, 1024, 3", "tma_swizzle_enum", "uint64_t db = pack"),
        ("slot * 128 * 64 + k * 16", "slot * 128 * 64", "k_step_missing", "uint64_t db = pack"),
        ("slot * 128 * 64 + k * 16", "slot * 64 * 64 + k * 16", "stages_overlap", "uint64_t db = pack"),
        ("K * sizeof(bf16)}", "K}", "tma_stride_in_elements", "cuTensorMapEncodeTiled(&map_a"),
        ("if (k == 0) multiply<0>", "if (k == 0) multiply<1>", "wrong_transpose", "multiply<1>"),
        ("1, 1, 1, 0, %3", "1, 1, 1, 1, %3", "wrong_transpose", "wgmma.mma_async"),
    ],
)
def test_a_mistake_in_a_pipeline_is_found_where_it_was_made(old: str, new: str, code: str, line: str) -> None:
    """Where the variable was given its descriptor, where a helper gives the field, at the one wrong instruction."""
    right, text = check(PIPED), plant_mistake(old, new, PIPED)
    assert (right.findings, right.open, right.steps) == ((), (), 24)
    places = [(one.code, text.count("\n", 0, one.span[0])) for one in check(text).findings]
    assert any(own == code and line in text.split("\n")[at] for own, at in places), places


def test_a_wrong_transpose_does_not_unname_the_operands_map() -> None:
    """The map of A is named map_a whichever way the multiplication reads A, also where the text has no map of B."""
    nameless = PIPED.replace("dims_a[2] = {K, M}", "dims_a[2] = {d0, d1}")
    first, rest = nameless.index("  cuTensorMapEncodeTiled(&map_b"), nameless.index("}\n__device__")
    made = check(plant_mistake("1, 1, 1, 0, %3", "1, 1, 1, 1, %3", nameless[:first] + nameless[rest:]))
    assert [one.code for one in made.findings] == ["wrong_transpose"], made.open


def test_the_other_operands_descriptor_is_told_by_the_code_that_builds_it() -> None:
    """The variables da and db say nothing; what they are built from does."""
    made = check(
        plant_mistake("else multiply<0>(d, da, db)", "else multiply<0>(d, db, da)", PIPED).replace(
            "if (k == 0) multiply<0>(d, da, db); else ", ""
        )
    )
    assert not made.findings and all("Exchange the two descriptors" in one.message for one in made.open) and made.open


def test_stages_that_begin_where_an_earlier_one_did_are_that_one_again() -> None:
    assert check(PIPED.replace("tile % 4", "tile % 1")).findings == ()
    panels = PIPED.replace("tile < K / 64", "tile < 2").replace("slot * 128 * 64", "slot * 64 * 64")
    assert all(one.code != "stages_overlap" for one in check(panels).findings)


def test_what_rests_on_a_guess_is_open() -> None:
    """A mismatch that exchanging two nameless maps mends is no finding, and a helper that nothing calls is none."""
    one = plant_mistake("SWIZZLE_128B", "SWIZZLE_NONE")
    assert {found.code for found in check(one).findings} == {"stored_unswizzled"}
    nameless = (
        one.replace("tma_a", "map0").replace("tma_b", "map1").replace(" A, d", " p, d").replace(" B, d", " q, d")
    )  # now either map may be A's
    made = check(nameless)
    assert made.findings == () and ["rests on" in left.message for left in made.open] == [True]
    helper = "uint64_t desc(uint32_t smem) { return (uint64_t)((smem & 0x3FFFF) >> 4) | 64ull << 32 | 1ull << 62; }"
    made = check(helper)
    assert (made.findings, made.descriptors, len(made.open)) == ((), 1, 1)


def test_a_mismatch_on_two_guesses_or_on_too_many_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assumed values are varied one by one, then in pairs; where that is cut short, nothing is claimed."""
    wrong = plant_mistake("sB + k * 16", "sB")
    assert [one.code for one in check(wrong).findings] == ["k_step_missing"]

    def assumed(count: int) -> None:
        found = [(f"of{n}.b", "1", f"guess {n}") for n in range(count)]
        monkeypatch.setattr(guesses, "_list_assumed_values", lambda *_: iter(found))

    checked.cache_clear() if hasattr(checked, "cache_clear") else None
    for count, mended, says in (
        (2, {"of0.b", "of1.b"}, "rests on guess 0 and guess 1"),
        (guesses.MOST_VARIED + 1, None, "have to be tried"),
        (guesses.MOST_VARIED, None, "pairs of assumed values"),
        (3, None, ""),
    ):
        assumed(count)
        monkeypatch.setattr(guesses, "_is_repaired", lambda _t, chosen, *_, of=mended: set(chosen) == of)
        made = checked(wrong)
        assert (not made.findings) == bool(says)
        assert any(says in one.message for one in made.open) or not says


def test_other_choices_are_verified_without_looking_for_causes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They cost more than all the rest: a text of many pieces took a minute."""
    wrong, asked = plant_mistake("SWIZZLE_128B", "SWIZZLE_NONE"), []
    told = build_bench(wrong, copied=False)
    bare = build_bench(wrong, copied=False, why=False)
    assert told.operands[0].wrong[0].causes and not any(s.causes for o in bare.operands for s in o.steps)
    assert [(s.verdict, s.word) for o in bare.operands for s in o.steps] == [
        (s.verdict, s.word) for o in told.operands for s in o.steps
    ]
    looked, tried = verification.diagnose_step, guesses.build_bench
    monkeypatch.setattr(verification, "diagnose_step", lambda *a, **k: asked.append("causes") or looked(*a, **k))
    build_bench(wrong, copied=False)
    own = len(asked)
    for module in (engine, guesses):
        monkeypatch.setattr(module, "build_bench", lambda *a, **k: asked.append("bench") or tried(*a, **k))
    checked(wrong)
    assert asked.count("bench") > 2 and asked.count("causes") == 2 * own > 0


def test_pitfalls_elsewhere_in_a_file_are_no_findings() -> None:
    """A 32-bit shift that no descriptor is made of stays out of the report."""
    other = "int hash(int x) { int desc_count = 1 << 40; return desc_count + x; }\n"
    assert check(other + RIGHT).findings == () == check(RIGHT).findings


def test_a_source_file_is_what_it_is() -> None:
    """Code in comments is none, and neither is what an entity of HTML would stand for."""
    wrong = plant_mistake("1ull << 62", "1 << 62")
    for mark in ("// ", "# "):
        made = check("".join(f"{mark}{line}\n" if line.strip() else "\n" for line in wrong.split("\n")))
        assert (made.findings, made.open, made.descriptors, made.maps) == ((), (), 0, 0), mark
    assert check("auto p = &lt;\n" + RIGHT).findings == ()
    assert check("uint64_t desc = 1ull &lt;&lt; 62;").descriptors == 0


def test_every_code_has_a_title() -> None:
    codes = set(finding_codes.TITLES) | set(causes.TITLES)
    root = Path(engine.__file__).parents[1]
    sources = [root / "shared" / "tma.py", *sorted((root / "reader" / "code").glob("*.py"))]
    said = re.compile(r'(?:yield|yield \(|Pitfall\(|\.warn\(|return None, \[)\s*\(?\s*"([a-z_0-9]+)",')
    own = {code for path in sources for code in said.findall(path.read_text("utf-8"))}
    assert len(own) > 15 and {"tma_box_bytes", "tma_swizzle", "tma_inner_stride", "not_shifted"} <= own
    assert own <= codes, own - codes
    texts = [*(case.code for case in builders.CASES), *(case.text for case in workbench_cases.CASES)]
    assert {one.code for text in texts[:: choose_count(16, 48)] for one in check(text).findings} <= codes
    assert (
        "_" not in finding_codes.get_finding_title("tma_rank")
        and finding_codes.get_finding_title("other_bytes") == "Other bytes"
    )


SIBLINGS = """CUtensorMap mapA, mapB;
uint64_t dim[2] = {4096, 4096}, stride[1] = {8192};
uint32_t box[2] = {64, 128}, es[2] = {1, 1};
cuTensorMapEncodeTiled(&mapA, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gA, dim, stride, box, es,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
cuTensorMapEncodeTiled(&mapB, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, gB, dim, stride, box, es,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
__device__ uint64_t make_desc(bf16* p) {
  uint64_t d = 0; uint32_t a = (uint32_t)__cvta_generic_to_shared(p);
  d |= (a & 0x3FFFF) >> 4; d |= (uint64_t)1 << 16; d |= (uint64_t)(1024 >> 4) << 32; d |= 1ull << 62; return d;
}
__device__ void wgmma128(float* d, bf16* a, bf16* b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, 0;"
      : "+f"(d[0]) : "l"(make_desc(a)), "l"(make_desc(b)));
}
__global__ void kernel(const __grid_constant__ CUtensorMap mapA, const __grid_constant__ CUtensorMap mapB) {
  __shared__ alignas(1024) bf16 sA[3 * 128 * 64], sB[3 * 128 * 64];
  bf16 *pa = sA, *pb = sB;
  wgmma128(d, &pa[0], &pb[0]);
  for (int k_it = 1; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 16], &pb[k_it * 16]);
  pa += 128 * 64; pb += 128 * 64;
  for (int bk = 64; bk < 192; bk += 64) {
    for (int k_it = 0; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 16], &pb[k_it * 16]);
    pa += 128 * 64; pb += 128 * 64;
  }
}
"""


def test_a_first_step_outside_its_loop_and_a_loop_around_another_are_one_walk_along_k() -> None:
    """The K steps of fast.cu's later kernels: by what nests in what, not by which loop comes first."""
    told = check(SIBLINGS)
    assert told.findings == () and told.steps == 24
    wrong = check(
        SIBLINGS.replace(
            "k_it = 0; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 16]",
            "k_it = 0; k_it < 4; ++k_it) wgmma128(d, &pa[k_it * 24]",
        )
    )
    assert wrong.findings


def test_a_file_is_given_more_patience_than_a_paste() -> None:
    """A long kernel before the one of interest: a page stops in it, the command does not."""
    other = "\n".join(
        f"__global__ void other{n}(float* out) {{ uint64_t desc = 0; for (int i = 0; i < 16; ++i)"
        " for (int j = 0; j < 16; ++j) { desc += i * j; desc ^= i << j; out[i] = load(desc); } }"
        for n in range(6)
    )
    text = other + "\n" + plant_mistake("sB + k * 16", "sB")
    assert not build_bench(text).complete
    told = check(text)
    assert [one.code for one in told.findings] == ["k_step_missing"] and not any(
        "too long" in o.message for o in told.open
    )


NAMESAKES = """using barrier = cuda::barrier<cuda::thread_scope_block>;
template <class T> using Vec = cute::Vec<T>;
struct Gemm { static __device__ void run(float* d, int k) { cute::Gemm::run(d, k); run(d, k - 1); } };
__device__ int depth(int n) { return n < limit ? depth(n + 1) + depth(n - 1) : n; }
"""


def test_names_of_libraries_that_a_text_uses_again_end_nothing() -> None:
    """An alias or a function named as what it calls in a library stood for itself, and the kernel was not evaluated."""
    own = "__shared__ barrier full[2]; Vec<float> v; Gemm::run(d, 3); depth(K);"
    kernel = plant_mistake("  float d[", f"  {own}\n  float d[")
    for text, codes, right in ((kernel, [], 8), (kernel.replace("sB + k * 16", "sB"), ["k_step_missing"], 5)):
        told = check(NAMESAKES + text)
        assert [one.code for one in told.findings] == codes and told.steps == right and told.open == ()


def test_a_map_behind_a_long_kernel_is_found() -> None:
    """Calls without a body that say nothing of maps and descriptors do not take their places."""
    calls = " ".join(f"stage{n}(out); flush();" for n in range(1200))
    told = check(f"__global__ void other(float* out) {{ uint64_t desc = 0; {calls} }}\n" + RIGHT)
    assert (told.maps, told.steps, told.open) == (2, 8, ())


def test_what_a_loop_with_an_open_end_may_fill_is_not_judged() -> None:
    """Mosaic's runtime: strides of a rank that the text leaves open. Items that no loop fills are judged."""
    text = """void make(CUtensorMap* map, void* p, int rank, int64_t* sizes) {
  cuuint64_t dims[5] = {1, 1, 1, 1, 1}, strides[5] = {1, 1, 1, 1, 1};
  cuuint32_t box[5] = {64, 64, 1, 1, 1}, ones[5] = {1, 1, 1, 1, 1};
  for (int i = 0; i < rank - 1; ++i) { cuuint64_t step = sizes[i] * 2; strides[i] = step; }
  cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, RANK, p, dims, strides, box, ones,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}"""
    assert check(text).findings == () and check(text).maps == 1
    turned = text.replace("strides[i] = step", "strides[rank - 2 - i] = step; box[rank - 1 - i] = sizes[i]")
    assert check(turned.replace("{64, 64, 1, 1, 1}", "{0}")).findings == ()
    wider = check(text.replace("{64, 64, 1, 1, 1}", "{128, 64, 1, 1, 1}"))
    assert [one.code for one in wider.findings] == ["tma_inner_over_swizzle"]


@pytest.mark.parametrize(
    ("block", "codes"),
    [
        ("dummy_block", set()),
        ("[8, 512]", set()),
        ("[128, 64]", set()),
        ("[64, 4]", {"tma_inner_box"}),
    ],
)
def test_blocks_that_triton_replaces_or_cuts_are_right(block: str, codes: set[str]) -> None:
    """The launch gives a dummy block its size, and a block of more than 256 is copied in several boxes."""
    text = f"""import torch
from triton.tools.tensor_descriptor import TensorDescriptor
def launch(M, K):
    a = torch.empty((M, K), dtype=torch.float16)
    dummy_block = [1, 1]
    desc = TensorDescriptor(a, shape=[M, K], strides=[K, 1], block_shape={block})
"""
    made = check(text)
    assert made.maps == 1 and {one.code for one in made.findings} == codes


def test_a_function_that_is_not_evaluated_to_its_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 1)
    monkeypatch.setattr(guesses, "PATIENCE", 1)
    turns = "for (int i = 0; i < 16; ++i) for (int j = 0; j < 16; ++j) for (int k = 0; k < 8; ++k)"
    body = f"uint64_t desc[1]; {f'{turns} out[i] += j * k + i * j;' * 8}"
    text = f"// head\n__global__ void heavy(float* out) {{ {body} }}\n"
    (left,) = check(text).open
    assert left.message.startswith("heavy is too long to be evaluated to the end: the rest of it")
    assert text[slice(*left.span)] == "heavy" and not left.needs
    bounded = text.replace("(float* out)", "(float* out, int K)").replace("i < 16", "i < K / 64")
    (left,) = check(bounded).open
    assert left.needs == ("K",) and left.message.endswith("Give K by -D to end its loops earlier.")


def test_masks_of_a_source_file_are_no_descriptors() -> None:
    text = "constexpr uint64_t MASKS[2] = {0x1FFF01FF001F0001, 0x0000001F00000001};"
    assert check(text).descriptors == 0 and check(f"uint64_t desc = 0x4000004000010040;\n{text}").descriptors == 1


@pytest.mark.parametrize(
    "code",
    [
        "return (uint64_t)arch << 48 | (uint64_t)m << 32 | (uint64_t)n << 16 | (uint64_t)k;",
        "return (uint64_t(z) << 48) | (uint64_t(row) << 24) | col;",
        "uint64_t c = (uint64_t)r << 56 | (uint64_t)g << 40 | (uint64_t)b << 24 | 1ull << 62;",
        "return (uint64_t)seq << 46 | (uint64_t)worker << 40 | ticket;",
    ],
)
def test_halves_and_bytes_side_by_side_are_no_descriptor(code: str) -> None:
    """A key, a plan and a colour are packed into 64 bits, too; the descriptor's own fields still make one."""
    made = check(f"uint64_t key(uint16_t arch, uint32_t m, uint32_t n, uint32_t k) {{ {code} }}")
    assert not made.findings and not made.descriptors
    own = "return (uint64_t)(a >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;"
    assert check(f"uint64_t f(uint32_t a) {{ {own} }}").descriptors == 1


@pytest.mark.parametrize("sbo", [1024, 512])
def test_reads_of_an_assumed_storage_are_not_verified_whether_they_fit_or_not(sbo: int) -> None:
    """One tensor map for two operands: nothing says which is stored by it. With SBO 512 B does not fit it."""
    text = next(case.text for case in workbench_cases.CASES if "gmma_desc_b.set(smem_k + ki * 32" in case.text)
    one = re.sub(r"cuTensorMapEncodeTiled\(&desc_k.*?;\n", "", text, flags=re.S).replace("&desc_q", "&desc_x")
    placed = one.replace("64 * 64 * 2 + 16;", "64 * 64 * 2;").replace(
        "smem_k + ki * 32, 0, 1024", f"smem_k + ki * 32, 0, {sbo}"
    )
    report = check(placed)
    assert not report.findings and report.steps == 0
    assert [(one.reason.partition(" as tensor map")[0], one.count) for one in report.unverified] == [
        ("Nothing says that A is stored", 4),
        ("Nothing says that B is stored", 4),
    ]
    assert all("desc" in placed[slice(*one.span)] or "wgmma" in placed[slice(*one.span)] for one in report.unverified)
    assert bool(report.open) == (sbo == 512)


def test_a_derived_class_of_python_is_read() -> None:
    text = "class Base:\n  pass\nclass Child(Base):\n  def f(self, addr):\n    desc = (addr & 0x3FFFF) >> 4"
    assert checked(f"{text} | 1 << 16 | 64 << 32 | 1 << 62\n    return desc\n").descriptors == 1


def test_a_finding_says_where_its_wrong_reads_stand() -> None:
    """The mistake is in the helper; A gets its descriptor from a call, in each of the four turns of the K loop."""
    text = plant(("(1024 >>", "(512 >>"))
    (finding,) = check(text).findings
    assert (text[slice(*finding.span)], finding.reads) == ("512", 4)
    assert [(text[slice(*read.span)], read.message) for read in finding.follows] == [
        ("desc_a = make_smem_desc(sA + k * 16)", f"A of {WGMMA}: 4 reads from the wrong place."),
        (WGMMA, "This instruction reads A from the wrong place."),
    ]


def test_a_call_is_listed_each_time_that_it_builds_a_descriptor() -> None:
    text = RIGHT_KERNEL.replace("uint64_t desc_b", "uint64_t spare = make_smem_desc(sA); uint64_t desc_b")
    made = find_source_objects(text)
    assert [(one.name, one.lbo_bytes, one.sbo_bytes, one.swizzle) for one in made.builders] == [
        ("desc_a", 16, 1024, "128B"),
        ("spare", 16, 1024, "128B"),
        ("desc_b", 16, 1024, "128B"),
    ]
    assert [(one.box, one.swizzle) for one in made.maps] == [((64, 64), "128B")]
