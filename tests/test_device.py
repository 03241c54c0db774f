"""On a machine with a GPU and CuPy: every kind of run, really executed. Elsewhere skipped with the reason; CI replays
the evidence files.
"""

from __future__ import annotations

from functools import lru_cache

import pytest

from lanescope import find
from lanescope.app.hardware import bank_runs, capture_examples, chain_runs, descriptor_runs, fragment_runs, mma_runs
from lanescope.app.hardware.device import CudaDevice, list_devices
from lanescope.descriptor.matrix import encode_wgmma
from lanescope.errors import LayoutError
from lanescope.render.capture_snippets import TESTS
from tests import capture_snippets
from tests.test_kernel import CASES, build_plan
from tests.test_runs import CHOSEN


def explain_skip() -> str:
    try:
        list_devices()
    except LayoutError as error:
        return f"{error.message} {error.hint}"
    return ""


WHY_NOT = explain_skip()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "there is a device")


@lru_cache(maxsize=1)
def open_device() -> CudaDevice:
    return CudaDevice()


@pytest.mark.parametrize("name", CHOSEN)
def test_products_and_fragments(name: str) -> None:
    instruction = find(name)
    lacking = open_device().supports(instruction)
    if lacking:
        pytest.skip(lacking)
    if {"a", "b", "d"} <= set(instruction.operands):
        assert mma_runs.run_mma(open_device(), instruction)["agrees"]
    assert not any(measured.wrong.any() for measured in fragment_runs.measure_all(open_device(), instruction))


@pytest.mark.parametrize("mode", ["none", "32B", "64B", "128B"])
@pytest.mark.parametrize("operand", ["a", "b"])
def test_descriptors(operand: str, mode: str) -> None:
    instruction = find("wgmma.mma_async.m64n32k16.f32.f16.f16")
    if open_device().supports(instruction):
        pytest.skip(open_device().supports(instruction))
    assert descriptor_runs.run_descriptor(
        open_device(), instruction, encode_wgmma(0x2010, 528, 1040, 3, mode), operand, "K"
    )["agrees"]


def test_banks_and_chains() -> None:
    assert bank_runs.run_banks(open_device(), "ldmatrix.x4", [128 * lane for lane in range(32)])["agrees"]
    case = next(chain_runs.generate_cases())
    assert case.run_case(open_device())


@pytest.mark.parametrize("title", dict(TESTS))
def test_the_tests_that_the_capture_page_shows(title: str) -> None:
    if open_device().supports(capture_examples.find_newest_instruction()):
        pytest.skip(open_device().supports(capture_examples.find_newest_instruction()))
    if "torch" in dict(TESTS)[title]:
        pytest.importorskip("torch")
    assert capture_snippets.run_snippet(title, dict(TESTS)[title], 0) == "passes"
    assert "lbo_sbo_swapped" in capture_snippets.run_snippet(title, dict(TESTS)[title], 1)


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_whole_products(case: tuple[str, str, str, str]) -> None:
    chosen = build_plan(case)
    if open_device().supports(chosen.instruction):
        pytest.skip(open_device().supports(chosen.instruction))
    assert mma_runs.run_plan(open_device(), chosen)["agrees"]
