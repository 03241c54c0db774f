"""The functions of nvcuda::wmma, one row each. CUDA C++ Programming Guide, warp matrix functions; mma.h of CUDA 13.0.

The rows have names and signatures; types, shapes and sizes are derived from the rows of wmma.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WmmaFunction:
    """One name of the API.

    signatures: as in the header, with template parameters; becomes: the PTX opcode it compiles to, or ""; modifier: the
    qualifier that distinguishes its PTX from that of other functions; collective: whether all lanes of the warp must
    call it; since: the first architecture that has any form of it.
    """

    name: str
    signatures: tuple[str, ...]
    what: str
    becomes: str = ""
    collective: bool = False
    since: str = "sm_70"
    modifier: str = ""
    namespace: str = "nvcuda::wmma"

    @property
    def qualified(self) -> str:
        return f"{self.namespace}::{self.name}"


@dataclass(frozen=True, slots=True)
class BitOperation:
    """The operation of bmma_sync on two bits before counting: the C++ constant, its value, and the PTX modifier."""

    cpp: str
    value: int
    ptx: str
    meaning: str


FUNCTIONS = (
    WmmaFunction(
        "fragment",
        ("template <typename Use, int m, int n, int k, typename T, typename Layout = void> class fragment;",),
        "A warp's share of one matrix: each lane holds num_elements of its elements in x[].",
    ),
    WmmaFunction(
        "load_matrix_sync",
        (
            "void load_matrix_sync(fragment<matrix_a or matrix_b, …>& a, const T* mptr, unsigned ldm);",
            "void load_matrix_sync(fragment<accumulator, …>& a, const T* mptr, unsigned ldm, layout_t layout);",
        ),
        "Loads a matrix from memory into a fragment.",
        "wmma.load",
        True,
    ),
    WmmaFunction(
        "store_matrix_sync",
        ("void store_matrix_sync(T* mptr, const fragment<accumulator, …>& a, unsigned ldm, layout_t layout);",),
        "Stores an accumulator to memory. Fragments of A and B cannot be stored.",
        "wmma.store",
        True,
    ),
    WmmaFunction(
        "fill_fragment",
        ("void fill_fragment(fragment<…>& a, const T& v);",),
        "Sets every element of a fragment to one value.",
    ),
    WmmaFunction(
        "mma_sync",
        (
            (
                "void mma_sync(fragment<accumulator, …>& d, const fragment<matrix_a, …>& a, const fragment<matrix_b,"
                " …>& b, const fragment<accumulator, …>& c);"
            ),
            (
                "void mma_sync(fragment<accumulator, …, int>& d, const fragment<matrix_a, …>& a, const"
                " fragment<matrix_b, …>& b, const fragment<accumulator, …, int>& c, bool satf = false);"
            ),
        ),
        "Multiplies and accumulates, D = A·B + C. D may be the same fragment as C.",
        "wmma.mma",
        True,
    ),
    WmmaFunction(
        "bmma_sync",
        (
            (
                "void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d, const fragment<matrix_a, 8, 8, 128,"
                " experimental::precision::b1, row_major>& a, const fragment<matrix_b, 8, 8, 128,"
                " experimental::precision::b1, col_major>& b, const fragment<accumulator, 8, 8, 128, int>& c,"
                " experimental::bmmaBitOp = bmmaBitOpXOR, experimental::bmmaAccumulateOp = bmmaAccumulateOpPOPC);"
            ),
        ),
        "Multiplies single bits: XOR or AND of a row of A with a column of B, then the number of set bits, added to C.",
        "wmma.mma",
        collective=True,
        since="sm_75",
        modifier="popc",
    ),
    WmmaFunction(
        "__float_to_tf32",
        ("float __float_to_tf32(float in);",),
        "Rounds a float to tf32. The elements of A and B must be rounded before mma_sync.",
        "cvt.rna.tf32.f32",
        False,
        "sm_80",
    ),
)
BY_NAME = {function.name: function for function in FUNCTIONS}

BIT_OPERATIONS = (
    BitOperation("bmmaBitOpXOR", 1, "xor", "counts the positions where the row of A and the column of B differ"),
    BitOperation("bmmaBitOpAND", 2, "and", "counts the positions where both have a 1: the product of 0/1 matrices"),
)
