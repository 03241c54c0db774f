"""Which instruction Triton chooses for tl.dot, against Triton's own compiler, which runs in another process."""

from __future__ import annotations

import random
from typing import Any

import pytest

from lanescope.errors import LayoutError
from lanescope.triton.dot import TritonDot, choose_instruction
from lanescope.triton.dot_product import DotChoice
from lanescope.triton.dot_types import TYPES
from lanescope.triton.gluon import triton_layout
from tests.cases import for_each
from tests.oracle.triton_dot import Case, compile_dots
from tests.oracle.triton_frontend import Case as FrontendCase, ask_frontend
from tests.sample import choose_count

TARGETS = (75, 80, 86, 87, 88, 89, 90, 90, 90, 100, 100, 103, 107, 110, 120, 121)
WARPS = (1, 2, 4, 4, 4, 8, 8, 16, 32)
NARROW = ("fp8e4nv", "fp8e5", "e2m1")
KINDS = ("fp16", "bf16", "fp32", "fp32", "fp64", "int8", "fp8e4nv", "fp8e5")
PRECISIONS = ("tf32", "tf32", "ieee", "tf32x3", "bf16x3", "bf16x6")
LEAST = {"int8": 32, "fp8e5": 32, "fp16": 16, "bf16": 16, "fp32": 8, "fp64": 4}  # K
DEFAULT_IMPRECISE = 1 << 30  # of FP8 on sm_90, which Triton's Python fills in


class Dots:
    """Products by chance that Triton takes, the same in every run."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def power(self, low: int, high: int) -> int:
        return 1 << self.random.randint(low, high)

    def make(self) -> TritonDot:
        return self.make_scaled() if self.random.random() < 0.3 else self.make_plain()

    def make_scaled(self) -> TritonDot:
        pick = self.random.choice
        a, b = pick((*NARROW, "bf16", "fp16")), pick(NARROW)
        if pick((False, True)):
            a, b = b, a
        scales = "".join(name for name, kind in (("a", a), ("b", b)) if kind in NARROW)
        scales = pick(("ab", "ab", "a", "b")) if scales == "ab" else scales
        factor = pick((16, 32)) if a == b == "e2m1" and scales == "ab" else 32
        sizes = (self.power(0, 9), self.power(0, 9), self.power(5, 8))
        return TritonDot(*sizes, a, b, f"sm_{pick(TARGETS)}", num_warps=pick(WARPS), scales=scales, factor=factor)

    def make_plain(self) -> TritonDot:
        pick = self.random.choice
        a, target = pick(KINDS), pick(TARGETS)
        fp8 = a in NARROW
        precision = pick(PRECISIONS) if a == "fp32" else "tf32"
        k = self.power({8: 5, 16: 4, 32: 3, 64: 2}[TYPES[a].bits], 8)
        imprecise = pick((None, 0, 16, 32)) if fp8 else None
        return TritonDot(
            self.power(0, 9),
            self.power(0, 9),
            k,
            a,
            pick(NARROW[:2]) if fp8 else a,
            f"sm_{target}",
            acc={"fp64": "fp64", "int8": "int32"}.get(a) or (pick(("fp32", "fp16")) if fp8 or a == "fp16" else "fp32"),
            num_warps=pick(WARPS),
            num_ctas=pick((1, 1, 2, 4)) if target >= 90 and precision in ("tf32", "ieee") else 1,
            precision=precision,
            imprecise=imprecise,
            computed=self.random.random() < 0.3 and not fp8,
        )

    def list_chosen(self, count: int, most: int = 1 << 30) -> list[tuple[TritonDot, DotChoice]]:
        """So many products with what is chosen, of at most `most` multiplications."""
        out: list[tuple[TritonDot, DotChoice]] = []
        while len(out) < count:
            dot = self.make()
            if dot.m * dot.n * dot.k > most:
                continue
            try:
                out.append((dot, choose_instruction(dot)))
            except LayoutError:
                continue
        return out


def make_case(dot: TritonDot) -> Case:
    default = DEFAULT_IMPRECISE if dot.capability == 90 and dot.a.startswith("fp8") else 0
    return {
        **{name: getattr(dot, name) for name in ("m", "n", "k", "a", "b", "acc", "precision", "scales", "factor")},
        "capability": dot.capability,
        "warps": dot.num_warps,
        "blocks": dot.num_ctas,
        "imprecise": default if dot.imprecise is None else dot.imprecise,
        "computed": dot.computed,
    }


def find_difference(found: DotChoice, products: list[dict[str, str]] | None, final: bool) -> str:
    """In what an answer differs from Triton's products; "" where it does not. final: of the last TTGIR."""
    if products is None or len(products) != found.product.count:
        return "number of products"
    if found.layout not in products[-1]["d"]:
        return "layout of D"
    if any((found.before or found.layout) not in one["d"] for one in products[:-1]):
        return "layout of the sums before"
    for name, operand in (("a", found.a), ("b", found.b)):
        seen = products[-1][name]
        memory = {"shared memory": "#ttg.shared_memory", "registers": operand.layout}.get(operand.place)
        if memory is None:  # Triton stores A in shared memory first, and moves it later
            memory = "#ttng.tensor_memory" if final else "#ttg.shared_memory"
        if memory not in seen or f"x{operand.type.mlir}, " not in seen:
            return f"operand {name}"
        if seen.startswith("tensor") != (operand.place == "registers"):
            return f"place of {name}"
    return ""


def list_differences(
    stage: str, dots: list[tuple[TritonDot, DotChoice]], seen: list[list[dict[str, str]] | None] | None = None
) -> list[Any]:
    seen = compile_dots([make_case(dot) for dot, _ in dots], stage) if seen is None else seen
    assert len(seen) == len(dots)
    return [
        (why, dot, found.layout, products)
        for (dot, found), products in zip(dots, seen, strict=True)
        if (why := find_difference(found, products, stage == "ttgir"))
    ]


def test_triton_chooses_the_same_instructions_and_layouts() -> None:
    """A wrong answer, of another shape or with another place of A, differs."""
    dots = Dots(38).list_chosen(choose_count(5000, 60))
    known = TritonDot(128, 128, 64, "fp16", "fp16", "sm_90a")
    *seen, products = compile_dots([make_case(dot) for dot in (*(dot for dot, _ in dots), known)], "chosen")
    assert list_differences("chosen", dots, seen) == []
    other = choose_instruction(TritonDot(128, 64, 64, "fp16", "fp16", "sm_90a"))
    moved = choose_instruction(TritonDot(128, 128, 64, "fp16", "fp16", "sm_90a", computed=True))
    assert find_difference(choose_instruction(known), products, False) == ""
    assert find_difference(other, products, False) == "layout of D"
    assert find_difference(moved, products, False) == "operand a"


@pytest.mark.thorough
def test_the_ptx_has_the_instruction() -> None:
    dots = [one for one in Dots(40).list_chosen(choose_count(150, 3), 1 << 16) if one[0].capability != 88]
    seen = compile_dots([make_case(dot) for dot, _ in dots], "ptx")
    for (dot, found), opcodes in zip(dots, seen, strict=True):
        if opcodes is None:
            assert any(note.startswith("Triton stops") for note in found.notes), dot
            continue
        assert [one for one in opcodes if not one.startswith("fma")] or found.instruction == "fma", dot
        assert found.ptx in opcodes, (dot, opcodes)


def test_what_tritons_python_refuses_is_refused() -> None:
    cases: list[FrontendCase] = [
        (80, "fp8e4nv", "fp8e4nv", 64, 64, 64, None),
        (89, "fp8e4nv", "fp8e4nv", 64, 64, 64, None),
        (75, "fp8e5", "fp8e5", 64, 64, 64, None),
        (90, "fp8e5", "fp8e4nv", 64, 64, 64, None),
        (90, "fp8e5", "fp8e5", 64, 64, 64, 64),
        (90, "fp8e5", "fp8e5", 64, 64, 64, 128),
        (80, "fp16", "bf16", 64, 64, 64, None),
        (80, "fp16", "fp16", 1, 1, 16, None),
        *((80, kind, kind, 16, 16, k, None) for kind, least in LEAST.items() for k in (least, least // 2)),
        (80, "fp16", "fp16", 2048, 16, 1024, None),
    ]
    answers = ask_frontend(cases)
    assert answers.count(None) == 10
    for (capability, a, b, m, n, k, imprecise), told in zip(cases, answers, strict=True):
        acc = {"f32": "fp32", "f64": "fp64", "i32": "int32"}.get(told or "", "fp64" if a == "fp64" else "fp32")
        acc = "int32" if a == "int8" else acc
        dot = TritonDot(m, n, k, a, b, f"sm_{capability}", acc=acc, imprecise=imprecise)
        if told is None:
            with pytest.raises(LayoutError):
                choose_instruction(dot)
        else:
            choose_instruction(dot)


def choose(*sizes: int, kind: str = "fp16", target: str = "sm_90a", **more: Any) -> DotChoice:
    return choose_instruction(TritonDot(*sizes, kind, more.pop("b", kind), target, **more))


# triton-lang/triton #4758: attention on Hopper ran on mma.sync, the tutorial on wgmma. The tile had fewer than 64 rows.
def test_a_tile_of_fewer_than_64_rows_has_no_wgmma() -> None:
    few, enough = choose(32, 64, 64), choose(64, 64, 64)
    assert (few.instruction, enough.instruction) == ("mma", "wgmma")
    assert few.reason == "not wgmma.mma_async: M = 32 < 64: wgmma has 64 rows or more"


# triton-lang/triton #7550: dot_scaled on an RTX 5090 became bf16 mma.sync whatever its types were. In 3.9 only mixed
# types and a missing scale do.
@for_each(
    ("a", "b", "scales", "ptx"),
    [
        ("fp8e4nv", "fp8e5", "ab", "m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e5m2.f32.ue8m0"),
        ("e2m1", "e2m1", "ab", "m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"),
        ("e2m1", "fp8e4nv", "ab", "m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("fp8e4nv", "fp8e4nv", "a", "m16n8k16.row.col.f32.bf16.bf16.f32"),
    ],
)
def test_dot_scaled_on_an_rtx_5090(a: str, b: str, scales: str, ptx: str) -> None:
    found = choose(128, 128, 128, kind=a, b=b, target="sm_120a", scales=scales)
    assert found.ptx == f"mma.sync.aligned.{ptx}"
    assert any("emulated" in note for note in found.notes) == ("bf16" in ptx)


@for_each(
    ("found", "reason"),
    [
        (choose(128, 128, 64, num_warps=2), "num_warps = 2 is not a multiple of 4"),
        (choose(128, 128, 64, kind="fp32", precision="ieee"), "fp32 with input_precision ieee"),
        (choose(128, 128, 64, kind="fp8e5", imprecise=0), "max_num_imprecise_acc = 0 < 32"),
        (choose(128, 128, 64, num_warps=16, target="sm_100"), "num_warps = 16"),
        (choose(128, 128, 64, kind="int8", acc="int32", target="sm_103"), "int8"),
        (choose(128, 128, 64, kind="fp64", acc="fp64", target="sm_120"), "fp64: on sm_120"),
        (choose(128, 128, 64, target="sm_75"), "from sm_80 on"),
        (choose(128, 128, 64, target="sm_90a"), "sm_90a, M = 128"),  # the target as it was given
        (choose(128, 128, 64, target="sm_120a"), "sm_120a has neither"),
    ],
)
def test_the_condition_that_decided(found: DotChoice, reason: str) -> None:
    assert reason in found.reason


@for_each(
    ("asked", "field"),
    [
        ({"m": 48}, "m"),
        ({"k": 8}, "k"),
        ({"b": "bf16"}, "b"),
        ({"kind": "fp8e4nv", "target": "sm_80"}, "a"),
        ({"kind": "int8", "acc": "int32", "target": "sm_75"}, "a"),
        ({"kind": "bf16", "acc": "fp16"}, "acc"),
        ({"num_ctas": 2, "target": "sm_89"}, "num_ctas"),
        ({"kind": "e2m1"}, "scales"),
        ({"kind": "e2m1", "scales": "ab", "m": 128, "k": 32, "target": "sm_100"}, "k"),
        ({"kind": "e2m1", "scales": "ab", "k": 32, "target": "sm_120"}, "k"),
        ({"kind": "fp32", "precision": "tf32x3", "num_ctas": 2}, "num_ctas"),
        ({"target": "sm_70"}, "target"),
    ],
)
def test_what_triton_refuses_or_is_open_is_not_answered(asked: dict[str, Any], field: str) -> None:
    sizes = [asked.pop(name, 64) for name in ("m", "n", "k")]
    with pytest.raises(LayoutError) as error:
        choose(*sizes, **asked)
    assert error.value.field == field


@for_each(("m", "n", "acc"), [(64, 64, "fp32"), (128, 32, "fp16"), (256, 64, "fp32"), (512, 128, "fp16")])
@for_each("blocks", [1, 2])
def test_the_columns_of_d_are_those_of_its_layout(m: int, n: int, acc: str, blocks: int) -> None:
    found = choose(m, n, 64, acc=acc, target="sm_100", num_ctas=blocks)
    assert found.columns == triton_layout(found.layout, [m, n], 32 if acc == "fp32" else 16).columns


# Every layout that is chosen is one of Triton's that the engine draws: it covers D.
def test_the_layouts_cover_d() -> None:
    for _, found in Dots(41).list_chosen(200, 1 << 20):
        for text in filter(None, (found.layout, found.before)):
            assert triton_layout(text, list(found.shape), 32).shape == found.shape
