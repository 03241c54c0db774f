"""Names in the box that are no instruction of tensor cores: what they are, or why Lanescope does not cover them."""

from __future__ import annotations

from lanescope.app.read.text_meanings import read_text
from tests.cases import for_each


@for_each("text", ["R24", "R24, R25", "{%r1, %r2}", "[R2+UR4]", "RZ"])
def test_registers_alone_ask_for_their_instruction(text: str) -> None:
    told = read_text(text)
    assert told.title == "Of which instruction?" and text.strip("{[")[:2] in told.notices[0]


@for_each("text", ["f16, f32", "rz", "R2 of lane 20 of mma.m16n8k16 bf16"])
def test_types_modifiers_and_places_are_no_registers(text: str) -> None:
    assert read_text(text).kind == "instruction"


@for_each(
    ("text", "reason"),
    [
        ("torch.matmul", "a profiler prints it"),
        ("F.scaled_dot_product_attention(q, k, v)", "a profiler prints it"),
        ("T.Fragment", "TileLang"),
        ("T.gemm(A_shared, B_shared, C_local)", "TileLang"),
        ("ct.mma", "CUDA Tile"),
        ("cuda_tile.mma", "CUDA Tile"),
        ("import cuda.tile as ct\n@ct.kernel\ndef f(A, B):\n    acc = ct.mma(A, B, acc)", "CUDA Tile"),
        ("%0 = cuda_tile.mmaf %a, %b, %c : tile<128x64xf16>", "CUDA Tile"),
        ("@T.prim_func\ndef main(A: T.Tensor((M, K), 'float16')):\n    T.gemm(A_s, B_s, C_l)", "TileLang"),
        ("tl.make_block_ptr(base=a, shape=(M, K))", "does not determine a layout"),
        ("cuda::memcpy_async", "cp.async"),
        ("cp_async_fence()", "cp_async_fence is cp.async.commit_group: it commits"),
        ("tma_store_wait<0>()", "is cp.async.bulk.wait_group"),
        ("__byte_perm(a, b, 0x5410)", "picks four bytes"),
        ("cutlass::layout::RowMajor", "determines no layout"),
        ("MainloopSm90TmaGmmaWarpSpecialized", "determines no layout"),
        ("cublasLtMatmul", "a profiler prints it"),
        ("L2 swizzle", "order in which blocks take their tiles"),
        ("sA(_,_,k)", "what print(tensor) prints"),
        ("c[0x0][0x210]", "operand of SASS"),
        ("__syncthreads();", "__syncthreads is bar"),
        ("__launch_bounds__(128)", "moves no matrix"),
        ("cute::gemm(tiled_mma, tCrA, tCrB, tCrC)", "determines no layout"),
        ("R2UR UR4, R2", "R2UR is an instruction of SASS"),
        ("/*0010*/ IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;", "IMAD is an instruction of SASS"),
        ("vote", "vote is an instruction of PTX"),
    ],
)
def test_what_is_not_covered_says_why(text: str, reason: str) -> None:
    told = read_text(text)
    assert told.title == "Not covered" and reason in told.notices[0]


@for_each("text", ["HMMA.99999.F32 R4, R8, R12, R4", "UTCSHIFT.2CTA tmem[UR4]", "T.ptx_mma"])
def test_a_matrix_instruction_is_not_called_another(text: str) -> None:
    assert not any("neither multiplies" in notice or "TileLang" in notice for notice in read_text(text).notices)


@for_each(
    ("text", "type_"),
    [
        ("cute::bfloat16_t", "bf16"),
        ("cutlass::half_t", "f16"),
        ("torch.float8_e4m3fn", "e4m3"),
        ("__nv_bfloat162", "bf16"),
        ("__nv_fp8x4_e5m2", "e5m2"),
    ],
)
def test_a_type_of_a_library_lists_the_instructions_with_it(text: str, type_: str) -> None:
    told = read_text(text)
    assert told.kind == "instruction" and all(type_ in ptx.split(".") for ptx in told.facts["candidates"])


@for_each(
    ("text", "shapes"),
    [
        ("m64nNk16, N = 8 to 256 in steps of 8", {"m64n8k16", "m64n16k16"}),  # as /guide/shapes has it
        ("wgmma.m64nNk16.f32.bf16.bf16", {"m64n8k16", "m64n256k16"}),
        ("m16n8kK", {"m16n8k8", "m16n8k16", "m16n8k32"}),
    ],
)
def test_a_letter_stands_for_any_size(text: str, shapes: set[str]) -> None:
    found = {word for ptx in read_text(text).facts["candidates"] for word in ptx.split(".") if word.startswith("m")}
    assert shapes <= found


def test_a_scaled_product_of_triton_opens_its_part_of_the_page() -> None:
    assert read_text("tl.dot_scaled").link == "/guide/triton-dot#scaled"


def test_a_vector_of_four_floats_is_no_type_of_four_bits() -> None:
    assert read_text("float4").kind == "unknown"


@for_each(
    ("name", "page"),
    [
        ("ttg.convert_layout", "/layouts/triton"),
        ("ttg.nvidia_mma", "/layouts/triton"),
        ("gl.BlockedLayout", "/layouts/triton"),
        ("ttng.tc_gen5_mma", "/guide/triton-dot"),
        ("ttng.async_tma_copy_global_to_local", "/guide/paste#tensor-maps"),
        ("cute.nvgpu.warpgroup.MmaF16BF16Op", "/tiles/mma"),
        ("SM90_BULK_COPY_G2S", "/guide/barriers-and-pipelines"),
    ],
)
def test_a_name_of_a_compiler_opens_the_page_about_it(name: str, page: str) -> None:
    assert read_text(name).link == page


def test_a_part_of_a_name_is_not_respelled() -> None:
    assert not any("Did you mean" in notice for notice in read_text("sm90_utils.make_smem_layout_a").notices)
    assert "Did you mean ‘ldmatrix x4’?" in read_text("ldmatirx x4").notices


@for_each("text", ["1", "-1", "0"])
def test_a_digit_is_no_instruction(text: str) -> None:
    assert read_text(text).kind == "unknown"


@for_each("text", ["A", "d"])
def test_an_operand_alone_asks_for_its_instruction(text: str) -> None:
    told = read_text(text)
    assert told.title == "Of which instruction?" and f"{text.upper()}[5][1]" in told.notices[0]


@for_each(("text", "page"), [("layout_type 1", "/guide/descriptor"), ("K-major", "/guide/one-tile")])
def test_a_field_and_a_major_open_their_pages(text: str, page: str) -> None:
    assert read_text(text).link == page
