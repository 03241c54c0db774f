"""The kernels that the emulator repeats: launches, inputs, and how they are built. The PTX and what a device left in
memory are in tests/golden/emulated.

`python -m tests.device_runs FOLDER` compiles them with nvcc, Triton and ptxas for a device, which runs
`python -m tests.device_launches FOLDER OUT`; `python -m tests.device_runs FOLDER OUT` then packs both.
"""

from __future__ import annotations

import io
import json
import lzma
import runpy
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.ptx.codec import encode_values

Array = NDArray[Any]
FOLDER = Path(__file__).parent / "golden" / "emulated"
ARCHIVE = FOLDER / "device.tar.xz"
_DTYPES = {"bf16": np.uint16, "f16": np.float16, "e4m3": np.uint8, "f32": np.float32, "s32": np.int32, "s8": np.int8}


@dataclass(frozen=True)
class Buffer:
    """A buffer of small integers from -most to most; output: whether it is compared."""

    type: str
    shape: tuple[int, ...]
    most: int = 0
    output: bool = False


@dataclass(frozen=True)
class KernelRun:
    """One launch. source: a file of the folder, or a kernel of triton_kernels.py there; mistake: what is planted."""

    name: str
    source: str
    grid: tuple[int, int, int]
    block: int
    args: tuple[Any, ...]
    buffers: Mapping[str, Buffer]
    maps: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    shared: int = 0
    mistake: int = 0

    @property
    def launch(self) -> dict[str, Any]:
        """The launch of docs/emulation.md as an object."""
        return {
            "grid": list(self.grid),
            "block": [self.block, 1, 1],
            "shared": self.shared,
            "args": list(self.args),
            "buffer": {
                name: {"type": one.type, "shape": list(one.shape), "file": f"{name}.npy"}
                | ({"output": f"{name}.out.npy"} if one.output else {})
                for name, one in self.buffers.items()
            },
            "tensor_map": {name: dict(one) for name, one in self.maps.items()},
        }

    def make_buffers(self) -> dict[str, Array]:
        """The same small integers each time; a mistake's run begins with those of the right one."""
        made = {}
        for name, one in self.buffers.items():
            random = np.random.Generator(np.random.PCG64(zlib.crc32(f"{self.source} {name}".encode())))
            values = random.integers(-one.most, one.most + 1, one.shape)
            made[name] = encode_buffer(values, one.type)
        return made


def encode_buffer(values: Array, kind: str) -> Array:
    """Encode integers in a type; bf16 and fp8 as unsigned integers."""
    if kind in ("bf16", "e4m3"):
        return encode_values(values.astype(np.float64), kind).astype(_DTYPES[kind])
    return values.astype(_DTYPES[kind])


def _box(
    buffer: str, rows: int, columns: int, size: int, box: tuple[int, int], swizzle: str = "128B"
) -> dict[str, Any]:
    return {
        "buffer": buffer,
        "dims": [columns, rows],
        "strides": [columns * size],
        "box": list(box),
        "swizzle": swizzle,
    }


def _ring(mistake: int = 0) -> KernelRun:
    m, n, k = 256, 128, 320
    return KernelRun(
        f"ring-{mistake}", "ring.cu", (3, 1, 1), 384, ("C", m, n, k, "A", "B"),
        {"a": Buffer("bf16", (m, k), 4), "b": Buffer("bf16", (n, k), 4), "C": Buffer("f32", (m, n), 0, True)},
        {"A": _box("a", m, k, 2, (64, 128)), "B": _box("b", n, k, 2, (64, 64))},
        3 * 24576, mistake,
    )  # fmt: skip


def _multicast(mistake: int = 0) -> KernelRun:
    m, n, k = 128, 128, 320
    return KernelRun(
        f"multicast-{mistake}", "multicast.cu", (2, 2, 1), 256, ("C", n, k, "A", "B"),
        {"a": Buffer("bf16", (m, k), 4), "b": Buffer("bf16", (n, k), 4), "C": Buffer("f32", (m, n), 0, True)},
        {"A": _box("a", m, k, 2, (64, 64)), "B": _box("b", n, k, 2, (64, 32))},
        2 * 16384, mistake,
    )  # fmt: skip


def _store(mistake: int = 0) -> KernelRun:
    m, n, k = 100, 80, 128
    return KernelRun(
        f"store-{mistake}", "store.cu", (2, 2, 1), 128, ("A", "B", "C", "S", 0.25),
        {"a": Buffer("e4m3", (m, k), 3), "b": Buffer("e4m3", (n, k), 3), "c": Buffer("bf16", (m, n), 2, True),
         "sum": Buffer("bf16", (m, n), 2, True)},
        {"A": _box("a", m, k, 1, (128, 64)), "B": _box("b", n, k, 1, (128, 64)), "C": _box("c", m, n, 2, (64, 64)),
         "S": _box("sum", m, n, 2, (64, 64))},
        2 * 8192 + 8192, mistake,
    )  # fmt: skip


def _pipeline(mistake: int = 0) -> KernelRun:
    m, n, k = 100, 72, 264
    return KernelRun(
        f"pipeline-{mistake}", "pipeline.cu", (2, 2, 1), 128, ("a", "b", "C", m, n, k),
        {"a": Buffer("f16", (m, k), 4), "b": Buffer("f16", (k, n), 4), "C": Buffer("f32", (m, n), 0, True)},
        mistake=mistake,
    )  # fmt: skip


def _exchange(mistake: int = 0) -> KernelRun:
    return KernelRun(
        f"exchange-{mistake}", "exchange.cu", (8, 1, 1), 128, ("a", "sums", "ranks", "votes"),
        {"a": Buffer("s32", (1024,), 50), "sums": Buffer("s32", (8,), 0, True), 
         "ranks": Buffer("s32", (1024,), 0, True), "votes": Buffer("s32", (1024, 2), 0, True)},
        mistake=mistake,
    )  # fmt: skip


def _attention(mistake: int = 0) -> KernelRun:
    return KernelRun(
        f"attention-{mistake}", "attention.cu", (2, 1, 1), 128, ("O", "Q", "K", "V", 3),
        {"q": Buffer("f16", (128, 64), 1), "k": Buffer("f16", (192, 64), 1), "v": Buffer("f16", (192, 64), 2),
         "O": Buffer("f32", (128, 64), 0, True)},
        {"Q": _box("q", 128, 64, 2, (64, 64)), "K": _box("k", 192, 64, 2, (64, 64)),
         "V": _box("v", 192, 64, 2, (64, 64))},
        3 * 8192, mistake,
    )  # fmt: skip


def _barriers(mistake: int = 0) -> KernelRun:
    return KernelRun(
        f"barriers-{mistake}", "barriers.cu", (1, 1, 1), 128, ("a", "out", 5),
        {"a": Buffer("s32", (5 * 256,), 50), "out": Buffer("s32", (128,), 0, True)}, mistake=mistake,
    )  # fmt: skip


def _im2col(mistake: int = 0) -> KernelRun:
    images, height, width, channels = 3, 7, 9, 32
    pixels = {
        "mode": "im2col", "dims": [channels, width, height, images],
        "strides": [4 * channels, 4 * channels * width, 4 * channels * width * height],
        "pixel_lower": [-1, -1], "pixel_upper": [-1, -1], "channels": 16, "pixels": 40, "swizzle": "64B",
    }  # fmt: skip
    shape = (images, height, width, channels)
    return KernelRun(
        f"im2col-{mistake}", "im2col.cu", (10, 3, 2), 128, ("A", "S", "T", "out"),
        {"a": Buffer("s32", shape, 50), "t": Buffer("s32", shape, 0, True),
         "out": Buffer("s32", (2, 3, 10, 640), 0, True)},
        {"A": {"buffer": "a"} | pixels, "S": {"buffer": "a", "element_strides": [1, 2, 2, 1]} | pixels,
         "T": {"buffer": "t"} | pixels | {"pixel_lower": [0, 0], "pixel_upper": [0, 0]}},
        2560, mistake,
    )  # fmt: skip


def _triton(
    name: str, source: str, sizes: tuple[int, int, int], types: tuple[str, str], shared: int, most: int = 4
) -> KernelRun:
    """A product of sizes m, n, k. f16 has tiles of 128 rows and 8 warps; B of s8 lies by column."""
    m, n, k = sizes
    rows, block = (128, 256) if types[0] == "f16" else (64, 128)
    b = (n, k) if types[0] == "s8" else (k, n)
    return KernelRun(
        name, source, (-(-m // rows), -(-n // 64), 1), block,
        ("a", "b", "C", m, n, k, k, b[1], n, 0, 0),
        {"a": Buffer(types[0], (m, k), most), "b": Buffer(types[0], b, most), "C": Buffer(types[1], (m, n), 0, True)},
        shared=shared,
    )  # fmt: skip


def _triton_tma(name: str, source: str, block: int, shared: int) -> KernelRun:
    m, n, k = 128, 128, 192
    return KernelRun(
        name, source, (2, 2, 1), block, ("A", m, k, k, 1, "B", n, k, k, 1, "C", m, n, k, n, 0, 0),
        {"a": Buffer("bf16", (m, k), 4), "b": Buffer("bf16", (n, k), 4), "C": Buffer("f32", (m, n), 0, True)},
        {"A": _box("a", m, k, 2, (64, 64)), "B": _box("b", n, k, 2, (64, 64))}, shared,
    )  # fmt: skip


def list_runs() -> list[KernelRun]:
    made: list[tuple[Callable[[int], KernelRun], tuple[int, ...]]] = [
        (_ring, (0, 3, 4, 5)), (_multicast, (0, 1)), (_store, (0, 1)), (_pipeline, (0, 1, 2)), (_exchange, (0, 1)),
        (_attention, (0, 1)), (_barriers, (0, 1)), (_im2col, (0,)),
    ]  # fmt: skip
    return [make(mistake) for make, mistakes in made for mistake in mistakes] + [
        _triton("triton-bf16-80", "tri_bf16_80", (112, 80, 144), ("bf16", "f32"), 16384),
        _triton("triton-bf16-90", "tri_bf16_90", (112, 80, 144), ("bf16", "f32"), 24576),
        _triton("triton-f16-80", "tri_f16out_80", (128, 80, 160), ("f16", "f16"), 49152, 2),
        _triton("triton-f16-90", "tri_f16out_90", (128, 80, 160), ("f16", "f16"), 73728, 2),
        _triton("triton-s8-80", "tri_i8_80", (128, 128, 192), ("s8", "s32"), 16384, 100),
        _triton("triton-s8-90", "tri_i8_90", (128, 128, 192), ("s8", "s32"), 24576, 100),
        _triton("triton-e4m3-90", "tri_fp8_90", (128, 128, 192), ("e4m3", "f32"), 16384, 3),
        _triton("triton-tf32-90", "tri_tf32_90", (128, 128, 192), ("f32", "f32"), 49152, 3),
        _triton_tma("triton-tma-90", "tri_tma_90", 128, 49176),
        _triton_tma("triton-specialized-90", "tri_tmaws_90", 384, 82080),
    ]


def list_hanging_runs() -> list[KernelRun]:
    """Mistakes that hang a device: no device ran them."""
    return [_ring(1), _ring(2), _ring(6), _multicast(2)]


def build(folder: Path) -> None:
    """Compile every run for sm_90a into a folder: .ptx, .cubin, .json and .npz of each; the PTX of those that hang."""
    folder.mkdir(parents=True, exist_ok=True)
    for run in list_hanging_runs():
        _compile(run, folder / f"{run.name}.ptx")
    for run in list_runs():
        ptx = folder / f"{run.name}.ptx"
        _compile(run, ptx)
        assembler = Path(sys.prefix) / "lib/python3.11/site-packages/nvidia/cu13/bin/ptxas"
        subprocess.run([assembler, "-arch=sm_90a", ptx, "-o", folder / f"{run.name}.cubin"], check=True)
        (folder / f"{run.name}.json").write_text(json.dumps(run.launch))
        np.savez_compressed(folder / f"{run.name}.npz", **run.make_buffers())


def _compile(run: KernelRun, ptx: Path) -> None:
    if not run.source.endswith(".cu"):
        compile_kernel = runpy.run_path(str(FOLDER / "triton_kernels.py"))["compile_kernel"]
        ptx.write_text(compile_kernel(run.source))
        return
    nvcc = Path(sys.prefix) / "lib/python3.11/site-packages/nvidia/cu13/bin/nvcc"
    include = nvcc.parents[1] / "include" / "cccl"
    options = ["-ptx", "-lineinfo", "-arch=sm_90a", "-std=c++17", f"-DMISTAKE={run.mistake}", f"-I{include}"]
    subprocess.run([nvcc, *options, run.source, "-o", ptx.resolve()], cwd=FOLDER, check=True)


def pack(folder: Path, out: Path) -> None:
    """Pack PTX and what the device wrote into the archive that tests read."""
    with lzma.open(ARCHIVE, "wb", preset=9) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        files = {
            f"{run.name}.ptx": (folder / f"{run.name}.ptx").read_bytes() for run in list_runs() + list_hanging_runs()
        }
        with np.load(out / "device.npz") as stored:
            for key in stored.files:
                room = io.BytesIO()
                np.save(room, stored[key])
                files[f"{key}.npy"] = room.getvalue()
        files["device.json"] = (out / "device.json").read_bytes()
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))


@lru_cache(maxsize=1)
def read_archive() -> dict[str, bytes]:
    """What the archive holds, by name."""
    with tarfile.open(ARCHIVE) as archive:
        return {one.name: archive.extractfile(one).read() for one in archive}  # type: ignore[union-attr]


if __name__ == "__main__":
    if len(sys.argv) == 2:
        build(Path(sys.argv[1]))
    else:
        pack(Path(sys.argv[1]), Path(sys.argv[2]))
