"""The probe of tcgen05 for people who have the hardware: its kernels assemble, its probes find what the maps say when
they are simulated end to end, and what is wrong when a map is changed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lanescope.app.hardware import evidence, tensor_memory, tensor_moves, tensor_probes, verification
from lanescope.app.hardware.device_targets import get_compile_target
from lanescope.app.hardware.tensor_memory import MmaOperation, MoveOperation, TensorJob
from lanescope.app.hardware.tensor_operands import encode_idesc
from lanescope.blackwell.tmem import operands
from lanescope.ptx.pattern import Pattern
from lanescope.ptx.table import tmem as rows
from tests.cases import for_each
from tests.tensor_simulation import SimulatedTensorDevice


def _list_failed(found: Any) -> list[str]:
    return [one.key for one in found if one.ran != one.agreed]


def test_every_probe_finds_the_maps_in_a_simulation() -> None:
    device = SimulatedTensorDevice()
    found = [
        *tensor_moves.run_moves(device),
        *tensor_probes.probe_d(device),
        *tensor_probes.probe_a(device),
        *tensor_probes.probe_descriptors(device, 2),
        *tensor_probes.probe_metadata(device),
        *tensor_probes.probe_types(device),
    ]
    assert _list_failed(found) == [] and sum(one.ran for one in found) > 1_500_000
    keys = {one.key for one in found}
    assert {f"tcgen05.{verb}.{move.shape}" for verb in ("ld", "st") for move in rows.MOVES} <= keys
    assert {f"tcgen05.cp.{shape}" for shape in rows.COPIES} | {"tcgen05.shift"} <= keys
    assert {f"D, layout {place.letter}" for place in rows.PLACES if False in place.sparse} <= keys


def test_scale_factors_are_found_byte_by_byte() -> None:
    device = SimulatedTensorDevice()
    found = [
        *tensor_probes.probe_scales(device, ("mxf8f6f4",), 2),
        *tensor_probes.probe_scales(device, ("mxf4nvf4",), 1),
    ]
    assert _list_failed(found) == [] and {one.key for one in found} == {
        f"scale_{side}, {kind}"
        for side in "ab"
        for kind in ("mxf8f6f4 1X, id 0", "mxf8f6f4 1X, id 1", "mxf4nvf4 2X, id 0", "mxf4nvf4 4X, id 0")
    }


def test_a_changed_map_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation obeys the changed map, the probe judges by the right one."""

    class Crossed(SimulatedTensorDevice):
        def move(self, one: MoveOperation, memory: Any, loaded: Any, stored: Any) -> None:
            crossed = {"16x256b": "(g:8 t:4) (r:x e:2 h:2) -> (h g) (r t e)"}
            shape = one.access.shape
            if shape in crossed and not one.access.packed:
                x = one.access.registers // 4
                one = replace(one, access=replace(one.access, pattern=Pattern.parse(crossed[shape], x=x)))
            super().move(one, memory, loaded, stored)

        def tensor(self, job: TensorJob) -> Any:
            after, registers = super().tensor(job)
            if isinstance(job.operation, MmaOperation) and job.operation.mma.place.letter == "F":
                after = np.roll(after, 16, axis=2)  # the other half of every quarter
            return after, registers

    device = Crossed()
    assert set(_list_failed(tensor_moves.run_moves(device))) == {"tcgen05.ld.16x256b", "tcgen05.st.16x256b"}
    assert set(_list_failed(tensor_probes.probe_d(device))) == {"D, layout F"}
    assert set(_list_failed(tensor_probes.probe_a(device))) == {"A in tensor memory, layout F"}
    right = operands.SCALES
    pattern = right.replace("(c l)", "(l c)")
    monkeypatch.setattr(operands, "SCALES", pattern)
    jobs: list[Any] = []

    class Kept(SimulatedTensorDevice):
        def tensor(self, job: TensorJob) -> Any:
            made = super().tensor(job)
            jobs.append(made)
            return made

    list(tensor_probes.probe_scales(Kept(), ("mxf4",), 1))
    monkeypatch.setattr(operands, "SCALES", right)

    class Replayed:
        def tensor(self, job: TensorJob) -> Any:
            return jobs.pop(0)

    assert _list_failed(tensor_probes.probe_scales(Replayed(), ("mxf4",), 1)) != []


ORDER = (
    r"barrier\.cluster|__sync\w+|mbarrier\.init|fence\.mbarrier_init|fence\.proxy\.async|mbarrier\.try_wait"
    r"|tcgen05\.(?:alloc|relinquish|st|ld|wait::st|wait::ld|fence::\w+|mma|commit|dealloc)"
)
MEET = {1: ["__syncthreads"], 2: ["barrier.cluster", "barrier.cluster"]}


@for_each("form", ["cta_group::1", "cta_group::2"])
def test_a_kernel_orders_what_it_does(form: str) -> None:
    """PTX ISA 9.1, 9.7.16.5 to 7: allocate when the peer is there and give the permit back; fence what was stored for
    the async proxy; wait, fence and meet before what another thread does; free when no one reads any more.
    """
    given = encode_idesc("f16", 128, 64, form)
    text = tensor_memory.render_kernel(MmaOperation(given, form, 0, 0, {"d": 0}))
    meet = MEET[2 if form.endswith("2") else 1]
    across = ["tcgen05.fence::before_thread_sync", *meet, "tcgen05.fence::after_thread_sync"]
    assert re.findall(ORDER, text) == [
        *(meet if len(meet) == 2 else ["__syncwarp"]),
        "tcgen05.alloc",
        "tcgen05.relinquish",
        "mbarrier.init",
        "fence.mbarrier_init",
        "__syncwarp",
        "fence.proxy.async",
        *across,
        "tcgen05.st",
        "tcgen05.wait::st",
        *across,
        "tcgen05.mma",
        "tcgen05.commit",
        "mbarrier.try_wait",
        "__syncwarp",
        *across,
        "tcgen05.ld",
        "tcgen05.wait::ld",
        across[0],
        *meet,
        "tcgen05.dealloc",
    ]


def test_a_probe_that_ends_takes_no_other_with_it() -> None:
    class Broken(SimulatedTensorDevice):
        def tensor(self, job: TensorJob) -> Any:
            if isinstance(job.operation, MmaOperation):
                raise RuntimeError("CUDA_ERROR_ILLEGAL_INSTRUCTION: an illegal instruction was encountered")
            return super().tensor(job)

    found = tensor_probes.run_probes(Broken())
    ended = [key for key in found if "ended" in key]
    assert ended[0] == (
        "tensor_probes.probe_d ended: CUDA_ERROR_ILLEGAL_INSTRUCTION: an illegal instruction was encountered"
    )
    assert len(ended) == 6 and all(found[key] == {"ran": 1, "agreed": 0} for key in ended)
    assert found["tcgen05.shift"]["agreed"] == found["tcgen05.shift"]["ran"] > 0
    assert evidence.list_failures({"results": {}, "tcgen05": found}) == [f"{key}: 0 of 1" for key in ended]


def test_other_devices_skip_it_with_the_reason() -> None:
    assert verification.list_skipped_parts("sm_90a") == {
        "tcgen05": "tcgen05 needs sm_100a, sm_103a or sm_110a; this device is sm_90a."
    }
    assert verification.list_skipped_parts("sm_100a") == {}
    assert [get_compile_target({"compute_capability": one}) for one in ("10.0", "10.3", "11.0")] == list(
        tensor_memory.TARGETS
    )
    assert "tcgen05" in evidence.PARTS and "tcgen05" in evidence.METHODS
