"""Fences, groups and waits of wgmma in PTX modules: a right module has no mistake, a planted one stands at its line."""

from __future__ import annotations

from lanescope.workbench.kernels.ptx_order import find_ptx_order_mistakes
from tests.cases import for_each
from tests.checked import list_findings

PRODUCT = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;"
FENCE, COMMIT, WAIT = (f"wgmma.{step}.sync.aligned" for step in ("fence", "commit_group", "wait_group"))
USE = "st.global.v4.f32 [%rd3], {%f1, %f2, %f3, %f4};"


def write_module(*lines: str, head: str = ".visible .entry k(.param .u64 k_param_0)") -> str:
    body = "\n".join(lines)
    registers = ".reg .pred %p<4>; .reg .f32 %f<9>; .reg .b32 %r<5>; .reg .b64 %rd<5>;"
    return f".version 8.3\n.target sm_90a\n.address_size 64\n{head}\n{{\n{registers}\n{body}\nret;\n}}\n"


STRAIGHT = write_module(f"{FENCE};", PRODUCT, PRODUCT, f"{COMMIT};", f"{WAIT} 0;", USE)
LOOP = write_module(  # one group stays pending from one iteration to the next
    "@%p2 bra DONE;",
    "NEXT:",
    f"{FENCE};",
    PRODUCT,
    f"{COMMIT};",
    f"{WAIT} 1;",
    "add.s32 %r1, %r1, 1;",
    "setp.lt.s32 %p3, %r1, %r2;",
    "@%p3 bra NEXT;",
    "DONE:",
    f"{WAIT} 0;",
    USE,
)
MOVED = write_module(
    f"{FENCE};", PRODUCT, f"{COMMIT};", "mov.f32 %f5, %f1;", f"{WAIT} 0;", "st.global.f32 [%rd3], %f5;"
)


@for_each("text", [STRAIGHT, LOOP, MOVED], ids=["straight", "loop", "moved"])
def test_a_right_module_has_no_mistake(text: str) -> None:
    assert not find_ptx_order_mistakes(text)
    assert not list_findings(text)


MISTAKES = [  # module, what stands there, what is planted, code, line
    (STRAIGHT, f"{FENCE};\n", "", "wgmma_fence_missing", PRODUCT),
    (STRAIGHT, f"{COMMIT};\n", "", "wgmma_commit_missing", f"{WAIT} 0;"),
    (STRAIGHT, f"{WAIT} 0;\n", "", "wgmma_wait_missing", USE),
    (STRAIGHT, f"{WAIT} 0;", f"{WAIT} 1;", "wgmma_wait_short", f"{WAIT} 1;"),
    (LOOP, f"{FENCE};\n", "", "wgmma_fence_missing", PRODUCT),
    (LOOP, f"DONE:\n{WAIT} 0;", "DONE:", "wgmma_wait_short", f"{WAIT} 1;"),
    (MOVED, f"{WAIT} 0;\n", "", "wgmma_wait_missing", "st.global.f32 [%rd3], %f5;"),
]


@for_each(("text", "old", "new", "code", "line"), MISTAKES)
def test_a_planted_mistake_stands_at_its_line(text: str, old: str, new: str, code: str, line: str) -> None:
    assert list_findings(text.replace(old, new)) == [(code, line)]


def test_a_call_may_do_what_is_missing() -> None:
    called = STRAIGHT.replace(f"{FENCE};", "call.uni prepare;")
    assert not find_ptx_order_mistakes(called)
    assert not find_ptx_order_mistakes(STRAIGHT.replace(f"{WAIT} 0;", "call.uni finish;"))


def test_a_function_may_be_called_behind_a_fence() -> None:
    assert not find_ptx_order_mistakes(STRAIGHT.replace(".visible .entry k(", ".func k(").replace(f"{FENCE};\n", ""))


def test_a_wait_on_one_of_two_paths_is_open() -> None:
    """Which of them is taken may depend on whether there is a product at all."""
    assert not find_ptx_order_mistakes(STRAIGHT.replace(f"{WAIT} 0;", f"@%p2 bra PAST;\n{WAIT} 0;\nPAST:"))
    assert not find_ptx_order_mistakes(STRAIGHT.replace(f"{COMMIT};", f"@%p2 {COMMIT};"))


def test_products_alone_are_an_excerpt() -> None:
    assert not find_ptx_order_mistakes(write_module(PRODUCT, USE))
