"""The same kernels in other words: types, overloads, bounds, packed registers, narrow elements and blocks."""

from __future__ import annotations

import pytest

from lanescope.workbench.fragments.thread_tiles import check_thread_tiles
from tests.cases import for_each
from tests.checked import check_text
from tests.thread_tile_kernels import KERNEL, PADDED, VECTORS
from tests.transfer_kernels import plant

LOAD_A = "ldm_x4(a, smem_addr(&As[(warp * 16 + lane % 16) * PITCH + kk + lane / 16 * 8]));"
LOAD_B = "ldm_x2(b, smem_addr(&Bs[(n * 8 + lane % 8) * PITCH + kk + lane / 8 % 2 * 8]));"


@for_each(
    "edits",
    [  # an array of pointers
        (
            ("float acc[8][4]", "half* stage[2];\n  for (int s = 0; s < 2; s++) stage[s] = As;\n  float acc[8][4]"),
            ("&As[(warp", "&stage[kk / 16 % 2][(warp"),
        ),
        # an array of another element type, under another name
        (
            (
                "uint32_t a[4];",
                "half loaded[2][4];\n      uint32_t (&a)[4] = reinterpret_cast<uint32_t(&)[4]>(loaded);",
            ),
            (
                "uint32_t b[2];",
                "uint32_t held[2];\n        half (&half_)[2][2] = reinterpret_cast<half(&)[2][2]>(held);",
            ),
            (LOAD_B, LOAD_B.replace("(b,", "(reinterpret_cast<uint32_t(&)[2]>(half_),")),
            ("mma16816(acc[n], a, b)", "mma16816(acc[n], a, held)"),
        ),
        # overloads of two classes, and of elements of two sizes
        (
            ("uint32_t a[4];", "FragmentA a;"),
            ("uint32_t b[2];", "FragmentB b;"),
            (LOAD_A, LOAD_A.replace("ldm_x4(a, smem_addr(", "load(a, (").replace("));", "));")),
            (LOAD_B, LOAD_B.replace("ldm_x2(b, smem_addr(", "load(b, (").replace("));", "));")),
            ("mma16816(acc[n], a, b)", "mma16816(acc[n], a.r, b.r)"),
            (
                KERNEL,
                "struct FragmentA { uint32_t r[4]; };\nstruct FragmentB { uint32_t r[2]; };\n"
                "__device__ void load(FragmentA& f, const half* p) { ldm_x4(f.r, smem_addr(p)); }\n"
                "__device__ void load(FragmentB& f, const half* p) { ldm_x2(f.r, smem_addr(p)); }\n"
                "__device__ void load(FragmentB& f, const uint8_t* p) { f.r[0] = p[0]; }\n" + KERNEL,
            ),
        ),
        # overloads of accumulators that are numbers and packed halves
        (
            (
                KERNEL,
                "__device__ void mma16816(uint32_t (&d)[2], const uint32_t (&a)[4], const uint32_t (&b)[2]) {"
                f" d[0] = a[0]; }}\n{KERNEL}",
            ),
        ),
        # an explicit specialization, not the template
        (
            (LOAD_B, LOAD_B.replace("ldm_x2(", "load<2>(")),
            (
                KERNEL,
                "template <int N> __device__ void load(uint32_t (&r)[2], uint32_t p) { r[0] = p; }\n"
                f"template <> __device__ void load<2>(uint32_t (&r)[2], uint32_t p) {{ ldm_x2(r, p); }}\n{KERNEL}",
            ),
        ),
        # tiles in structs of a union, with and without a name; a pitch that is an enumerator of a class
        (
            (
                "  __shared__ half As[BM * PITCH];\n  __shared__ half Bs[BN * PITCH];\n",
                "  __shared__ union { struct { half a[BM * PITCH]; struct { half b[BN * PITCH]; } in; }; int i; } s;\n"
                "  half *As = s.a, *Bs = s.in.b;\n",
            ),
            ("PITCH = BK + 8;", "PITCH = Rows::PITCH;"),
            ("constexpr int BM", "struct Rows { enum { HALF = 20, PITCH = 2 * HALF }; };\nconstexpr int BM"),
        ),
        # the old value of a counter and of a pointer
        (
            ("    for (int kk = 0;", "    int step = 0;\n    for (int kk = 0;"),
            ("      uint32_t a[4];", "      const int at = 16 * step++;\n      uint32_t a[4];"),
            ("* PITCH + kk + lane / 16", "* PITCH + at + lane / 16"),
            ("* PITCH + kk + lane / 8", "* PITCH + at + lane / 8"),
        ),
        # the matrix of a block by a switch
        (
            (
                "  int tid = ",
                "  switch (blockIdx.z) { case 0: break; case 1: B = C1; break; default: B = C2; }\n  int tid = ",
            ),
            ("float* C, int M", "const half* C1, const half* C2, int M"),
        ),
        # constants of a namespace whose names are those of parameters, and the number of lanes by CUDA's name
        (
            ("constexpr int BM", "namespace tile { constexpr int M = 64, K = 32, PITCH = K + 8; }\nconstexpr int BM"),
            ("half As[BM * PITCH]", "half As[tile::M * tile::PITCH]"),
            ("lane % 16) * PITCH + kk", "lane % 16) * (tile::K + 8) + kk"),
            ("lane = tid % 32, warp = tid / 32", "lane = tid % warpSize, warp = tid / warpSize"),
        ),
        # rows that are kept inside the matrices
        (
            ("&A[(blockIdx.y * BM + r)", "&A[max(min((int)blockIdx.y * BM + r, M - 1), 0)"),
            (
                "&B[(blockIdx.x * BN + r)",
                "&B[((int)blockIdx.x * BN + r < N ? (int)blockIdx.x * BN + r : N > 0 ? N - 1 : 0)",
            ),
        ),
        # row 0 where a variable says that a row is outside, and the same by the opposite condition
        (
            (
                "      *reinterpret_cast<uint4*>(&As",
                "      const int row = blockIdx.y * BM + r, column = blockIdx.x * BN + r;\n"
                "      const bool inside = row < M, outside = column >= N;\n"
                "      *reinterpret_cast<uint4*>(&As",
            ),
            ("&A[(blockIdx.y * BM + r)", "&A[(inside ? row : 0)"),
            ("&B[(blockIdx.x * BN + r)", "&B[(outside ? 0 : column)"),
        ),
        # an address that is A's first one outside A, and an object that is converted to an address or an index
        (
            (
                "      *reinterpret_cast<uint4*>(&As",
                "      const bool inside = (int)blockIdx.y * BM + r < M && c < K;\n"
                "      Cursor<const half*> from(B + (blockIdx.x * BN + r) * K);\n      from.move(k0);\n"
                "      *reinterpret_cast<uint4*>(&As",
            ),
            ("&A[(blockIdx.y * BM + r) * K + k0 + c]", "inside ? A + (blockIdx.y * BM + r) * K + k0 + c : A"),
            ("&B[(blockIdx.x * BN + r) * K + k0 + c]", "from + c"),
            (
                LOAD_A,
                "Cursor<int> at((warp * 16 + lane % 16) * PITCH + kk);\n      at.move(lane / 16 * 8);\n"
                "      ldm_x4(a, smem_addr(&As[at]));",
            ),
            (
                KERNEL,
                "template <class T> struct Cursor {\n  T at;\n  __device__ Cursor(T at_) : at(at_) {}\n"
                "  __device__ void move(int n) { at += n; }\n  __device__ operator T() const { return at; } };\n"
                + KERNEL,
            ),
        ),
        # a function of the kernel's namespace, not that of another
        (
            (LOAD_A, LOAD_A.replace("ldm_x4", "load")),
            (
                KERNEL,
                "namespace other { __device__ void load(uint32_t (&r)[4], uint32_t p) { r[0] = p; } }\n"
                "namespace own {\n__device__ void load(uint32_t (&r)[4], uint32_t p) { ldm_x4(r, p); }\n" + KERNEL,
            ),
        ),
        # the most specialized of the specializations that fit
        (
            (
                LOAD_A,
                LOAD_A.replace("(warp * 16 + lane % 16) * PITCH", "Rows<1, short, BK>::find(warp * 16 + lane % 16)"),
            ),
            (
                KERNEL,
                "template <int Order, class Element, int Width, int Pad = 8> struct Rows;\n"
                + "".join(
                    f"template <{own}> struct Rows<{patterns}> {{\n"
                    f"  __device__ static int find(int row) {{ return row * ({width}); }} }};\n"
                    for own, patterns, width in (
                        ("class T, int W, int P", "1, T, W, P", "W"),
                        ("int P, int W", "1, short, P, W", "P + W"),
                        ("int P, int W", "1, float, P, W", "P"),
                        ("int P, int W", "2, short, P, W", "W"),
                    )
                )
                + KERNEL,
            ),
        ),
        # a static function of a class that is a template argument
        (
            (LOAD_A, LOAD_A.replace("(warp * 16 + lane % 16) * PITCH", "place<Rows<PITCH>>(warp * 16 + lane % 16)")),
            (
                KERNEL,
                "template <int P> struct Rows { static constexpr int SIZE = P;\n"
                "  __device__ static int find(int row) { return row * SIZE; } };\n"
                "template <class Layout> __device__ int place(int row) { return Layout::find(row); }\n" + KERNEL,
            ),
        ),
        # shared memory that the text declares outside of the kernel
        (
            ("  __shared__ half As[BM * PITCH];\n  __shared__ half Bs[BN * PITCH];\n", ""),
            (KERNEL, f"__shared__ half As[BM * PITCH];\nextern __shared__ half Bs[];\n{KERNEL}"),
        ),
        # instructions of PTX compute a row
        (
            (LOAD_A, LOAD_A.replace("warp * 16 + lane % 16", "find_row(warp, lane)")),
            (
                KERNEL,
                "__device__ int find_row(int warp, int lane) { int row;\n"
                '  asm("{ .reg .b32 low; bfe.u32 low, %2, 0, 4; mad.lo.s32 %0, %1, 16, low; max.s32 %0, %0, 0; }"'
                ' : "=r"(row) : "r"(warp), "r"(lane)); return row; }\n' + KERNEL,
            ),
        ),
        # a type that traits choose
        (
            (
                "__shared__ half As",
                "using T = std::conditional_t<std::is_same_v<half, __half>, half, float>;\n  __shared__ T As",
            ),
        ),
    ],
    sample=4,
)
def test_other_words_of_the_same_kernel(edits: tuple[tuple[str, str], ...]) -> None:
    text = plant(*edits, text=PADDED)
    assert not (made := check_thread_tiles(text, {})).findings and made.verified == 2
    wrong = check_thread_tiles(plant(("As[r * PITCH", "As[r * BK"), text=text), {})
    assert {finding.code for finding in wrong.findings} >= {"fragment_mismatch"}


@pytest.mark.thorough
def test_a_number_that_bounds_no_row_is_not_dropped() -> None:
    """A minimum with a known number may be a table's end, and another test may choose between two matrices."""
    for other in ("min((int)blockIdx.y * BM + r, 63)", "(flags[r] < M ? (int)blockIdx.y * BM + r : 0)"):
        made = check_thread_tiles(PADDED.replace("&A[(blockIdx.y * BM + r)", f"&A[{other}"), {})
        assert made.verified == 1 and made.kernels[0].gap
    row = "A + (blockIdx.y * BM + r) * K + k0 + c"
    for choice in (f"flags[r] < M ? {row} : A", f"N < M ? {row} : A", f"r < M ? {row} : A + K"):
        made = check_thread_tiles(PADDED.replace("&A[(blockIdx.y * BM + r) * K + k0 + c]", choice), {})
        assert made.verified == 1 and made.kernels[0].gap


SCALED = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"
SCALES = ', {%10}, {0, 0}, {%10}, {0, 0};"'


@pytest.mark.thorough
@for_each(
    ("opcode", "scales", "elements"),
    [
        ("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", ';"', "4096"),
        (SCALED, SCALES, "1024"),
    ],
)
def test_elements_of_less_than_a_byte_are_followed(opcode: str, scales: str, elements: str) -> None:
    """The packed bytes of a fragment are the elements of s8 with the same bytes along K; counts are of elements."""
    text = plant(
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", opcode),
        ('{%0,%1,%2,%3};"', "{%0,%1,%2,%3}" + scales),
        ('"r"(b[1]));\n}', '"r"(b[1]), "r"(0x38383838));\n}'),
        ("BK = 32, PITCH = BK + 8", "BK = 64, PITCH = BK + 16"),
        ("BM * BK / 8;", "BM * BK / 16;"),
        ("i / (BK / 8), c = i % (BK / 8) * 8", "i / (BK / 16), c = i % (BK / 16) * 16"),
        ("kk += 16", "kk += 32"),
        ("lane / 16 * 8", "lane / 16 * 16"),
        ("lane / 8 % 2 * 8", "lane / 8 % 2 * 16"),
        text=PADDED.replace("half", "uint8_t"),
    )
    made = check_thread_tiles(text, {})
    assert (made.verified, made.findings) == (2, [])
    assert [kernel.gap for kernel in made.kernels] == [""]
    (finding,) = check_thread_tiles(text.replace("lane % 16) * PITCH", "lane % 16) * BK"), {}).findings
    assert finding.code == "fragment_mismatch" and f" of {elements} elements are not" in finding.message
    (finding,) = check_thread_tiles(
        text.replace("kk += 32", "kk += 64").replace("kk + lane / 16 * 16", "kk + lane / 8 % 2 * 16"), {}
    ).findings
    assert finding.code == "k_repeated"


PACKING = "b[i] = (high << 16) | low;"


@for_each(
    ("packing", "old", "new"),
    [
        ('asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(b[i]) : "r"(low), "r"(high));', "0x5410", "0x1054"),
        ('asm("mov.b32 %0, {%1, %2};" : "=r"(b[i]) : "h"(column[at]), "h"(column[at + 1]));', "%1, %2", "%2, %1"),
        ('asm("lop3.b32 %0, %1, %2, 0, 0xfc;" : "=r"(b[i]) : "r"(low), "r"(high << 16));', "0xfc", "0xfa"),
    ],
)
def test_halves_that_are_packed_are_followed(packing: str, old: str, new: str) -> None:
    """Each way to put two elements into a register; wrong bytes are not verified."""
    text = VECTORS.replace("uint32_t low = ", "const int at = i * 8 + lane % 4 * 2;\n        uint32_t low = ")
    made = check_thread_tiles(plant((PACKING, packing), text=text), {})
    assert (made.verified, made.findings) == (2, [])
    assert check_thread_tiles(plant((PACKING, packing.replace(old, new)), text=text), {}).verified == 1


@for_each(("last", "verified"), [("+ j", 2), ("+ (j ^ 1)", 1)])
def test_elements_at_the_end_are_copied_one_by_one(last: str, verified: int) -> None:
    inside = "blockIdx.y * BM + r < M && k0 + c + 7 < K"
    alone = f"for (int j = 0; j < 8; j++) As[r * PITCH + c + j] = A[(blockIdx.y * BM + r) * K + k0 + c {last}];"
    first = "*reinterpret_cast<uint4*>(&As"
    text = plant((first, f"if (!({inside})) {alone}\n      else {first}"), text=PADDED)
    assert check_thread_tiles(text, {}).verified == verified


@pytest.mark.thorough
@for_each(
    "launch",
    [
        "dim3 grid(N / 64), block; block.x = 64; block.x *= 2; gemm<<<grid, block>>>(A, B, C, M, N, K);",
        "auto kernel = M > 64 ? &gemm : &other; kernel<<<N / 64, 128>>>(A, B, C, M, N, K);",
        "void* of[] = {&A, &B, &C, &M, &N, &K}; cudaLaunchKernel((void*)gemm, dim3(N / 64), dim3(128), of, 0, 0);",
    ],
    sample=1,
)
def test_a_launch_gives_the_threads(launch: str) -> None:
    parameters = "const half* A, const half* B, float* C, int M, int N, int K"
    host = f"__global__ void other({parameters}) {{}}\nvoid run({parameters}) {{ {launch} }}\n"
    [kernel] = check_text(PADDED.replace("__launch_bounds__(128) ", "") + host).kernels
    assert kernel.gap == ""


@for_each(
    ("declared", "sync"),
    [
        ("cg::thread_block block = cg::this_thread_block();", "block.sync();"),
        ("auto block = cooperative_groups::this_thread_block();", "cg::sync(block);"),
        ("", "cg::this_thread_block().sync();"),
    ],
    sample=1,
)
def test_blocks_of_cooperative_groups_are_followed(declared: str, sync: str) -> None:
    tile = "auto part = cg::tiled_partition<32>(cg::this_thread_block());"
    text = plant(
        (KERNEL, f"namespace cg = cooperative_groups;\n{KERNEL}"),
        ("int tid = threadIdx.x, lane = tid % 32, warp = tid / 32;", f"{declared} {tile} int tid = threadIdx.x;"),
        (
            "float acc[8][4] = {};",
            "int lane = part.thread_rank(), warp = part.meta_group_rank(); float acc[8][4] = {};",
        ),
        text=PADDED.replace("__syncthreads();", sync),
    )
    assert [kernel.gap for kernel in check_text(text).kernels] == [""]
    wrong = check_text(plant((f"    {sync}\n  }}\n}}", "  }\n}"), text=text))
    assert [finding.code for finding in wrong.findings] == ["refill_early"]


def test_a_tile_of_the_whole_block_is_a_barrier_and_one_of_a_warp_is_none() -> None:
    group = "cooperative_groups::tiled_partition<{}>(cooperative_groups::this_thread_block()).sync();"
    found = {
        size: [finding.code for finding in check_text(PADDED.replace("__syncthreads();", group.format(size))).findings]
        for size in (32, 64, 128)
    }
    assert found == {32: ["barrier_missing"], 64: [], 128: []}  # two warps: not followed


@for_each(
    "declared", ["const dim3 at = blockIdx, in = threadIdx;", "auto at = blockIdx; uint3 in = threadIdx;"], sample=1
)
def test_copies_of_indices_have_their_numbers(declared: str) -> None:
    text = plant(
        ("int tid = threadIdx.x,", f"{declared} int tid = in.x,"),
        text=PADDED.replace("blockIdx.", "at."),
    )
    assert check_thread_tiles(text, {}).verified == 2
    changed = plant(("int tid = in.x,", "in.x = in.x / 2; int tid = in.x,"), text=text.replace("const dim3", "dim3"))
    assert not check_thread_tiles(changed, {}).verified
