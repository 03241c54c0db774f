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
from lanescope.render import kernel_device
from lanescope.render.kernel_host import DEFAULT_SHARED
from lanescope.shared.banks import LANES, BankAccess

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

    def _allow(self, kernel: Any, shared: int) -> None:
        """Allow a kernel more than the default 48 KiB of dynamic shared memory."""
        driver = self.cupy.cuda.driver
        driver.funcSetAttribute(kernel.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared)

    def _copy_to_host(self, array: Any) -> Array:
        copied: Array = self.cupy.asnumpy(array)
        return copied

    def product(self, job: ProductJob) -> tuple[Array, str]:
        cupy, i = self.cupy, job.instruction
        source = kernel_source.render_product(i, "k", job.a_from, job.immediates)
        kernel = self._get_kernel(source)
        d = i.operands["d"]
        x, y = job.grid
        out = cupy.zeros((x, y, i.threads, job.kept_registers), np.uint64 if d.register_bits == 64 else np.uint32)
        arguments: list[Any] = [out, np.int32(job.kept_registers)]
        for name in kernel_source.list_operand_parameters(i, job.a_from):
            if name in job.descriptors:
                arguments.append(np.uint64(job.descriptors[name]))
            else:
                registers = np.ascontiguousarray(job.registers[name])
                runs = x if name in kernel_source.ALONG_X else y
                arguments.append(
                    cupy.asarray(
                        registers
                        if len(registers) == runs
                        else np.broadcast_to(registers, (runs, *registers.shape[1:]))
                    )
                )
        shared, base = 0, cupy.zeros(1, np.uint32)
        if i.family.by_descriptor:
            assert job.image is not None
            image = job.image if len(job.image) == y else np.broadcast_to(job.image, (y, job.image.shape[1]))
            overlay = (
                np.zeros((x, 0), np.uint32)
                if job.overlay is None
                else np.broadcast_to(job.overlay, (x, job.overlay.shape[1]))
            )
            arguments += [cupy.asarray(np.ascontiguousarray(image)), np.uint32(image.shape[1])]
            arguments += [
                cupy.asarray(np.ascontiguousarray(overlay)),
                np.uint32(overlay.shape[1]),
                np.uint32(job.overlay_at),
            ]
            arguments += [np.int32(not job.absolute), base]
            shared = image.shape[1] * 4
            if shared > DEFAULT_SHARED:
                self._allow(kernel, shared)
        kernel((x, y), (i.threads,), tuple(arguments), shared_mem=shared)
        cupy.cuda.runtime.deviceSynchronize()
        if job.absolute and (begin := int(base[0])) != WINDOW:
            raise LayoutError(
                "unsupported_here", f"A block's shared memory begins at {begin} on this device.", f"Known is {WINDOW}."
            )
        return self._copy_to_host(out), source

    def program(self, plan: ProductPlan, staged: StagedProduct) -> tuple[Array, str]:
        cupy = self.cupy
        source = kernel_device.render_device(plan, 'extern "C" ').replace(f" {kernel_device.NAME}(", " k(")
        kernel = self._get_kernel(source)
        out = cupy.asarray(allocate_d(plan))
        if plan.shared_bytes > DEFAULT_SHARED:
            self._allow(kernel, plan.shared_bytes)
        kernel(
            (1,),
            (plan.instruction.threads,),
            (*map(cupy.asarray, staged.memory.values()), out),
            shared_mem=plan.shared_bytes,
        )
        cupy.cuda.runtime.deviceSynchronize()
        return self._copy_to_host(out), source

    def move(self, instruction: Instruction, words: Array, offsets: Array) -> tuple[Array, str]:
        cupy, family = self.cupy, instruction.family
        source = kernel_source.render_movement(instruction, "k")
        kernel = self._get_kernel(source)
        words_in = cupy.asarray(np.ascontiguousarray(words, dtype=np.uint32))
        if family.moves:
            out = cupy.zeros(32, np.uint32)
            kernel((1,), (32,), (out, words_in))
        else:
            runs, count = len(words), instruction.operands["data"].registers
            out = cupy.zeros((runs, 32, count) if family.loads else (runs, kernel_source.MOVE_WORDS), np.uint32)
            kernel((runs,), (32,), (out, words_in, cupy.asarray(offsets.astype(np.uint32))))
        cupy.cuda.runtime.deviceSynchronize()
        return self._copy_to_host(out), source

    def load_store(self, instruction: Instruction, images: Array, size: int, stride: int) -> tuple[Array, str]:
        cupy = self.cupy
        source = kernel_source.render_matrix_access(instruction, "k")
        kernel = self._get_kernel(source)
        (op,) = instruction.operands.values()
        runs = len(images)
        word = np.uint64 if op.register_bits == 64 else np.uint32
        loads = instruction.family.loads
        out = cupy.zeros((runs, 32, op.registers), word) if loads else cupy.zeros((runs, size), np.uint8)
        kernel((runs,), (32,), (out, cupy.asarray(np.ascontiguousarray(images)), np.uint64(size), np.uint32(stride)))
        cupy.cuda.runtime.deviceSynchronize()
        return self._copy_to_host(out), source

    def run_chain(
        self, source: str, words_in: Array, *, threads: int, registers: int, words: int, store: bool
    ) -> Array:
        """Run a generated load: images [runs, words] → registers [runs, threads, registers]; a store the other way."""
        cupy = self.cupy
        kernel = self._get_kernel(source)
        runs = len(words_in)
        out = cupy.zeros((runs, words) if store else (runs, threads, registers), np.uint32)
        kernel(
            (runs,),
            (threads,),
            (out, cupy.asarray(np.ascontiguousarray(words_in)), np.uint32(words)),
            shared_mem=4 * words,
        )
        cupy.cuda.runtime.deviceSynchronize()
        return self._copy_to_host(out)

    def run_generated(self, source: str, words_in: Array, words: int, threads: int, shared: int) -> Array:
        """Run one block of a kernel k(out, in): words in, words out; out begins as zeros."""
        cupy = self.cupy
        kernel = self._get_kernel(source)
        out = cupy.zeros(words, np.uint32)
        if shared > DEFAULT_SHARED:
            self._allow(kernel, shared)
        kernel((1,), (threads,), (out, cupy.asarray(np.ascontiguousarray(words_in))), shared_mem=shared)
        cupy.cuda.runtime.deviceSynchronize()
        return self._copy_to_host(out)

    def box(
        self, source: str, words: bytes, *, at: Sequence[int], count: int, offset: int, size: int
    ) -> tuple[Array, int]:
        """Run one TMA load of `count` bytes to `offset` in shared memory; return `size` bytes of shared memory after
        it, and the address at which they begin.
        """
        cupy = self.cupy
        kernel = self._get_kernel(source)
        if size > DEFAULT_SHARED:
            self._allow(kernel, size)
        out, status = cupy.zeros(size, np.uint8), cupy.zeros(2, np.uint32)
        tensor_map = cupy.asarray(np.frombuffer(words, np.uint8))
        coordinates = cupy.asarray(np.array(at, np.int32))
        sizes = (np.uint32(count), np.uint32(offset), np.uint32(size))
        kernel((1,), (128,), (out, tensor_map, coordinates, *sizes, status), shared_mem=size)
        cupy.cuda.runtime.deviceSynchronize()
        window, done = self._copy_to_host(status).tolist()
        if not done:
            raise RuntimeError("A TMA load did not complete.")
        return self._copy_to_host(out), window

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
        kernel = self._get_kernel(kernel_source.render_timing_loop(access.name, "k"))
        active = [INACTIVE if offset is None else offset for offset in offsets]
        lanes = np.array(active + active[:1] * (LANES - len(active)), np.uint32)
        size = int(lanes[lanes != INACTIVE].max()) + 16
        if size > DEFAULT_SHARED:
            self._allow(kernel, size)
        out = self.cupy.zeros(2 * kernel_source.WARPS, np.int64)
        arguments = (out, self.cupy.asarray(lanes), np.int32(repeat), np.uint32(0))
        kernel((1,), (32 * kernel_source.WARPS,), arguments, shared_mem=size)
        return self._copy_to_host(out).reshape(-1, 2)


def compile_text(text: str, target: str) -> bytes:
    """Compile CUDA text to a cubin for one architecture."""
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(text, "lanescope.cu", [], [])
    try:
        nvrtc.compileProgram(program, [f"--gpu-architecture={target}", "--std=c++17"])
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError:
        raise RuntimeError(nvrtc.getProgramLog(program)[:2000]) from None


def copy_to_device(array: Array) -> Any:
    """Copy an array to the device: CuPy's array."""
    import cupy

    return cupy.asarray(array)


def wait_for_device() -> None:
    """Synchronize with the device."""
    import cupy

    cupy.cuda.Device().synchronize()


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
