"""Accesses of tensor memory are ordered by commits, waits and mbarriers, and stay in the columns that are written and
allocated. PTX ISA 9.1, 9.7.16.6 and 9.7.16.7.
"""

from __future__ import annotations

import pytest

from lanescope.workbench.barriers.barrier_protocol import find_protocol_mistakes
from tests.cases import for_each
from tests.checked import locate_findings
from tests.tensor_kernels import SCALED, TILES
from tests.transfer_kernels import plant

LOAD = "d + (warp * 32 << 16) + n % 2 * 32 + c"
PRODUCT = "multiply(d + n % 2 * 32, a + k, b + k, k > 0);"
WAIT_LD = '      asm volatile("tcgen05.wait::ld.sync.aligned;");\n'
ARRIVE = "      if (lane == 0) arrive(&empty[n % 2]);\n"


def find_lines(text: str) -> list[tuple[str, str]]:
    """Return (code, the line at which it is reported) of every mistake."""
    return locate_findings(text, find_protocol_mistakes(text, {}))


def test_a_right_kernel_has_no_mistake() -> None:
    assert [find_lines(text) for text in (TILES, SCALED)] == [[], []]


def test_a_function_may_have_a_name_that_cutlass_has() -> None:
    wrong = plant((LOAD, LOAD.replace("n % 2", "(n + 1) % 2")), text=TILES)
    helper = "__device__ int elect_sync() { return 1; }\n"
    assert find_lines(helper + wrong) == find_lines(wrong) != []


@for_each(
    ("old", "new", "code"),
    [
        ("| 256 + 32 * k", "| 256 + 16 * k", "tmem_source_overlap"),  # a copy takes 512 bytes
        ("k > 0, d + 32 + 4 * k, d + 48 + 4 * k", "k > 0, d + 32 + 4 * k, d + 32 + 4 * k", "tmem_unread"),
        ("k > 0, d + 32 + 4 * k, d + 48 + 4 * k", "k > 0, d + 32 + 4 * k, d + 52 + 4 * k", "tmem_unwritten"),
    ],
)
def test_a_mistake_of_scale_factors_is_found_at_their_copy(old: str, new: str, code: str) -> None:
    ((found, at),) = find_lines(plant((old, new), text=SCALED))
    assert found == code and at.startswith("copy(d + 48")


@for_each(
    ("old", "new", "code", "line"),
    [
        (LOAD, LOAD.replace("n % 2", "(n + 1) % 2"), "tmem_unordered", "load_column"),  # the other accumulator
        (LOAD, LOAD.replace(" + n % 2 * 32", ""), "tmem_unordered", "load_column"),
        (PRODUCT, PRODUCT.replace("n % 2 * 32", "0"), "tmem_unordered", "multiply"),  # all tiles have one
        (PRODUCT, PRODUCT.replace("n % 2 * 32", "n % 2 * 16"), "tmem_unordered", "multiply"),  # they overlap
        (PRODUCT, PRODUCT.replace("k > 0", "n > 1 || k > 0"), "tcgen05_accumulator_kept", "multiply"),
        (PRODUCT, PRODUCT.replace("k > 0", "n || k > 0"), "tcgen05_accumulator_unset", "multiply"),
        (WAIT_LD + ARRIVE, ARRIVE + WAIT_LD, "tcgen05_wait_missing", "load_column"),
        (LOAD, LOAD.replace("+ c", "+ c / 32"), "tmem_unread", "load_column"),  # the first half again
        (LOAD, LOAD.replace("+ c", "+ 64 + c"), "tmem_column_range", "load_column"),
        ("  __syncthreads();\n  if (warp == 4)\n    asm", "  if (warp == 4)\n    asm", "tmem_freed_early", "asm"),
        (
            '  if (warp == 4)\n    asm volatile("tcgen05.dealloc',
            '  if (M < 0)\n    asm volatile("tcgen05.dealloc',
            "tmem_leaked",
            "asm",
        ),
    ],
    sample="code",
)
def test_a_mistake_is_found(old: str, new: str, code: str, line: str) -> None:
    ((found, at),) = find_lines(plant((old, new), text=TILES))
    assert (found, at.startswith(line)) == (code, True), at


@for_each(
    ("column", "code"),
    [("0", "tmem_unordered"), ("d + 32", "tmem_unwritten"), ("d + n % 2 * 16", "tmem_unordered")],
)
def test_the_columns_of_a_local_variable_are_found_at_its_value(column: str, code: str) -> None:
    turn = "      for (int k = 0; k < 2; ++k)\n"
    named = (turn, f"      uint32_t sums = {column};\n{turn}"), (PRODUCT, PRODUCT.replace("d + n % 2 * 32", "sums"))
    assert find_lines(plant(*named, text=TILES)) == [(code, f"uint32_t sums = {column};")]
    right = plant((turn, f"      uint32_t sums = d + n % 2 * 32;\n{turn}"), named[1], text=TILES)
    assert find_lines(right) == []


def test_columns_that_a_constant_gives_two_operands_are_found_at_it() -> None:
    constants = "constexpr int kFirst = 32;\nconstexpr int kSecond = 48;\n__global__"
    named = (
        SCALED.replace("__global__", constants).replace("d + 32 +", "d + kFirst +").replace("d + 48 +", "d + kSecond +")
    )
    assert find_lines(named) == []
    assert find_lines(plant(("= 48;", "= 32;"), text=named)) == [("tmem_overlap", "constexpr int kSecond = 32;")]


COPY_A, COPY_B = "copy(d + 32 + 4 * k, ", "copy(d + 48 + 4 * k, "


@for_each(
    ("old", "new", "codes"),
    [
        (COPY_B, COPY_B.replace("48", "32"), ["tmem_overlap"]),  # over those of A
        (COPY_B, COPY_B.replace("48", "(k ? 32 : 48)"), ["tmem_overlap"]),  # after a product has read others
        ("d + 32 + 4 * k, d + 48 + 4 * k);", "d + 32 + 4 * k, d + 48 + 4 * k);\n        " + COPY_A + "64);", []),
    ],
)
def test_scale_factors_are_not_overwritten_before_a_product_reads_them(old: str, new: str, codes: list[str]) -> None:
    assert [code for code, _ in find_lines(plant((old, new), text=SCALED))] == codes


def test_turns_of_a_loop_of_copies_do_not_overwrite_each_other() -> None:
    """Before the loop of the products, which reads what all turns have copied."""
    last = "256 + 32 * k);\n"
    apart = plant((last, f"{last}      }}\n      for (int k = 0; k < 4; ++k)\n      {{\n"), text=SCALED)
    assert find_lines(apart) == []
    ((code, line),) = find_lines(plant((COPY_A, COPY_A.replace(" + 4 * k", "")), text=apart))
    assert code == "tmem_overlap" and line.startswith("copy(d + 32, ")


def test_an_arrival_before_the_loads_is_found() -> None:
    early = plant(
        (ARRIVE, ""),
        ("      for (int c = 0; c < 32; c += 16)\n", f"{ARRIVE}      for (int c = 0; c < 32; c += 16)\n"),
        text=TILES,
    )
    assert find_lines(early) == [("tmem_unordered", ARRIVE.strip())]


def test_an_open_address_is_left_open() -> None:
    assert find_lines(plant((LOAD, LOAD.replace("n % 2", "(C[0] > 0)")), text=TILES)) == []


@pytest.mark.thorough
def test_an_accumulator_may_go_on_within_a_tile() -> None:
    """A loop that takes no tiles of other blocks may read a sum and add to it."""
    chunks = TILES.replace("tile = blockIdx.x", "tile = 0").replace("tile += gridDim.x", "++tile")
    assert find_lines(plant((PRODUCT, PRODUCT.replace("k > 0", "n > 1 || k > 0")), text=chunks)) == []
