"""On a machine with a GPU and CuPy: every kind of run, really executed. Elsewhere skipped with the reason; CI replays
the evidence files.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from lanescope import find
from lanescope.app.hardware import banks, captures, chained, descriptors, fragments, products
from lanescope.app.hardware.device import Cuda, devices
from lanescope.descriptor.matrix import encode
from lanescope.errors import LayoutError
from lanescope.render.capture_snippets import TESTS
from tests import capture_snippets
from tests.test_kernel import CASES, made
from tests.test_runs import CHOSEN


def reason() -> str:
    try:
        devices()
    except LayoutError as error:
        return f"{error.message} {error.hint}"
    return ""


WHY_NOT = reason()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "there is a device")


@lru_cache(maxsize=1)
def device() -> Cuda:
    return Cuda()


@pytest.mark.parametrize("name", CHOSEN)
def test_products_and_fragments(name: str) -> None:
    instruction = find(name)
    lacking = device().supports(instruction)
    if lacking:
        pytest.skip(lacking)
    if {"a", "b", "d"} <= set(instruction.operands):
        assert products.run(device(), instruction)["agrees"]
    assert not any(measured.wrong.any() for measured in fragments.measure_all(device(), instruction))


@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_descriptors(operand: str, mode: str) -> None:
    instruction = find("wgmma.mma_async.m64n32k16.f32.f16.f16")
    if device().supports(instruction):
        pytest.skip(device().supports(instruction))
    assert descriptors.run(device(), instruction, encode(0x2010, 528, 1040, 3, mode), operand, "K")["agrees"]


def test_banks_and_chains() -> None:
    assert banks.run(device(), "ldmatrix.x4", [128 * lane for lane in range(32)])["agrees"]
    case = next(chained.cases())
    assert case.agrees(device())


@pytest.mark.parametrize("title", dict(TESTS))
def test_the_tests_that_the_capture_page_shows(title: str) -> None:
    if device().supports(captures.needs()):
        pytest.skip(device().supports(captures.needs()))
    if "torch" in dict(TESTS)[title]:
        pytest.importorskip("torch")
    assert capture_snippets.outcome(title, dict(TESTS)[title], 0) == "passes"
    assert "lbo_sbo_swapped" in capture_snippets.outcome(title, dict(TESTS)[title], 1)


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_whole_products(case: tuple[str, str, str, str]) -> None:
    chosen = made(case)
    if device().supports(chosen.instruction):
        pytest.skip(device().supports(chosen.instruction))
    assert products.run_plan(device(), chosen)["agrees"]
