"""Run the catalogue on the device of this machine and say, variant by variant, whether hardware agrees with the maps.

mma kinds: random whole numbers, packed by the fragment maps, executed, unpacked, compared with NumPy exactly. movement kinds: every
16-bit element carries its own place. This is the one module that imports CuPy, and only when it runs.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.gpu import kernels, numbers
from layouts import catalog
from layouts.errors import LayoutError
from layouts.instruction import Instruction
from layouts.metadata import Sparsity
from layouts.swizzle import mode
from layouts.tiling import Tile

FOLDER = Path(__file__).resolve().parents[2] / "layouts" / "evidence"
BATCH = 12
METHOD = "random whole numbers packed by the fragment maps, executed, unpacked, compared with NumPy exactly; ldmatrix, stmatrix, movmatrix by element codes"


@dataclass(frozen=True)
class Job:
    """One variant in one form, with what it needs and how its answer is judged."""

    instruction: Instruction
    form: str
    source: Callable[[str], str]
    run: Callable[[Any, Any], str]

    @property
    def key(self) -> str:
        return self.instruction.ptx + (catalog.SHARED_A if self.form == "shared" else "")


def device_info() -> dict[str, str]:
    """Device, compute capability, driver, the CUDA version it speaks and NVRTC's; LayoutError says why there is none."""
    try:
        import cupy
    except ImportError:
        raise LayoutError("no_device", "CuPy is not installed.", "pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU.") from None
    try:
        runtime = cupy.cuda.runtime
        if not runtime.getDeviceCount():
            raise LayoutError("no_device", "There is no CUDA device.", "Run this on a machine with an NVIDIA GPU.")
        properties = runtime.getDeviceProperties(0)
        return {
            "device": properties["name"].decode(),
            "compute_capability": f"{properties['major']}.{properties['minor']}",
            "driver": _driver(),
            "cuda": _dotted(runtime.driverGetVersion()),
            "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
        }
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise LayoutError("no_device", f"The CUDA driver does not answer: {error}.", "Is the NVIDIA driver loaded?") from None


def _dotted(version: int) -> str:
    """13020 → 13.2."""
    return f"{version // 1000}.{version % 1000 // 10}"


def _driver() -> str:
    """The kernel driver's version, as /proc tells it; empty where it does not."""
    try:
        return re.findall(r"\b\d{3}\.[\d.]+\b", Path("/proc/driver/nvidia/version").read_text())[0]
    except (OSError, IndexError):
        return ""


def target_of(info: dict[str, str]) -> str:
    """The architecture to compile for: sm_90a for Hopper, so that wgmma exists."""
    name = "sm_" + info["compute_capability"].replace(".", "")
    return name + "a" if name in ("sm_90", "sm_100", "sm_103", "sm_120") else name


def jobs(target: str, family: str = "") -> Iterable[Job]:
    """Everything the device supports and this program can run."""
    plain = target.rstrip("a")
    for instruction in catalog.instructions():
        if family and instruction.family.name != family:
            continue
        targets = catalog.assembled(instruction).targets
        if target not in targets and plain not in targets:
            continue
        name = instruction.family.name
        if name in ("ldmatrix", "stmatrix", "movmatrix"):
            yield Job(instruction, "", lambda n, i=instruction: kernels.movement(i, n), lambda c, f, i=instruction: _movement(c, f, i))
        elif name in ("mma", "mma_sp") or (name == "wmma" and ".mma" in instruction.ptx):
            yield Job(instruction, "", lambda n, i=instruction: kernels.mma(i, n), lambda c, f, i=instruction: _mma(c, f, i, ""))
        elif name in ("wgmma", "wgmma_sp"):
            for form in ("registers", "shared"):
                yield Job(
                    instruction,
                    form,
                    lambda n, i=instruction, o=form: kernels.mma(i, n, o),
                    lambda c, f, i=instruction, o=form: _mma(c, f, i, o),
                )


def compile_batch(target: str, batch: list[Job]) -> bytes:
    """One cubin for several kernels, k0 k1 …."""
    from cupy_backends.cuda.libs import nvrtc

    text = "\n".join(f"namespace n{n} {{\n{job.source(f'k{n}')}}}" for n, job in enumerate(batch))
    program = nvrtc.createProgram(text, "lanescope.cu", [], [])
    try:
        nvrtc.compileProgram(program, [f"--gpu-architecture={target}", "--std=c++17"])
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError:
        raise RuntimeError(nvrtc.getProgramLog(program)[:2000]) from None


def verify(family: str = "", progress: Callable[[str, str], None] = lambda key, result: None) -> dict[str, Any]:
    """Run everything; {"meta": …, "results": {variant: "agrees" or what differs}}."""
    import cupy

    info = device_info()
    target = target_of(info)
    todo = list(jobs(target, family))
    batches = [todo[n : n + BATCH] for n in range(0, len(todo), BATCH)]
    results: dict[str, str] = {}
    with ThreadPoolExecutor(12) as pool:
        for batch, cubin in zip(batches, pool.map(lambda b: compile_batch(target, b), batches), strict=True):
            module = cupy.cuda.function.Module()
            module.load(cubin)
            for n, job in enumerate(batch):
                results[job.key] = job.run(cupy, module.get_function(f"k{n}"))
                progress(job.key, results[job.key])
    meta = info | {"target": target, "date": datetime.date.today().isoformat(), "method": METHOD}
    return {"meta": meta, "results": dict(sorted(results.items()))}


def write(found: dict[str, Any]) -> Path:
    """The evidence file of this device."""
    name = re.sub(r"\W+", "_", found["meta"]["device"].lower()).strip("_")
    path = FOLDER / f"{name}.json"
    FOLDER.mkdir(exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n")
    return path


# one run ----------------------------------------------------------------------------------------------------------------------


def _mma(cupy: Any, kernel: Any, i: Instruction, form: str) -> str:
    rng = np.random.default_rng(20261121)
    ops = i.operands
    dense_a, stored_a, words = _left(rng, i)
    products = ops["d"].extents.get("product", 1)
    b_values = rng.choice(numbers.legal_values(i.types["b"]), (products, i.sizes["k"], i.sizes["n"]))
    c_kind = "c" if "c" in ops else "d"
    c_values = rng.integers(-8, 9, (products, i.sizes["m"], i.sizes["n"]))
    expected = c_values + _product(dense_a, b_values, i)
    arguments: list[Any] = []
    out = cupy.zeros((i.threads, ops["d"].registers), _array_type(ops["d"]))
    if i.threads == 128:
        out[...] = cupy.asarray(_registers(ops["d"], c_values).view(_array_type(ops["d"])))
    arguments.append(out)
    shared = 0
    if i.threads == 128:
        image, a_word, b_word = _image(i, stored_a[0], b_values[0], form)
        arguments.append(np.uint64(a_word) if form == "shared" else cupy.asarray(_registers(ops["a"], stored_a)))
        arguments.append(np.uint64(b_word))
        if ops["a"].sparsity:
            arguments.append(cupy.asarray(np.array(words, dtype=np.uint32)))
        arguments += [cupy.asarray(image), np.uint32(len(image))]
        shared = image.nbytes
    else:
        arguments += [
            cupy.asarray(_registers(ops[x], v).view(_array_type(ops[x]))) for x, v in (("a", stored_a), ("b", b_values), (c_kind, c_values))
        ]
        if ops["a"].sparsity:
            arguments.append(cupy.asarray(np.array(words, dtype=np.uint32)))
    kernel((1,), (i.threads,), tuple(arguments), shared_mem=shared)
    cupy.cuda.runtime.deviceSynchronize()
    raw = cupy.asnumpy(out).view(np.uint64 if ops["d"].register_bits == 64 else np.uint32)
    bits, disagree = numbers.unpack(ops["d"], raw)
    got = numbers.decode(bits, ops["d"].element.name)
    wanted = np.moveaxis(expected, 0, -1) if len(ops["d"].axes) == 3 else expected[0]
    wrong = int((got != wanted).sum()) + disagree
    return "agrees" if not wrong else f"differs: {wrong} of {wanted.size}"


def _left(rng: np.random.Generator, i: Instruction) -> tuple[NDArray[Any], NDArray[Any], list[int]]:
    """(dense A, stored A, metadata words), each A [products, m, k]."""
    op = i.operands["a"]
    values = numbers.legal_values(i.types["a"])
    products = op.extents.get("product", 1)
    stored = rng.choice(values, (products, op.row_count, op.col_count))
    if op.sparsity is None:
        return stored, stored, []
    words = _metadata(rng, op.sparsity, op.threads)
    columns = op.sparsity.dense_columns(op.coords["col"], words, 0)
    dense = np.zeros((1, op.row_count, op.dense_col_count), dtype=stored.dtype)
    dense[0, op.rows, columns] = stored[0, op.rows, op.coords["col"]]
    return dense, stored, words


def _metadata(rng: np.random.Generator, sparsity: Sparsity, threads: int) -> list[int]:
    legal = (0x4, 0xE) if sparsity.index_bits == 4 else (0x4, 0x8, 0x9, 0xC, 0xD, 0xE)
    nibbles = rng.choice(legal, (threads, 8)).tolist()
    return [sum(int(nibble) << 4 * n for n, nibble in enumerate(row)) for row in nibbles]


def _product(a: NDArray[Any], b: NDArray[Any], i: Instruction) -> NDArray[Any]:
    if i.types["a"] != "b1":
        return a.astype(np.int64) @ b.astype(np.int64)
    combine = np.bitwise_xor if "xor" in i.modifiers else np.bitwise_and
    return combine(a[:, :, :, None], b[:, None, :, :]).sum(axis=2)


def _registers(op: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Values [products, rows, cols] → registers, by the map."""
    bits = numbers.encode(values, op.element.name)
    matrix = np.moveaxis(bits, 0, -1) if len(op.axes) == 3 else bits[0]
    return numbers.pack(op, matrix)


def _array_type(op: Any) -> Any:
    return {"f32": np.float32, "f64": np.float64, "s32": np.int32}.get(op.element.register_type, np.uint32)


def _image(i: Instruction, a: NDArray[Any], b: NDArray[Any], form: str) -> tuple[NDArray[np.uint32], int, int]:
    """(shared memory as words, A's and B's descriptor): K-major core matrices without a swizzle, A from byte 0, B behind it."""
    bits = i.operand("a").element.bits
    a_bytes = a.size * bits // 8 if form == "shared" else 0
    image = np.zeros((a_bytes + b.size * bits // 8 + 3) // 4 * 4, dtype=np.uint8)
    words = [0, 0]
    for number, (matrix, kind, base) in enumerate(((a, i.types["a"], 0), (b.T, i.types["b"], a_bytes))):
        if number == 0 and form != "shared":
            continue
        rows, k = matrix.shape
        encoded = numbers.encode(matrix, kind)
        if bits == 1:  # eight elements a byte, the first in the low bit
            encoded = np.bitwise_or.reduce(encoded.reshape(rows, k // 8, 8) << np.arange(8, dtype=np.uint64), axis=2)
        size = max(bits // 8, 1)
        tile = Tile(8 * size, "K", mode("none"), rows, encoded.shape[1], base=base)
        at = tile.address(np.arange(rows)[:, None], np.arange(encoded.shape[1])[None, :])
        for byte in range(size):
            image[at + byte] = (encoded >> np.uint64(8 * byte) & np.uint64(255)).astype(np.uint8)
        words[number] = tile.descriptor().word
    return image.view(np.uint32), words[0], words[1]


def _movement(cupy: Any, kernel: Any, i: Instruction) -> str:
    """Elements carry their own place: code = matrix · 64 + row · 8 + column."""
    if i.family.name == "movmatrix":
        source, target = i.operands["a"], i.operands["d"]
        codes = np.arange(64, dtype=np.uint64).reshape(8, 8)
        out = cupy.zeros(32, np.uint32)
        kernel((1,), (32,), (cupy.asarray(numbers.pack(source, codes)[:, 0]), out))
        got = cupy.asnumpy(out)
        wanted = numbers.pack(target, codes)[:, 0]
        return "agrees" if np.array_equal(got, wanted) else f"differs: {int((got != wanted).sum())} of 32 registers"
    op, address = i.operands["data"], i.address
    assert address is not None
    count = i.counts["x"]
    codes = np.arange(count * 64, dtype=np.uint64).reshape(count, 8, 8)
    offset = np.zeros(32, np.uint32)
    offset[: address.threads] = address.coords["matrix"][:, 0] * 128 + address.coords["row"][:, 0] * 16
    image = np.full(1024, 0xFFFF, dtype=np.uint16)
    image[: codes.size] = codes.ravel()
    packed = numbers.pack(op, codes)
    if i.family.name == "ldmatrix":
        out = cupy.zeros((32, op.registers), np.uint32)
        kernel((1,), (32,), (cupy.asarray(image.view(np.uint32)), cupy.asarray(offset), out))
        got, wanted = cupy.asnumpy(out), packed
    else:
        out = cupy.zeros(512, np.uint32)
        kernel((1,), (32,), (cupy.asarray(packed), cupy.asarray(offset), out))
        got, wanted = cupy.asnumpy(out), image.view(np.uint32)
    return "agrees" if np.array_equal(got, wanted) else f"differs: {int((got != wanted).sum())} of {wanted.size}"
