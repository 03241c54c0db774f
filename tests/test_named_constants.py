"""Constants of C++ by name: each row is what g++ says of the same text, or why its value is not known."""

from __future__ import annotations

import pytest

from lanescope.errors import LayoutError
from lanescope.reader.code.naming.named_constants import read_constants
from tests.cases import for_each

SOURCE = """
#include <cuda.h>
#define BK 64
#define TWICE(x) ((x) * 2)
#ifndef WIDE
#define WIDE 8
#endif
constexpr int BM = 128;
int variable = 4;
#if USE_BIG
constexpr int DEPTH = 5;
#else
constexpr int DEPTH = 6;
#endif
namespace cfg { static constexpr unsigned kN = BM * 2; enum { A = 3, B }; }
enum class Mode : int { X = 7 };
template <int BN = 256, int S = BN / 64> struct Traits { static constexpr int bytes = BN * S; };
template <int W = 4, class E = half_t, int V = sizeof(E)> __global__ void gemm(float* p, int n) {
  constexpr int local = W * 32;
  const int q = local + 1, r = n * 2;
  { constexpr int twice = 1; }
  { constexpr int twice = 2; }
}
template <int W = 5> __device__ void other() {}
const int unknown = f();
constexpr float real = 1.5f;
constexpr int square(int x) { return x * x; }
constexpr auto squared = square(5);
"""


def test_values() -> None:
    expected = {
        "BK": 64, "TWICE(3)": 6, "WIDE": 8, "BM": 128, "cfg::kN": 256, "cfg::B": 4, "Mode::X": 7,
        "Traits<>::bytes": 1024,
        "Traits<128>::bytes": 256, "squared": 25, "Traits::BN": 256, "S": 4, "local": 128, "gemm::local": 128,
        "gemm::W": 4, "other::W": 5, "V": 2, "q": 129,
    }  # fmt: skip
    assert {name: found.value for name, found in read_constants(SOURCE, list(expected)).items()} == expected


def test_macros_that_are_given() -> None:
    found = read_constants(SOURCE, ["WIDE", "DEPTH"], {"WIDE": "16", "USE_BIG": "1"})
    assert [one.value for one in found.values()] == [16, 5]


@for_each(
    ("name", "code"),
    [
        ("unknown", "open_constant"),
        ("real", "open_constant"),
        ("variable", "open_constant"),
        ("DEPTH", "open_constant"),  # an #if that the text leaves open
        ("W", "open_constant"),  # of two functions
        ("twice", "open_constant"),  # of two blocks
        ("r", "open_constant"),  # of an argument
        ("BMM", "unknown_constant"),
        ("p", "unknown_constant"),
        ("x; int y", "bad_name"),
        ("", "bad_name"),
    ],
)
def test_what_is_not_known_is_an_error(name: str, code: str) -> None:
    with pytest.raises(LayoutError) as caught:
        read_constants(SOURCE, [name])
    assert caught.value.code == code
