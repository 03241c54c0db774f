"""`lanescope check`: right sources are clean, planted mistakes stand at their line, and nothing rests on a guess."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lanescope.descriptor import causes
from lanescope.workbench import build_workbench, check as engine, finding_codes, results
from lanescope.workbench.check import check_text as checked
from lanescope.workbench.reads import operand_findings, verification
from lanescope.workbench.repair.consequences import FOLLOWS
from lanescope.workbench.source import guesses
from lanescope.workbench.source.source_objects import find_source_objects
from tests import test_reader_code as builders, workbench_cases
from tests.cases import for_each
from tests.checked import check_text as check, list_findings
from tests.guilty_kernels import RIGHT as RIGHT_KERNEL, plant
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


@for_each("case", builders.CASES, ids=str)
def test_public_builders_have_no_finding_but_their_own(case: Any) -> None:
    """62 texts after public code: what is found is what their heads say is wrong with them."""
    told = {one.code for one in check(case.code).findings}
    wanted = case.expected.get("warn", "") or case.expected.get("problems", "")
    assert told - results.WARNINGS == set(filter(None, wanted.split(",")))


def sample_kernels() -> list[Any]:
    """One kernel in twenty of every verdict and cause, the shortest among them. tests/test_workbench.py has more."""
    alike: dict[Any, list[Any]] = {}
    for case in workbench_cases.CASES:
        alike.setdefault((case.head["verdict"], case.head.get("cause"), "open" in case.head), []).append(case)
    return [
        case
        for some in alike.values()
        for case in (some if FULL else sorted(some, key=lambda case: len(case.text))[::20])
    ]


@for_each("case", sample_kernels(), ids=str, sample=8)
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


def plant_mistake(old: str, new: str, text: str = RIGHT) -> str:
    assert old in text
    return text.replace(old, new, 1)


@for_each(
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
    sample=4,
)
def test_a_planted_mistake_is_found_at_its_line(old: str, new: str, code: str, line: str) -> None:
    text = plant_mistake(old, new)
    found = list_findings(text)
    assert any(one == code and line in at for one, at in found), found


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
    told = build_workbench(wrong, copied=False)
    bare = build_workbench(wrong, copied=False, why=False)
    assert told.operands[0].wrong[0].causes and not any(s.causes for o in bare.operands for s in o.steps)
    assert [(s.verdict, s.word) for o in bare.operands for s in o.steps] == [
        (s.verdict, s.word) for o in told.operands for s in o.steps
    ]
    looked, tried = verification.diagnose_step, guesses.build_workbench
    monkeypatch.setattr(verification, "diagnose_step", lambda *a, **k: asked.append("causes") or looked(*a, **k))
    build_workbench(wrong, copied=False)
    own = len(asked)
    for module in (operand_findings, guesses):
        monkeypatch.setattr(module, "build_workbench", lambda *a, **k: asked.append("bench") or tried(*a, **k))
    checked(wrong)
    assert asked.count("bench") > 2 and asked.count("causes") == 2 * own > 0


def test_every_code_has_a_title() -> None:
    codes = set(finding_codes.TITLES) | set(causes.TITLES)
    root = Path(engine.__file__).parents[1]
    sources = [root / "shared" / "tma.py", *sorted((root / "reader" / "code").rglob("*.py"))]
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


@pytest.mark.thorough
def test_a_map_behind_a_long_kernel_is_found() -> None:
    """Calls without a body that say nothing of maps and descriptors do not take their places."""
    calls = " ".join(f"stage{n}(out); flush();" for n in range(1200))
    told = check(f"__global__ void other(float* out) {{ uint64_t desc = 0; {calls} }}\n" + RIGHT)
    assert (told.maps, told.steps, told.open) == (2, 8, ())


@pytest.mark.thorough
def test_a_function_that_is_not_evaluated_to_its_end_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
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
    (left,) = check(bounded.replace("int K)", "const int* K)").replace("K / 64", "K[0] / 64")).open
    assert not left.needs  # no number ends a loop to what a pointer points to
    helper = f"__device__ void turn(int n) {{ {body.replace('i < 16', 'i < n / 64')} }}\n"
    (left,) = check(helper + "__global__ void heavy(int* K) { turn(K[0]); }").open
    assert not left.needs  # the call passes n


@for_each("sbo", [1024, 512])
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


def test_most_planted_mistakes_are_findings() -> None:
    """The rest have one: test_kernels_right_and_wrong."""
    wrong = [case for case in workbench_cases.CASES if case.head["verdict"] == "mismatch"]
    open_ = [case for case in wrong if case.title in OPEN or "open" in case.head]
    assert len(wrong) >= 40 and len(open_) <= len(wrong) // 4
