"""A tl.dot with the sizes of its tile in the box: Triton's choice, by the rules of /triton-dot."""

from __future__ import annotations

from lanescope.app.read import text_meanings
from lanescope.app.read.certain_links import find_certain_link
from tests.cases import for_each
from tests.client import Client


@for_each(
    ("text", "instruction", "query"),
    [
        ("tl.dot(a, b) 128x128x64 bf16 sm_80 8 warps", "mma.sync", "m=128&n=128&k=64&a=bf16&b=bf16&num_warps=8"),
        ("tl.dot [64, 32] x [32, 256] fp16 on H100", "wgmma.mma_async", "m=64&n=256&k=32"),
        ("tl.dot BLOCK_M=32 BLOCK_N=64 BLOCK_K=128 fp16 sm_90a", "mma.sync", "m=32&n=64&k=128"),  # M < 64
        ("which instruction for tl.dot M: 128, N: 64, K: 32 e4m3 on B200?", "tcgen05.mma", "m=128&n=64&k=32&a=fp8e4nv"),
        ('tl.dot(x, w, input_precision="ieee") 64x64x32 fp32 sm_80', "fma", "precision=ieee"),
        ("tl.dot(x, w, allow_tf32=False) 64x64x32 fp32 sm_80", "fma", "precision=ieee"),
        ("tl.dot (128, 32) x (32, 64) -> (128, 64) fp16 on H100", "wgmma.mma_async", "m=128&n=64&k=32"),
        ("tl.dot 64x64x64 fp16 on an RTX 4090", "mma.sync", "target=sm_89"),
        ("tl.dot 64x64x32 fp32 sm_80 input_precision='tf32x3'", "mma.sync", "precision=tf32x3"),
    ],
)
def test_a_dot_with_sizes_opens_the_instruction_that_triton_chooses(
    client: Client, text: str, instruction: str, query: str
) -> None:
    told = text_meanings.read_text(text)
    assert told.title.endswith(f": {instruction}") and query in told.link, told
    page = client.get(told.link)
    assert page.status_code == 200 and instruction in page.text
    assert find_certain_link(text) == told.link


@for_each(
    ("text", "reason"),
    [
        ("tl.dot 128x128x8 fp16", "tl.dot requires K ≥ 16 for this type."),
        ("tl.dot 128x128x64 fp16 sm_70", "No target 'sm_70'."),
        ("tl.dot 64x64x32 fp16 on GTX 1080", "No target 'GTX 1080' is known."),
        ("tl.dot 64x64x32 fp16 RTX 9999 4 warps", "No target 'RTX 9999' is known."),
        ("tl.dot a [128, 64] b [32, 128]", "A has 64 columns and B 32 rows."),
    ],
)
def test_a_product_that_triton_rejects_is_refused_with_the_reason(text: str, reason: str) -> None:
    told = text_meanings.read_text(text)
    assert told.kind == "unknown" and reason in told.notices[0] and not find_certain_link(text)


def test_what_the_text_leaves_open_and_what_is_not_used_is_said() -> None:
    told = text_meanings.read_text("tl.dot(a, b, max_num_imprecise_acc=32) 128x128x64")
    assert told.notices[1:] == (
        "Assumed: fp16, sm_90a and 4 warps. The page takes any other.",
        "Not used: max_num_imprecise_acc.",
    )


@for_each(
    "text",
    ["tl.dot", "acc = tl.dot(a, b, acc)", "tl.dot 128x128", "tl.dot_scaled 128x128x64", "tl.dot 64x64x64 uint16"],
)
def test_a_dot_without_its_sizes_opens_the_page_about_it(text: str) -> None:
    assert text_meanings.read_text(text).link == "/guide/triton-dot"


def test_a_dot_on_a_gpu_of_another_vendor_is_none_of_nvidias() -> None:
    assert text_meanings.read_text("tl.dot 64x64x64 fp16 gfx942").title == "A matrix instruction of AMD"
