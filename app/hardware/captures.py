"""Part "captures": the examples with lanescope.cuh executed, right and with every planted mistake; what they recorded.

`python -m lanescope.app.hardware.captures FOLDER` writes the captures, captures.tar.xz, and a table of what ran,
captures.json.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lanescope.app.hardware.capture_examples import (
    BY_NAME,
    EXAMPLES,
    MISTAKES,
    ExampleData,
    ExampleProgram,
    compute_product,
    make_fills,
    make_random,
    render_program,
)
from lanescope.app.hardware.device import Array, CudaDevice, compile_text
from lanescope.app.hardware.map_calls import encode_map
from lanescope.capture import file_format, fills
from lanescope.messages.map_calls import MapCall

BUFFER = 8 << 20
TIMED = 200  # launches per cost measurement


def launch_kernel(
    device: CudaDevice, example: ExampleProgram, kernel: Any, data: ExampleData, mistake: int
) -> tuple[bytes, Array]:
    """Launch the kernel once and return (the capture, D)."""
    cupy = device.cupy
    buffer = cupy.asarray(file_format.empty(BUFFER))
    d = cupy.zeros((example.a[0], example.n), np.float32)
    kernel_arguments, _held = _build_arguments(device, example, data)
    kernel((1,), (example.threads,), (d, *kernel_arguments, buffer), shared_mem=example.count_shared_bytes(mistake))
    cupy.cuda.runtime.deviceSynchronize()
    raw = cupy.asnumpy(buffer)
    used = int(raw[: file_format.HEADER_BYTES].view(file_format.HEADER_TYPE)["used"][0])
    return raw[:used].tobytes(), cupy.asnumpy(d)


def _build_arguments(device: CudaDevice, example: ExampleProgram, data: ExampleData) -> tuple[list[Any], list[Any]]:
    """Return the kernel's arguments for A and B, and the objects that must stay alive during the launch."""
    return map_tensors(device, example, (device.cupy.asarray(data.a), device.cupy.asarray(data.b)))


def map_tensors(device: CudaDevice, example: ExampleProgram, tensors: tuple[Any, Any]) -> tuple[list[Any], list[Any]]:
    """Return the kernel's arguments for matrices in device memory: the arrays, or their tensor maps."""
    cupy = device.cupy
    owners, arguments = [], []
    for tensor, box in zip(tensors, (example.box_a, example.box_b), strict=True):
        owners.append(tensor)
        if box == (0, 0):
            arguments.append(tensor)
            continue
        size = tensor.dtype.itemsize
        name = "BFLOAT16" if size == 2 else "UINT8"
        call = MapCall(type=name, dims=tensor.shape[::-1], strides=(tensor.shape[1] * size,), box=box, swizzle="128B")
        words = encode_map(call, tensor.data.ptr)
        if words is None:
            raise RuntimeError(f"The driver refuses the tensor map of {example.name}.")
        arguments.append(cupy.asarray(np.frombuffer(words, np.uint8)))
    return arguments, [*owners, *arguments]


def compile_kernel(device: CudaDevice, example: ExampleProgram, mistake: int, recorded: bool = True) -> Any:
    """Compile the kernel of one example."""
    module = device.cupy.cuda.function.Module()
    module.load(compile_text(render_program(example, mistake, recorded), device.target))
    kernel = module.get_function("example")
    if example.count_shared_bytes(mistake) > 48 << 10:
        driver = device.cupy.cuda.driver
        driver.funcSetAttribute(
            kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, example.count_shared_bytes(mistake)
        )
    return kernel


def measure_cost(device: CudaDevice, example: ExampleProgram) -> dict[str, float]:
    """Measure the microseconds of a launch: compiled out, compiled in with a null buffer, and while it records."""
    cupy = device.cupy
    data = make_fills(example, 1)
    d = cupy.zeros((example.a[0], example.n), np.float32)
    arguments, _held = _build_arguments(device, example, data)
    microseconds = {}
    for name, recorded, size in (("out", False, 0), ("null", True, 0), ("recording", True, TIMED << 20)):
        kernel = compile_kernel(device, example, 0, recorded)
        buffer = cupy.asarray(file_format.empty(size)) if size else np.uint64(0)
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        for count in (10, TIMED):
            begin.record()
            for _ in range(count):
                kernel((1,), (example.threads,), (d, *arguments, buffer), shared_mem=example.shared)
            end.record()
            end.synchronize()
        microseconds[name] = round(cupy.cuda.get_elapsed_time(begin, end) * 1e3 / TIMED, 3)
    return microseconds


def read_shared_registers(device: CudaDevice) -> dict[str, int]:
    """Read the special registers about shared memory, of a block with 4096 bytes of it, and where these begin."""
    names = [f"reserved_smem_offset_{part}" for part in ("begin", "end", "cap")]
    names += ["total_smem_size", "aggr_smem_size", "dynamic_smem_size"]
    reads = "".join(f'  asm("mov.u32 %0, %%{name};" : "=r"(out[{n}]));\n' for n, name in enumerate(names))
    text = (
        'extern "C" __global__ void read_registers(unsigned* out) {\n  extern __shared__ unsigned char shared[];\n'
        f"{reads}  out[{len(names)}] = (unsigned)__cvta_generic_to_shared(shared);\n}}\n"
    )
    module = device.cupy.cuda.function.Module()
    module.load(compile_text(text, device.target))
    out = device.cupy.zeros(len(names) + 1, np.uint32)
    module.get_function("read_registers")((1,), (1,), (out,), shared_mem=4096)
    return dict(zip([*names, "shared"], device.cupy.asnumpy(out).tolist(), strict=True))


def record_example(device: CudaDevice, folder: Path, example: ExampleProgram, first: int, last: int = MISTAKES) -> None:
    """Record one example from the mistake `first` to the mistake `last`, with fills and with real data: captures, and a
    line of JSON for each mistake.

    Stops at the first error: after one, a context runs nothing more.
    """
    for mistake in range(first, last + 1):
        row: dict[str, Any] = {"example": example.name, "mistake": mistake, "files": []}
        try:
            _record_mistake(device, folder, row, example)
        except Exception as error:
            row["error"] = f"{type(error).__name__}: {error}"[:600]
        with (folder / "rows.txt").open("a") as file:
            file.write(json.dumps(row) + "\n")
        if "error" in row:
            return
    costs = {example.name: measure_cost(device, example)}
    (folder / f"{example.name}.cost").write_text(
        json.dumps({"device": {**device.info(), "shared": read_shared_registers(device)}, "microseconds": costs})
    )


def _record_mistake(device: CudaDevice, folder: Path, row: dict[str, Any], example: ExampleProgram) -> None:
    mistake = row["mistake"]
    kernel = compile_kernel(device, example, mistake)
    for data in (
        *(make_fills(example, n + 1) for n in range(fills.count_passes(example.element))),
        make_random(example),
    ):
        raw, d = launch_kernel(device, example, kernel, data, mistake)
        kind = f"fill{data.part}" if data.part else "real"
        name = f"{example.name}-{mistake}-{kind}.lscap"
        (folder / name).write_bytes(raw)
        row["files"].append(name)
        if not data.part:
            row["d_right"] = bool(np.array_equal(d, compute_product(example, data)))
        capture = file_format.read_capture(raw)
        row[kind] = {"records": len(capture.records), "dropped": capture.dropped, "bytes": len(raw)}
        row["windows"] = sorted(
            {(record.window_first, len(record.window)) for record in capture.records if len(record.window)}
        )


def record_all(
    folder: Path, examples: Sequence[ExampleProgram] | None = None, last: int = MISTAKES
) -> list[dict[str, Any]]:
    """Record the examples (all by default), right and with the mistakes up to `last`, each in a separate process,
    because an error ends a process's use of the device.
    """
    programs = EXAMPLES if examples is None else examples
    parts = folder / "parts"
    parts.mkdir(parents=True, exist_ok=True)
    file = parts / "rows.txt"
    rows: list[dict[str, Any]] = []
    for example in programs:
        first = 0
        while first <= last:
            done = len(rows)
            program = [sys.executable, "-m", "lanescope.app.hardware.captures"]
            subprocess.run([*program, str(parts), example.name, str(first), str(last)], timeout=120)
            rows = [json.loads(line) for line in file.read_text().splitlines()] if file.is_file() else []
            if len(rows) == done:
                rows.append({"example": example.name, "mistake": first, "files": [], "error": "the process ended"})
                file.write_text("".join(json.dumps(row) + "\n" for row in rows))
            first = rows[-1]["mistake"] + 1
    summary: dict[str, Any] = {"runs": rows, "microseconds": {}}
    for example in programs:
        data = make_random(example)
        for name, codes in (("a", data.a), ("b", data.b)):
            np.save(parts / f"{example.name}-{name}.npy", codes)
    with tarfile.open(folder / "captures.tar.xz", "w:xz", preset=9) as archive:  # the files share most of their bytes
        for path in sorted([*parts.glob("*.lscap"), *parts.glob("*.npy")]):
            archive.add(path, path.name)
    for path in sorted(parts.glob("*.cost")):
        cost = json.loads(path.read_text())
        summary["device"] = cost["device"]
        summary["microseconds"] |= cost["microseconds"]
    (folder / "captures.json").write_text(json.dumps(summary, indent=1) + "\n")
    shutil.rmtree(parts)
    return rows


def main(arguments: Sequence[str]) -> int:
    if len(arguments) == 4:
        record_example(CudaDevice(), Path(arguments[0]), BY_NAME[arguments[1]], *map(int, arguments[2:]))
        return 0
    if len(arguments) != 1:
        print("usage: python -m lanescope.app.hardware.captures FOLDER", file=sys.stderr)
        return 2
    rows = record_all(Path(arguments[0]))
    for row in rows:
        print(json.dumps(row))
    summary = json.loads((Path(arguments[0]) / "captures.json").read_text())
    print(json.dumps({name: summary.get(name) for name in ("device", "microseconds")}))
    wrong = [row for row in rows if "error" in row or row["d_right"] != (row["mistake"] == 0)]
    print(f"{len(rows) - len(wrong)} of {len(rows)} ran; D is right without a mistake and wrong with one.")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
