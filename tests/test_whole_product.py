"""A whole product as a run: staged where the plan says, read through descriptors and loads, compared with NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lanescope import find
from lanescope.app.hardware import mma_runs, runs
from lanescope.app.hardware.device import ProductJob
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.app.kit.run_results import parse_mma_result
from lanescope.app.steps.draw import render_steps
from lanescope.app.steps.facts import trace_steps
from lanescope.app.steps.wgmma import WgmmaSteps
from lanescope.descriptor.matrix import Descriptor
from lanescope.errors import LayoutError
from lanescope.product.planning import make_plan
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.test_kernel import CASES, F16, WORKED, build_plan


def test_every_program_has_a_simulation_that_agrees() -> None:
    for case in CASES:
        found = mma_runs.run_plan(NumpyDevice(), build_plan(case))
        assert found["agrees"] and found["compared"] >= 64, case


@for_each("name", WORKED)
def test_the_worked_examples_run_as_one_product(name: str) -> None:
    a, b = WORKED[name]
    request = runs.parse_run({"kind": "mma", "instruction": F16, "backend": "numpy", "a": a, "b": b})
    found = runs.execute_run(NumpyDevice(), request)
    assert found["agrees"] and found["compared"] == 64 * 32
    assert ("a" in found["descriptors"]) is (name != "registers-64b") and request["a_from"] == (
        "registers" if name == "registers-64b" else "shared"
    )


@for_each(
    ("a", "b", "side", "word"),
    [
        ("major=MN,swizzle=64B", "major=MN", "a", "0x8000004000200000"),  # LBO and SBO exchanged
        ("major=MN,swizzle=64B", "major=MN", "b", "0x0000000800100080"),
        ("major=MN,swizzle=128B", "swizzle=32B", "a", "0x8000004000800000"),  # another mode
        ("major=MN,swizzle=128B", "swizzle=32B", "b", "0xc000001000010081"),  # 16 bytes off
        ("from=registers", "major=MN,swizzle=64B", "b", "0x8002002000400000"),  # a base offset where there is none
    ],
)
def test_a_wrong_descriptor_gives_a_wrong_product(a: str, b: str, side: str, word: str) -> None:
    """The run executes the word it is given, and only that word differs from the run that agrees."""
    given = {"a": a, "b": b}
    wrong = {**given, side: f"{given[side]},descriptor={word}"}
    right = mma_runs.run_plan(NumpyDevice(), make_plan(find(F16), *given.values()))
    found = mma_runs.run_plan(NumpyDevice(), make_plan(find(F16), *wrong.values()))
    assert right["agrees"] and not found["agrees"] and found["descriptors"][side] == [word]
    same = {**given, side: f"{given[side]},descriptor={right['descriptors'][side][0]}"}
    assert mma_runs.run_plan(NumpyDevice(), make_plan(find(F16), *same.values()))["agrees"]


def test_a_device_with_another_rule_is_found() -> None:
    """Hardware that took LBO for SBO, or ignored imm-scale-b, would differ in the run of a whole product."""

    class Exchanged(NumpyDevice):
        def product(self, job: ProductJob) -> Any:
            a = Descriptor(job.descriptors["a_desc"])
            other = {
                **job.descriptors,
                "a_desc": a.replace(lbo_encoded=a.sbo_bytes // 16, sbo_encoded=a.lbo_bytes // 16).word,
            }
            return super().product(replace(job, descriptors=other))

    class Unsigned(NumpyDevice):
        def product(self, job: ProductJob) -> Any:
            return super().product(replace(job, immediates={**job.immediates, "imm_scale_b": "1"}))

    chosen = make_plan(find(F16), "major=MN,swizzle=32B", "scale=-1,base=65536")
    assert mma_runs.run_plan(NumpyDevice(), chosen)["agrees"]
    assert not mma_runs.run_plan(Exchanged(), chosen)["agrees"] and not mma_runs.run_plan(Unsigned(), chosen)["agrees"]


@for_each("case", [case for case in CASES if case[0].startswith("wgmma")], ids=lambda case: " ".join(case))
def test_steps_add_up_to_the_product(case: tuple[str, str, str, str]) -> None:
    """Factors read through the descriptors, term by term, make the element of D that NumPy has."""
    i = find(case[0])
    given = {
        "kind": "mma",
        "instruction": i.ptx,
        "backend": "numpy",
        "seed": 3,
        **dict(zip("abd", case[1:], strict=True)),
    }
    found = trace_steps(i, parse_mma_result(runs.execute_run(NumpyDevice(), runs.parse_run(given))), 19, 5)
    assert isinstance(found, WgmmaSteps)
    element = found.element
    assert element.c + sum(term.product for term in element.terms) == element.sum == element.expected == element.d
    assert len(element.terms) == i.sizes["k"] * found.steps and f"T{element.thread}:d" in element.d_at
    first = element.terms[0]
    for side, tile in found.shared.items():
        at = tile.address[19 if side == "a" else 5]
        said = {"a": first.a_at, "b": first.b_at}[side]
        assert said.partition(".")[0] in [str(n) for n in at.tolist()] or first.a_at == "not stored"
    assert "D[19,5]: C + sum" in render_steps(found)


def test_steps_show_where_a_wrong_descriptor_reads(client: Client) -> None:
    """The factors of D[1,2] come from other bytes than those A lies at, and D is not NumPy's."""
    link = f"/steps/{F16}.json?a=swizzle=128B,descriptor=0x8000004000010000&row=1&col=2"
    found = client.get(link).json()
    element, lies = found["element"], found["shared"]["a"]["address"][1]
    assert not found["agrees"] and element["d"] == element["sum"] != element["expected"]
    assert [term["a_at"] for term in element["terms"]] != [str(at) for at in lies]
    page = client.get(link.replace(".json", "").replace("wgmma.mma_async.m64", "wgmma.mma_async.sync.aligned.m64"))
    assert page.status_code == 200 and "✗ D differs" in page.text and "NumPy’s product" in page.text
    assert client.get(link.replace(".json", ".txt")).text.startswith("wgmma.mma_async")
    assert (
        client.get(f"/steps/{F16}?a=swizle=1").status_code == 422
        and client.get(f"/steps/{F16}?row=64").status_code == 422
    )
    done = run_lanescope("steps", F16, "--a", "swizzle=128B", "--b", "swizzle=64B", "--at", "1,2")
    assert done.returncode == 0 and "D[1,2]" in done.stdout and "step 3" in done.stdout
    assert run_lanescope("steps", "mma.m16n8k16.row.col.f32.f16.f16.f32", "--a", "major=MN").returncode == 2
    assert f'href="/steps/{find(F16).ptx}"' in client.get(f"/i/{F16}").text


def test_requests_are_checked_before_anything_runs() -> None:
    base = {"kind": "mma", "instruction": F16, "backend": "numpy"}
    for given, field in (
        ({"a": "swizle=64B"}, "a.swizle"),
        ({"b": {"major": "X"}}, "b.major"),
        ({"a": "descriptor=0x40003fff00000000"}, "a.descriptor"),
        ({"a": "from=shared", "a_from": "registers"}, "a_from"),
        ({"d": 3}, "d"),
    ):
        with pytest.raises(LayoutError) as caught:
            runs.parse_run(base | given)
        assert caught.value.field == field
    told = runs.parse_run(base | {"a": {"major": "MN"}, "a_from": "shared"})
    assert (
        told["a"] == {"from": "shared", "major": "MN"} and told["b"] == told["d"] == {} and runs.parse_run(told) == told
    )
