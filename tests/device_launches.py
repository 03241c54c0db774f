"""Launch kernels on the device, for the emulator to repeat.

`python -m tests.device_launches FOLDER OUT` reads what FOLDER holds for each run, NAME.json (the launch of
`lanescope emulate` as an object), NAME.ptx, NAME.cubin and NAME.npz (what its buffers begin with), launches it, and
writes OUT/device.npz (NAME/BUFFER: the bytes in memory afterwards) and OUT/device.json (where it ran).
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.device import read_device_info
from lanescope.app.hardware.map_calls import encode_map
from lanescope.emulate.text.parser import parse_module
from lanescope.emulate.text.program import Function
from lanescope.messages.map_calls import MapCall

Array = NDArray[Any]
_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_NAMES = {"f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32", "f64": "FLOAT64", "s32": "INT32", "u32": "UINT32"}


def launch_kernel(
    entry: Function, cubin: bytes, launch: Mapping[str, Any], buffers: Mapping[str, Array]
) -> dict[str, Array]:
    """Launch a kernel once and return the contents of its buffers afterwards."""
    import cupy

    memory = {name: cupy.asarray(array.reshape(-1).view(np.uint8)) for name, array in buffers.items()}
    maps = {name: _encode_map(item, launch, memory) for name, item in launch.get("tensor_map", {}).items()}
    placed = {name: cupy.asarray(np.frombuffer(data, np.uint8)) for name, data in maps.items()}
    values = [
        _encode_argument(argument, parameter.type, memory, maps, placed)
        for argument, parameter in zip(launch["args"], entry.parameters, strict=True)
    ]
    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    _check(driver.cuModuleLoadData(ctypes.byref(module), cubin))
    _check(driver.cuModuleGetFunction(ctypes.byref(function), module, entry.name.encode()))
    shared = int(launch.get("shared", 0))
    _check(driver.cuFuncSetAttribute(function, _DYNAMIC_SHARED, shared))
    rooms = [ctypes.create_string_buffer(value, len(value)) for value in values]
    pointers = (ctypes.c_void_p * len(rooms))(*(ctypes.addressof(room) for room in rooms))
    grid, block = launch["grid"], launch["block"]
    _check(driver.cuLaunchKernel(function, *grid, *block, shared, None, pointers, None))
    cupy.cuda.Device().synchronize()
    return {name: array.get().view(buffers[name].dtype).reshape(buffers[name].shape) for name, array in memory.items()}


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"the driver answers {status}")


def _encode_map(item: Mapping[str, Any], launch: Mapping[str, Any], memory: Mapping[str, Any]) -> bytes:
    element = item.get("type", launch["buffer"][item["buffer"]]["type"])
    address = memory[item["buffer"]].data.ptr
    call = MapCall(
        type=_NAMES.get(element, "UINT8"),
        dims=tuple(item["dims"]),
        strides=tuple(item.get("strides", ())),
        box=tuple(item.get("box", ())),
        swizzle=item.get("swizzle", "none"),
        steps=tuple(item.get("element_strides", ())),
    )
    if item.get("mode") == "im2col":
        corners = {"lower": tuple(item["pixel_lower"]), "upper": tuple(item["pixel_upper"])}
        call = replace(call, **corners, channels=item["channels"], pixels=item["pixels"])
    encoded = encode_map(call, address)
    if encoded is None:
        raise ValueError(f"the driver refuses {item}")
    return encoded


def _encode_argument(
    argument: Any, kind: str, memory: Mapping[str, Any], maps: Mapping[str, bytes], placed: Mapping[str, Any]
) -> bytes:
    if isinstance(argument, dict):
        return bytes.fromhex(argument["hex"])
    if isinstance(argument, str) and argument.startswith("&"):
        return int(placed[argument[1:]].data.ptr).to_bytes(8, "little")
    if isinstance(argument, str):
        return maps[argument] if argument in maps else int(memory[argument].data.ptr).to_bytes(8, "little")
    if kind in ("f32", "f64"):
        return np.array(argument, f"float{kind[1:]}").tobytes()
    size = int(kind[1:]) // 8
    return (int(argument) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def main(folder: Path, out: Path) -> None:
    """Launch every run of a folder and write the contents of memory afterwards."""
    results: dict[str, Array] = {}
    failures: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        name, launch = path.stem, json.loads(path.read_text())
        module = parse_module((folder / f"{name}.ptx").read_text())
        (entry,) = [candidate for candidate in module.entries if launch.get("kernel", "") in candidate.name]
        with np.load(folder / f"{name}.npz") as stored:
            buffers = {key: stored[key] for key in stored.files}
        try:
            ended = launch_kernel(entry, (folder / f"{name}.cubin").read_bytes(), launch, buffers)
        except Exception as error:
            failures[name] = str(error)
            break  # the context may be lost
        results |= {f"{name}/{key}": ended[key] for key, row in launch["buffer"].items() if row.get("output")}
    np.savez_compressed(out / "device.npz", **dict[str, Any](results))
    facts = {
        "device": read_device_info(),
        "date": datetime.now(UTC).date().isoformat(),
        "program": "tests/device_launches.py",
        "runs": sorted({key.partition("/")[0] for key in results}),
        "failures": failures,
    }
    (out / "device.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
