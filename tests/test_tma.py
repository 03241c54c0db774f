"""Tensor maps: the storage that a box leaves and the rules the driver refuses by; both as the device showed them."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from lanescope.app.hardware import tma_boxes
from lanescope.descriptor import matrix as descriptor, verify
from lanescope.descriptor.matrix import View
from lanescope.messages.map_calls import MapCall
from lanescope.shared import storage, tma
from tests.cases import for_each
from tests.found_in_code import find_tensor_maps

H200 = json.loads((Path(__file__).parents[1] / "layouts/evidence/nvidia_h200.json").read_text())["boxes"]
CALL = """
cuuint64_t dims[] = {DIMS}; cuuint64_t strides[] = {STRIDES};
cuuint32_t box[] = {BOX}; cuuint32_t steps[] = {STEPS};
cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_TYPE, RANK, p, dims, strides, box, steps,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_MODE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
"""


def render_call(one: MapCall) -> str:
    """A map as the code that makes it."""
    words = {
        "DIMS": one.dims,
        "STRIDES": one.strides or (0,),
        "BOX": one.box,
        "STEPS": one.element_strides,
    }
    text = CALL.replace("TYPE_TYPE", f"TYPE_{one.type}").replace("RANK", str(len(one.dims)))
    text = text.replace("SWIZZLE_MODE", f"SWIZZLE_{one.swizzle.upper()}")
    for word, values in words.items():
        text = text.replace(f"{{{word}}}", f"{{{', '.join(map(str, values))}}}")
    return text


def test_the_device_ran_every_case_and_agreed() -> None:
    wanted: dict[str, int] = {}
    for load in tma_boxes.generate_loads():
        wanted[f"load: {load.key}"] = wanted.get(f"load: {load.key}", 0) + 1
    for rule, _ in tma_boxes.generate_maps():
        wanted[f"rule: {rule}"] = wanted.get(f"rule: {rule}", 0) + 1
    assert {key: row["ran"] for key, row in H200.items()} == wanted
    assert all(row["agreed"] == row["ran"] for row in H200.values())
    edges = [row for key, row in H200.items() if key.startswith("rule: ") and key != "rule: within every rule"]
    assert all(0 < row["refused"] < row["ran"] for row in edges)


def test_the_reader_says_of_code_what_the_device_showed() -> None:
    """The maps that were loaded and offered, as code: the same storage, the same refusals."""
    for load in list(tma_boxes.generate_loads())[::9]:
        (found,) = find_tensor_maps(render_call(load.map))
        assert not found.problems
        assert found.storage == tma.make_box_storage(load.map.box, load.map.bits, load.map.swizzle, load.map.strides)
    for _, one in list(tma_boxes.generate_maps())[::40]:
        told = {code for code, _ in tma_boxes.find_broken_rules(one)}
        (found,) = find_tensor_maps(render_call(one)) or (None,)
        if found is not None and len(one.dims) <= tma.MOST_RANK:
            assert {p.code for p in found.problems} - {"tma_stride_in_elements"} == told, one


def test_what_a_load_leaves_is_counted_once_and_the_rest_untouched() -> None:
    """The expectation that the device is held to: every byte of the box once, everything else as it was."""
    rng = np.random.default_rng(3)
    for load in tma_boxes.generate_loads():
        memory = np.maximum(tma_boxes.fill_random_memory(load.map, rng), 1)
        memory[memory == tma_boxes.UNTOUCHED] = 1
        image = load.compute_expected(memory, 0x800)
        assert int((image != tma_boxes.UNTOUCHED).sum()) == load.map.box_bytes, load
        assert (image[-tma.BOX_ALIGNMENT :] == tma_boxes.UNTOUCHED).all() and (
            image[: load.offset] == tma_boxes.UNTOUCHED
        ).all()


@pytest.mark.parametrize("fault", [None, 0, -1])
def test_one_wrong_byte_of_shared_memory_is_seen(fault: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that leaves what is expected agrees; with one byte changed, in the box or behind it, it does not."""
    load = next(one for one in tma_boxes.generate_loads() if one.key == "panels")
    memory = tma_boxes.fill_random_memory(load.map, np.random.default_rng(5))

    class Device:
        class cupy:  # noqa: N801
            @staticmethod
            def asarray(array: np.ndarray) -> SimpleNamespace:
                return SimpleNamespace(data=SimpleNamespace(ptr=4096))

        @staticmethod
        def run_kernel(*_: object, **__: object) -> list[np.ndarray]:
            image = load.compute_expected(memory, 0x400)
            if fault is not None:
                image[fault] ^= 1
            return [image, np.array([0x400, 1], np.uint32)]

    monkeypatch.setattr(tma_boxes, "encode_map", lambda call, address: b"map")
    assert tma_boxes.run_load(Device, load, np.random.default_rng(5)) == (fault is None)


@for_each(
    ("box", "strides"),
    [
        ((64, 128, 2), (8192, 128)),
        ((64, 1, 128, 2), (256, 8192, 128)),  # a head between the columns and the rows
        ((64, 128, 1, 2), (8192, 256, 128)),
        ((64, 128, 2, 1), (8192, 128, 1 << 20)),
    ],
)
def test_a_box_of_panels_is_read_as_such_whatever_dimensions_of_one_it_has(
    box: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """The second 64 elements of every row are a panel of 128 lines later; rows of the box in sequence would be 256."""
    stored = storage.storage(tma.make_box_storage(box, 16, "128B", strides, base=0x400, inner="K"), 16, "K")
    for k in range(0, 128, 16):
        word = descriptor.encode_wgmma(0x400 + k // 64 * 128 * 128 + k % 64 * 2, 16, 1024, 0, "128B")
        assert verify.verify(word, View(64, 16, 16, "K"), stored, mn=0, k=k).match


@for_each("swizzle", ["32B", "64B", "128B"])
def test_a_box_narrower_than_its_swizzle_is_read_by_that_swizzles_descriptor(swizzle: str) -> None:
    """Rows keep the swizzle's pitch, so half a box is a right operand: it was called unreadable once."""
    wide = tma.WIDTHS[swizzle]
    inner = max(wide // 2, 32) if wide > 32 else 32
    spec = tma.make_box_storage((inner // 2, 64), 16, swizzle, base=0x400, inner="K")
    assert spec["pitch_bytes"] == wide
    seen = View(64, 16, 16, "K")
    stored = storage.storage(spec, 16, "K")
    steps = [
        verify.verify(descriptor.encode_wgmma(0x400 + 2 * k, 16, 8 * wide, 0, swizzle), seen, stored, mn=0, k=k).match
        for k in range(0, inner // 2, 16)
    ]
    assert steps and all(steps)


def test_a_stride_says_which_rule_it_breaks() -> None:
    def told(stride: int) -> list[str]:
        return [
            said for code, said in tma.find_broken_rules(16, (64, 64), (stride,), box=(64, 64)) if code == "tma_stride"
        ]

    assert told(128) == [] == told((1 << 40) - 16)
    assert [s.partition("; ")[2] for s in told(200)] == ["it must be a multiple of 16."]
    assert [s.partition("; ")[2] for s in told(1 << 40)] == ["it must be from 0 to less than 2^40."]
    assert len(told((1 << 40) + 8)) == 2


def test_a_swizzle_code_that_the_driver_does_not_have_is_named() -> None:
    """CUtensorMapSwizzle has the codes 0 to 6."""

    def told(code: int) -> list[str]:
        text = CALL.replace("TYPE_TYPE", "TYPE_BFLOAT16").replace("RANK", "2")
        text = text.replace("CU_TENSOR_MAP_SWIZZLE_MODE", f"(CUtensorMapSwizzle){code}")
        for word, values in {"DIMS": "256, 256", "STRIDES": "512", "BOX": "16, 64", "STEPS": "1, 1"}.items():
            text = text.replace(f"{{{word}}}", f"{{{values}}}")
        (found,) = find_tensor_maps(text)
        return [problem.message for problem in found.problems]

    assert told(6) == [] and told(7) == ["7 is not a CUtensorMapSwizzle."]
