"""The CUDA device behind the same interface as the NumPy reference. The only module that imports CuPy, and only when it
runs.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware import kernel_source
from lanescope.app.hardware.device_targets import explain_unsupported, get_compile_target
from lanescope.app.hardware.whole_product import StagedProduct, allocate_d
from lanescope.descriptor.matrix import SHARED_BEGIN
from lanescope.errors import LayoutError
from lanescope.product.plan import ProductPlan
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.threads import WARP
from lanescope.render import kernel_device
from lanescope.render.kernel_host import DEFAULT_SHARED
from lanescope.shared.banks import BankAccess

Array = NDArray[Any]
WINDOW = SHARED_BEGIN
OLDEST = 75  # compute capability of the catalogue's oldest instructions
INACTIVE = 0xFFFFFFFF  # the offset of an inactive lane


@dataclass(frozen=True)
class ProductJob:
    """Runs of one mma, wmma.mma or wgmma on a grid: [x] differs in A's side, [y] in B's.

    registers: operand → [x or y, threads, registers], also `e` and the scales, C as "c"; descriptors: a_desc, b_desc as
    words, counted from the image, or absolute; image [y, words] and overlay [x, words] (from word overlay_at) make up
    shared memory. keep: how many of D's registers to bring back, 0 for all.
    """

    instruction: Instruction
    a_from: str
    registers: Mapping[str, Array]
    descriptors: Mapping[str, int] = field(default_factory=dict)
    image: Array | None = None
    overlay: Array | None = None
    overlay_at: int = 0
    absolute: bool = False
    immediates: Mapping[str, str] = field(default_factory=dict)
    keep: int = 0

    @property
    def kept_registers(self) -> int:
        """Return how many of D's registers come back, counted from the first."""
        return self.keep or self.instruction.operands["d"].registers

    @property
    def grid(self) -> tuple[int, int]:
        """Return (runs along x, runs along y)."""
        r = self.registers
        x = next((len(r[name]) for name in ("a", "e") if name in r and len(r[name]) > 1), 1)
        y = max(len(r["c"]), len(r["b"]) if "b" in r else 1, len(self.image) if self.image is not None else 1)
        return max(x, len(self.overlay) if self.overlay is not None else 1), y


class RunDevice(Protocol):
    """Interface of the devices: CUDA or the NumPy reference. Every method also returns the source that ran."""

    simulated: bool

    def info(self) -> dict[str, str]: ...
    def supports(self, instruction: Instruction) -> str:
        """Return why this device cannot run an instruction, "" if it can."""
        ...

    def product(self, job: ProductJob) -> tuple[Array, str]:
        """Return D's registers [x, y, threads, kept_registers] as unsigned words."""
        ...

    def program(self, plan: ProductPlan, staged: StagedProduct) -> tuple[Array, str]:
        """Run a whole product by its plan and return D's memory, the bits of its elements."""
        ...

    def move(self, instruction: Instruction, words: Array, offsets: Array) -> tuple[Array, str]:
        """Run ldmatrix: images [runs, 512] → registers [runs, 32, count]; stmatrix: the other way; movmatrix: [32] →
        [32].
        """
        ...

    def load_store(self, instruction: Instruction, images: Array, size: int, stride: int) -> tuple[Array, str]:
        """Run wmma.load: byte images [runs, size] → registers [runs, 32, count]; wmma.store: the other way; stride in
        elements.
        """
        ...

    def cycles(self, access: BankAccess, offsets: Sequence[int | None]) -> tuple[float, str]:
        """Measure the clocks of one access when many warps issue it: byte offsets a lane, None for an inactive one."""
        ...


class CudaDevice:
    """One CUDA device through CuPy and NVRTC, with a cache of compiled kernels."""

    simulated = False

    def __init__(self, number: int = 0) -> None:
        self._info = read_device_info(number)
        import cupy

        self.cupy, self.number = cupy, number
        self.target = get_compile_target(self._info)
        cupy.cuda.Device(number).use()
        self._kernels: OrderedDict[str, Any] = OrderedDict()

    def info(self) -> dict[str, str]:
        return self._info | {"target": self.target}

    def supports(self, instruction: Instruction) -> str:
        return explain_unsupported(self.target, instruction)

    def preload(self, sources: Mapping[str, str], cubin: bytes) -> None:
        """Load compiled kernels: source → the kernel's name in the cubin."""
        module = self.cupy.cuda.function.Module()
        module.load(cubin)
        for source, name in sources.items():
            self._keep_kernel(source, module.get_function(name))

    def _keep_kernel(self, source: str, function: Any) -> Any:
        self._kernels[source] = function
        while len(self._kernels) > 512:
            self._kernels.popitem(last=False)
        return function

    def _get_kernel(self, source: str) -> Any:
        if source not in self._kernels:
            self.preload({source: "k"}, compile_text(source, self.target))
        self._kernels.move_to_end(source)
        return self._kernels[source]

    def run_kernel(
        self,
        source: str,
        *arguments: Any,
        grid: tuple[int, ...] = (1,),
        threads: int = 32,
        shared: int = 0,
        returns: Sequence[int] = (0,),
    ) -> list[Array]:
        """Run a kernel on NumPy's arrays and scalars; return the arrays of the arguments `returns` as it leaves them.

        shared: bytes of dynamic shared memory of a block.
        """
        kernel, driver = self._get_kernel(source), self.cupy.cuda.driver
        if shared > DEFAULT_SHARED:
            driver.funcSetAttribute(kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)
        values = [
            self.cupy.asarray(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
            for value in arguments
        ]
        kernel(grid, (threads,), tuple(values), shared_mem=shared)
        self.cupy.cuda.runtime.deviceSynchronize()
        return [self.cupy.asnumpy(values[number]) for number in returns]

    def product(self, job: ProductJob) -> tuple[Array, str]:
        i = job.instruction
        source = kernel_source.render_product(i, "k", job.a_from, job.immediates)
        x, y = job.grid
        word = np.uint64 if i.operands["d"].register_bits == 64 else np.uint32
        arguments: list[Any] = [np.zeros((x, y, i.threads, job.kept_registers), word), np.int32(job.kept_registers)]
        for name in kernel_source.list_operand_parameters(i, job.a_from):
            if name in job.descriptors:
                arguments.append(np.uint64(job.descriptors[name]))
            else:
                arguments.append(_repeat_runs(job.registers[name], x if name in kernel_source.ALONG_X else y))
        shared, returns = 0, [0]
        if i.family.by_descriptor:
            assert job.image is not None
            image = _repeat_runs(job.image, y)
            overlay = _repeat_runs(np.zeros((1, 0), np.uint32) if job.overlay is None else job.overlay, x)
            arguments += [image, np.uint32(image.shape[1]), overlay, np.uint32(overlay.shape[1])]
            arguments += [np.uint32(job.overlay_at), np.int32(not job.absolute), np.zeros(1, np.uint32)]
            shared, returns = image.shape[1] * 4, [0, len(arguments) - 1]
        out, *base = self.run_kernel(source, *arguments, grid=(x, y), threads=i.threads, shared=shared, returns=returns)
        if job.absolute and (begin := int(base[0][0])) != WINDOW:
            raise LayoutError(
                "unsupported_here", f"A block's shared memory begins at {begin} on this device.", f"Known is {WINDOW}."
            )
        return out, source

    def program(self, plan: ProductPlan, staged: StagedProduct) -> tuple[Array, str]:
        source = kernel_device.render_device(plan, 'extern "C" ').replace(f" {kernel_device.NAME}(", " k(")
        (out,) = self.run_kernel(
            source,
            *staged.memory.values(),
            allocate_d(plan),
            threads=plan.instruction.threads,
            shared=plan.shared_bytes,
            returns=(len(staged.memory),),
        )
        return out, source

    def move(self, instruction: Instruction, words: Array, offsets: Array) -> tuple[Array, str]:
        family, runs = instruction.family, len(words)
        source = kernel_source.render_movement(instruction, "k")
        arguments, grid = [words.astype(np.uint32)], (1,)
        shape: tuple[int, ...] = (32,)
        if not family.moves:
            arguments, grid = [*arguments, offsets.astype(np.uint32)], (runs,)
            count = instruction.operands["data"].registers
            shape = (runs, 32, count) if family.loads else (runs, kernel_source.MOVE_WORDS)
        (out,) = self.run_kernel(source, np.zeros(shape, np.uint32), *arguments, grid=grid)
        return out, source

    def load_store(self, instruction: Instruction, images: Array, size: int, stride: int) -> tuple[Array, str]:
        source = kernel_source.render_matrix_access(instruction, "k")
        (op,) = instruction.operands.values()
        runs = len(images)
        registers = np.zeros((runs, 32, op.registers), np.uint64 if op.register_bits == 64 else np.uint32)
        out = registers if instruction.family.loads else np.zeros((runs, size), np.uint8)
        (out,) = self.run_kernel(source, out, images, np.uint64(size), np.uint32(stride), grid=(runs,))
        return out, source

    def cycles(self, access: BankAccess, offsets: Sequence[int | None]) -> tuple[float, str]:
        source = kernel_source.render_timing_loop(access.name, "k")
        repeat, best = kernel_source.REPEAT, math.inf
        for _ in range(5):
            clocks = self.launch_accesses(access, offsets, repeat)
            clocks_per_access = float(clocks[:, 1].max() - clocks[:, 0].min()) / (
                repeat * kernel_source.UNROLL * kernel_source.WARPS
            )
            best = min(best, clocks_per_access)
        return best, source

    def launch_accesses(self, access: BankAccess, offsets: Sequence[int | None], repeat: int) -> Array:
        """Launch the timed loop of an access once: (first clock, last clock) of each warp."""
        active = [INACTIVE if offset is None else offset for offset in offsets]
        lanes = np.array(active + active[:1] * (WARP - len(active)), np.uint32)
        (clocks,) = self.run_kernel(
            kernel_source.render_timing_loop(access.name, "k"),
            np.zeros(2 * kernel_source.WARPS, np.int64),
            lanes,
            np.int32(repeat),
            np.uint32(0),
            threads=32 * kernel_source.WARPS,
            shared=int(lanes[lanes != INACTIVE].max()) + 16,
        )
        return clocks.reshape(-1, 2)


def _repeat_runs(array: Array, runs: int) -> Array:
    """Return an array with one row for each run; a single row is that of every run."""
    return np.broadcast_to(array, (runs, *array.shape[1:]))


def compile_text(text: str, target: str) -> bytes:
    """Compile CUDA text to a cubin for one architecture."""
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(text, "lanescope.cu", [], [])
    try:
        nvrtc.compileProgram(program, [f"--gpu-architecture={target}", "--std=c++17"])
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError:
        raise RuntimeError(nvrtc.getProgramLog(program)[:2000]) from None


def list_devices() -> list[dict[str, str]]:
    """List every CUDA device; LayoutError with the reason if there is none."""
    try:
        import cupy
    except ImportError:
        raise LayoutError(
            "no_device", "CuPy is not installed.", "pip install 'lanescope[gpu]' on a machine with an NVIDIA GPU."
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _make_silence(error) from None
    if not count:
        raise LayoutError("no_device", "There is no CUDA device.", "Run this on a machine with an NVIDIA GPU.")
    return [read_device_info(number) for number in range(count)]


def read_device_info(number: int = 0) -> dict[str, str]:
    """Read name, compute capability, driver, the CUDA versions of driver and NVRTC; LayoutError with the reason if
    the machine has none.
    """
    try:
        import cupy
    except ImportError:
        return list_devices()[number]
    try:
        properties = cupy.cuda.runtime.getDeviceProperties(number)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise _make_silence(error) from None
    if properties["major"] * 10 + properties["minor"] < OLDEST:
        name = f"{properties['name'].decode()} has compute capability {properties['major']}.{properties['minor']}"
        raise LayoutError("no_device", f"{name}: unsupported.", "The catalogue begins at 7.5 (sm_75).")
    return {
        "name": properties["name"].decode(),
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "driver": _read_driver_version(),
        "cuda": _format_version(cupy.cuda.runtime.driverGetVersion()),
        "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
    }


def _make_silence(error: Exception) -> LayoutError:
    message = f"The CUDA driver does not answer: {error}."
    return LayoutError("no_device", message, "Is the NVIDIA driver loaded?")


def _format_version(version: int) -> str:
    """Format 13020 as 13.2."""
    return f"{version // 1000}.{version % 1000 // 10}"


def _read_driver_version() -> str:
    """Read the kernel driver's version from /proc; "" if it is not there."""
    try:
        return str(re.findall(r"\b\d{3}\.[\d.]+\b", Path("/proc/driver/nvidia/version").read_text())[0])
    except (OSError, IndexError):
        return ""
