"""Part "captures": the examples with lanescope.cuh executed, right and with every planted mistake; what they recorded.

`python -m lanescope.app.hardware.captures FOLDER` writes the captures, captures.tar.xz, and a table of what ran,
captures.json.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lanescope import find
from lanescope.app.hardware.device import Array, CudaDevice, compile_text
from lanescope.app.hardware.tma_boxes import TensorMap
from lanescope.capture import file_format, fills
from lanescope.errors import LayoutError
from lanescope.ptx import codec
from lanescope.ptx.dtypes import get_dtype
from lanescope.ptx.instruction import Instruction
from lanescope.render.capture_header import render_header

MISTAKES = 5  # planted by every example
BUFFER = 8 << 20
TIMED = 200  # launches per cost measurement


# Each example is a whole kernel, although their main loops are alike: a reader follows it from load to store in one
# file, and the file and line that a capture records are the kernel's own.
@dataclass(frozen=True)
class ExampleProgram:
    """One program of examples/ and the arguments of its kernel.

    a, b: the shape in global memory; b_first: the index that B's rows have; boxes: (inner, outer) of the tensor maps of
    A and B, if any. shared: bytes of dynamic shared memory; far: the same for the mistakes that read past it. mistakes:
    a description of each, and the code that names it.
    """

    name: str
    element: str
    a: tuple[int, int]
    b: tuple[int, int]
    mistakes: tuple[tuple[str, str], ...]
    b_first: str = "n"
    box_a: tuple[int, int] = (0, 0)
    box_b: tuple[int, int] = (0, 0)
    threads: int = 128
    shared: int = 0
    far: Mapping[int, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.b[self.b_first == "k"]

    @property
    def outputs(self) -> int:
        return self.a[0] * self.n

    def count_shared_bytes(self, mistake: int) -> int:
        """Return the bytes of dynamic shared memory of a launch."""
        return self.far.get(mistake, self.shared)

    def render_source(self) -> str:
        """Render the program with its includes inserted; #line directives keep the file and number of each line."""
        return "".join(_expand_lines(f"{self.name}.cu"))


EXAMPLES = (
    ExampleProgram(
        "wgmma_tma_k_major",
        "bf16",
        (64, 128),
        (128, 128),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step past the swizzle atom", "k_advance_past_atom"),
            ("TMA's swizzle code", "tma_swizzle_enum"),
            ("transpose flag of B", "wrong_transpose"),
            ("panel stride of A in B", "panel_stride_wrong"),
        ),
        box_a=(64, 64),
        box_b=(64, 128),
        shared=2 * 8192 + 2 * 16384 + 16,
    ),
    ExampleProgram(
        "wgmma_mn_major_b",
        "bf16",
        (64, 64),
        (64, 128),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step of a K-major tile", "k_advance_past_atom"),
            ("TMA's swizzle code", "tma_swizzle_enum"),
            ("transpose flag of B", "wrong_transpose"),
            ("panel stride of one instruction", "panel_stride_from_instruction"),
        ),
        b_first="k",
        box_a=(64, 64),
        box_b=(64, 64),
        shared=8192 + 16384 + 16,
        far={3: 72 << 10, 4: 72 << 10},
    ),
    ExampleProgram(
        "wgmma_core_matrices",
        "f16",
        (64, 64),
        (64, 64),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step of a swizzled tile", "k_advance_past_atom"),
            ("128B swizzle of data without one", "swizzle_mode"),
            ("transpose flag of B", "wrong_transpose"),
            ("panel stride of a taller tile", "panel_stride_wrong"),
        ),
        shared=2 * 8192,
    ),
    ExampleProgram(
        "ldmatrix_padded",
        "f16",
        (16, 64),
        (8, 64),
        (
            ("matrices 1 and 2 exchanged", "matrices_exchanged"),
            ("K step in elements", "k_step_in_elements"),
            ("swizzled addresses of plain rows", "swizzle_mode"),
            (".trans", "wrong_transpose"),
            ("pitch without the padding", "pitch_wrong"),
        ),
        threads=32,
        shared=24 * 144,
    ),
    ExampleProgram(
        "wgmma_fp8_a_registers",
        "e4m3",
        (64, 256),
        (64, 256),
        (
            ("LBO and SBO exchanged", "lbo_sbo_swapped"),
            ("K step past the swizzle atom", "k_advance_past_atom"),
            ("TMA's swizzle code", "tma_swizzle_enum"),
            ("registers 1 and 2 of A exchanged", "registers_exchanged"),
            ("half the panel stride", "panel_stride_wrong"),
        ),
        box_b=(128, 64),
        shared=2 * 8192 + 16,
    ),
)
BY_NAME = {example.name: example for example in EXAMPLES}


def find_newest_instruction() -> Instruction:
    """Find the newest instruction of the examples."""
    return find("wgmma.mma_async.m64n64k16.f32.f16.f16")


def find_examples() -> Path:
    """Find the folder of the examples; LayoutError if they are not installed."""
    app = Path(__file__).parents[1]
    folder = next((path for path in (app / "examples", app.parent / "examples") if path.is_dir()), None)
    if folder is None:
        raise LayoutError("no_examples", "The examples are not installed.", "Run this in the repository.")
    return folder


def _expand_lines(name: str) -> Iterator[str]:
    text = render_header() if name == "lanescope.cuh" else (find_examples() / name).read_text()
    yield f'#line 1 "{name}"\n'
    for number, line in enumerate(text.splitlines(), 1):
        included = re.fullmatch(r'#include "([\w.]+)"', line)
        if included and not line.endswith('.h"'):
            yield from _expand_lines(included[1])
            yield f'#line {number + 1} "{name}"\n'
        elif line != "#pragma once":
            yield line + "\n"


def render_program(example: ExampleProgram, mistake: int, recorded: bool = True) -> str:
    """Render the text that NVRTC compiles; a static_assert compares its shared memory with that of the launch."""
    size_check = f'static_assert(SHARED_BYTES == {example.count_shared_bytes(mistake)}, "size of the launch");\n'
    return f"#define LANESCOPE {int(recorded)}\n#define MISTAKE {mistake}\n{example.render_source()}{size_check}"


@dataclass(frozen=True)
class ExampleData:
    """A and B as codes in global memory's order. part: the pass of a fill, or 0 for real data."""

    a: Array
    b: Array
    part: int


def make_fills(example: ExampleProgram, part: int) -> ExampleData:
    """Make matrices whose elements identify themselves."""
    a = fills.matrix(example.a, example.element, "a", part)
    b = fills.matrix(example.b, example.element, "b", part, nk=example.b_first == "n")
    return ExampleData(a, b, part)


def make_random(example: ExampleProgram) -> ExampleData:
    """Make matrices of small whole numbers, whose products are exact."""
    rng = np.random.default_rng(17)
    kind = f"<u{get_dtype(example.element).bits // 8}"
    a, b = (
        codec.encode_values(rng.integers(-8, 9, shape), example.element).astype(kind)
        for shape in (example.a, example.b)
    )
    return ExampleData(a, b, 0)


def compute_product(example: ExampleProgram, data: ExampleData) -> Array:
    """Compute D by NumPy: float64 [m, n]."""
    a, b = (codec.decode_bits(codes.astype(np.uint64), example.element) for codes in (data.a, data.b))
    return np.asarray(a @ (b if example.b_first == "k" else b.T))


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
        words = TensorMap(name, tensor.shape[::-1], (tensor.shape[1] * size,), box, "128B").encode(tensor.data.ptr)
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
