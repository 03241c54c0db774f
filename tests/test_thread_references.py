"""Kernels whose objects hold references, and whose functions return them."""

from __future__ import annotations

from tests.cases import for_each
from tests.checked import check_whole
from tests.transfer_kernels import plant

KERNEL = """#include <mma.h>
using namespace nvcuda;
template <class T, int ROWS, int COLS>
struct Span {
  T* buffer;
  static constexpr int cols = COLS;
  __device__ Span(T* to) : buffer(to) {}
  __device__ T& operator()(int row, int col) { return buffer[COLS * row + col]; }
  __device__ T* end() { return buffer + ROWS * COLS; }
};
struct Index {
  const int row, col;
  __device__ explicit Index(int thread) : row(thread / 2), col(thread % 2 * 8) {}
};
template <class Tile>
struct Copier {
  Tile& tile;
  const half* from;
  const Index index;
  const int pitch;
  __device__ Copier(const half* matrix, Tile& to, int thread, int ld)
      : tile(to), from(matrix), index(thread), pitch(ld) {}
  __device__ void load() {
    half* to = &tile(index.row, index.col);
    *reinterpret_cast<int4*>(to) = *reinterpret_cast<const int4*>(from + index.row * pitch + index.col);
  }
  __device__ void step(int k) { from += k; }
};
template <class Fragment, int PITCH, int N>
struct Loader {
  Fragment (&fragments)[N];
  half* ptr;
  __device__ Loader(half* p, Fragment (&to)[N]) : fragments(to), ptr(p) {}
  __device__ void load() {
    for (int i = 0; i < N; ++i) wmma::load_matrix_sync(fragments[i], ptr + i * 16 * PITCH, PITCH);
  }
};
__global__ void gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ half shared[2 * 64 * 24];
  Span<half, 64, 24> As(shared), Bs(As.end());
  using CopierA = Copier<decltype(As)>;
  const int m = blockIdx.y * 64, n = blockIdx.x * 64, warp = threadIdx.x / 32;
  CopierA to_a{A + m * K, As, (int)threadIdx.x, K};
  Copier<Span<half, 64, 24>> to_b(B + n * K, Bs, threadIdx.x, K);
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a[2];
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b[2];
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[2][2];
  for (int i = 0; i < 4; ++i) wmma::fill_fragment(c[i / 2][i % 2], 0.0f);
  Loader<wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major>, 24, 2> la(&As(warp / 2 * 32, 0), a);
  Loader<wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major>, Bs.cols, 2> lb(&Bs(warp % 2 * 32, 0), b);
  for (int k = 0; k < K; k += 16) {
    to_a.load();
    to_b.load();
    to_a.step(16);
    to_b.step(16);
    __syncthreads();
    la.load();
    lb.load();
    for (int i = 0; i < 4; ++i) wmma::mma_sync(c[i / 2][i % 2], a[i / 2], b[i % 2], c[i / 2][i % 2]);
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    wmma::store_matrix_sync(C + (m + warp / 2 * 32 + i / 2 * 16) * N + n + warp % 2 * 32 + i % 2 * 16, c[i / 2][i % 2],
                            N, wmma::mem_row_major);
}
void run(const half* A, const half* B, float* C, int M, int N, int K) {
  gemm<<<dim3(N / 64, M / 64), 128>>>(A, B, C, M, N, K);
}
"""
STORE = "*reinterpret_cast<int4*>(to) = *reinterpret_cast<const int4*>(from + index.row * pitch + index.col);"


RIGHT: dict[str, tuple[tuple[str, str], ...]] = {
    "as it is": (),
    "single elements": (
        (
            STORE,
            "for (int i = 0; i < 8; ++i) tile(index.row, index.col + i) = from[index.row * pitch + index.col + i];",
        ),
    ),
    "through another function": (
        (
            "void load() {\n    half*",
            "half& at(int r, int c) { return tile(r, c); }\n  __device__ void load() {\n    half*",
        ),
        ("&tile(index.row, index.col)", "&at(index.row, index.col)"),
    ),
    "a row by value": (
        ("T* end()", "T* operator[](int r) { return buffer + r * COLS; }\n  __device__ T* end()"),
        ("&tile(index.row, index.col)", "&tile[index.row][index.col]"),
    ),
    "a row that is an object": (
        (
            "T* end()",
            "struct Row { T* at; __device__ T& operator[](int c) { return at[c]; } };\n"
            "  __device__ Row operator[](int r) { return Row{buffer + r * COLS}; }\n  __device__ T* end()",
        ),
        ("&tile(index.row, index.col)", "&tile[index.row][index.col]"),
    ),
    "the class by its own name": (
        ("T* end()", "Span from(int r) { return Span(buffer + r * COLS); }\n  __device__ T* end()"),
        (
            "half* to = &tile(index.row, index.col);",
            "auto rows = tile.from(index.row);\n    auto to = &rows(0, index.col);",
        ),
    ),
    "objects by a pointer": (
        ("Fragment (&fragments)[N]", "Fragment* fragments"),
        ("Fragment (&to)[N]", "Fragment* to"),
    ),
    "objects by a parameter that is an array": (
        ("Fragment (&fragments)[N]", "Fragment* fragments"),
        ("Fragment (&to)[N]", "Fragment to[N]"),
        ("wmma::load_matrix_sync(fragments[i]", "wmma::load_matrix_sync(*(fragments + i)"),
    ),
    "two overloads": (("T& operator()", "T& operator()(int at) { return buffer[at]; }\n  __device__ T& operator()"),),
}


@for_each("name", RIGHT, sample=2)
def test_d_is_verified_through_references(name: str) -> None:
    """&tile(row, col) reads nothing: another warp may store to this element at the same time."""
    report = check_whole(plant(*RIGHT[name], text=KERNEL))
    assert (report.findings, report.open, report.steps) == ((), (), 2)


@for_each(
    ("old", "new", "code"),
    [
        ("COLS * row + col", "COLS * row + col / 8", "store_misaligned"),
        ("i * 16 * PITCH", "i * 8 * PITCH", "result_misplaced"),
        ("    __syncthreads();\n  }\n", "  }\n", "refill_early"),
        ("row(thread / 2)", "row(thread / 4)", "tile_not_filled"),
    ],
    sample=2,
)
def test_a_mistake_behind_references_is_found(old: str, new: str, code: str) -> None:
    found = check_whole(plant((old, new), text=KERNEL)).findings
    assert code in {finding.code for finding in found}, found
