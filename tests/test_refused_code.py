"""What nvcc or ptxas refuses: sizes of cp.async, opcodes that an operand completes, fragments of wmma.

ptxas 13.0: "unexpected value '8', expected to be 16" for cp.async.cg; nvcc 13.0: "incomplete type" for fragments.
"""

from __future__ import annotations

from lanescope.reader.instructions.illegal_fragments import find_illegal_fragments
from tests.cases import for_each
from tests.checked import check_text

COPIES = """#define COPY(dst, src, n) \\
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;" :: "r"(dst), "l"(src), "n"(n))
template <int N> __device__ void copy(unsigned d, const void* s) {
  if constexpr (N == 16)
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\\n" :: "r"(d), "l"(s), "n"(N));
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;\\n" :: "r"(d), "l"(s), "n"(N));
}
__global__ void __launch_bounds__(32) k(const half* g, float* o) {
  __shared__ half s[4096];
  unsigned p = (unsigned)__cvta_generic_to_shared(s), a[4];
  float c[4] = {};
  CALL
  asm volatile("cp.async.wait_all;");
  __syncthreads();
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(p + threadIdx.x * 16));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));
}
"""


def list_refused(text: str) -> list[str]:
    return [one.message for one in check_text(text).findings if one.code == "ptxas_refuses"]


@for_each(
    ("call", "refused"),
    [
        ("COPY(p, g, 16);", ""),
        ("copy<16>(p, g);", ""),
        ("copy<8>(p, g);", ""),
        ("COPY(p, g, 8);", "cp.async.cg of 8 bytes"),
        ("copy<12>(p, g);", "cp.async.ca of 12 bytes"),
        ('asm volatile("cp.async.cg.shared.global [%0], [%1], 4;" :: "r"(p), "l"(g));', "cp.async.cg of 4 bytes"),
        ('asm("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(p), "l"(g), "n"(32), "r"(8));', "of 32 bytes"),
        ('asm("cp.async.ca.shared.global [%0], [%1], %2, %3;" :: "r"(p), "l"(g), "n"(4), "r"(0));', ""),
    ],
)
def test_cp_async_copies_4_8_or_16_bytes_and_past_l1_16(call: str, refused: str) -> None:
    found = list_refused(COPIES.replace("CALL", call))
    assert len(found) == bool(refused) and all(refused in message for message in found)


@for_each(("n", "refused"), [(8, False), (12, True)])
def test_an_operand_completes_an_opcode(n: int, refused: bool) -> None:
    text = f"""__global__ void k(float* c, uint64_t a, uint64_t b) {{
  asm volatile("wgmma.mma_async.sync.aligned.m64n%6k16.f32.f16.f16 {{%0, %1, %2, %3}}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "l"(a), "l"(b), "n"({n}));
}}"""
    assert any("N is 12 (allowed: multiples of 8 from 8 to 256)" in one for one in list_refused(text)) == refused


@for_each(
    ("head", "seam", "refused"),
    [
        ("", '" SUF "', False),  # a name of another file
        ('#define SUF ".trans"\n', '" SUF "', False),
        ("#define T trans\n#define SUF STRING(.T)\n", '." #T "', False),
        ('#ifdef T\n#define SUF ".trans.shared.b16"\n#else\n#define SUF ""\n#endif\n', '" SUF "', False),
        ('#define LD(SUF) load(p, SUF)\n#define SUF ""\n', '" SUF "', False),  # a parameter has the name, too
        ("", '" + suffix + "', False),
        ("", '", suffix, "', False),
        ("", '"; line += suffix; line += "', False),
        ('#define SUF ".trans"\n', '"\n  SUF  // the transposed one\n  ".shared', True),
        ('#define SUF ""\n', '" SUF ".shared', True),
    ],
)
def test_an_opcode_that_a_name_completes_is_judged_if_the_text_says_what_it_names(
    head: str, seam: str, refused: bool
) -> None:
    whole = "" if refused else ".shared.b16"
    text = f"""{head}__device__ void load(uint32_t* r, uint32_t p) {{
  asm volatile("ldmatrix.sync.aligned.m8n8.x1{seam}{whole} {{%0}}, [%1];" : "=r"(r[0]) : "r"(p));
}}"""
    (found, *others) = [one for one in check_text(text).findings if one.code == "ptxas_refuses"] or [None]
    assert (found is not None) == refused and not others
    if found is not None:
        assert "`.b16` is missing" in found.message and text[slice(*found.span)].startswith("ldmatrix")
        assert text[slice(*found.span)].endswith(".shared")


@for_each(
    ("arguments", "words"),
    [
        ("wmma::matrix_a, 16, 16, 8, half, wmma::row_major", "8×32×16, 16×16×16 and 32×8×16"),
        ("wmma::matrix_b, M, 8, 32, __half, wmma::col_major", "no matrix_b of 8×8×32 with half"),
        ("wmma::accumulator, 16, 16, 16, __nv_bfloat16", "half, float and int"),
        ("wmma::matrix_a, 16, 16, 16, float, wmma::row_major", "signed char and unsigned char"),
        ("wmma::matrix_a, 16, 16, 16, half", "needs the layout row_major or col_major"),
        ("wmma::matrix_b, 8, 8, 32, wmma::experimental::precision::s4, wmma::row_major", "needs the layout col_major"),
        ("wmma::accumulator, 16, 16, 16, float, wmma::row_major", "takes no layout"),
        ("wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major", ""),
        ("wmma::accumulator, 16, 16, 16, float, void", ""),
        ("wmma::matrix_a, N, 16, 8, half, wmma::row_major", ""),  # two values
        ("wmma::matrix_a, 16, 16, 8, T, wmma::row_major", ""),
        ("wmma::matrix_a, 16, 16, 16, half, Layout", ""),
    ],
)
def test_a_fragment_is_one_that_mma_h_defines(arguments: str, words: str) -> None:
    names = "constexpr int M = 8;\nvoid f() { const int N = 8; }\nvoid g() { const int N = 4; }\n"
    text = f"{names}fragment<{arguments}> x;"
    text = f"using namespace nvcuda::wmma;\n{text}"
    found = list(find_illegal_fragments(text))
    assert len(found) == bool(words)
    assert all(words in message and text[slice(*span)] == f"fragment<{arguments}>" for message, span in found)
    assert not list(find_illegal_fragments(f"struct fragment;\n{text}")), "a class of the text's own"
    assert not list(find_illegal_fragments(text.replace("fragment<", "rocwmma::fragment<"))), "of another library"
    for other in ("rocwmma", "nvcuda; namespace wmma = other", "other"):
        assert not list(find_illegal_fragments(text.replace("nvcuda::wmma", other))), other
    assert not list(find_illegal_fragments(text.replace(f"fragment<{arguments}>", f'"fragment<{arguments}>"')))
