"""A card that is none, for lanescope.app.hardware.device: modules `cupy` and `cupy_backends` whose arrays are NumPy's
and whose NVRTC keeps the text. A kernel takes its arguments by the names and types of its own text, refuses what a
launch would not take, and answers as the NumPy reference does. It shows what is handed over, and proves nothing about
hardware.
"""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from lanescope.app.hardware import chain_runs, code_runs, delivery_runs, kernel_source, numpy_device, whole_product
from lanescope.app.hardware.device import WINDOW, ProductJob
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.product.plan import ProductPlan
from lanescope.ptx.instruction import Instruction
from lanescope.render import kernel_device
from lanescope.shared.banks import ACCESSES

Kernel = Callable[..., None]
SCALARS = {"int": np.int32, "unsigned": np.uint32, "unsigned long long": np.uint64}
SIZES = {"unsigned": 4, "float": 4, "double": 8, "unsigned char": 1, "unsigned short": 2, "long long": 8}
DEFAULT_SHARED, MOST_SHARED = 48 << 10, 227 << 10
REPEATS = 5  # a timed access is run so often; the card is slow at first


class CUDARuntimeError(RuntimeError):
    pass


class NVRTCError(RuntimeError):
    pass


class FakeGpu:
    """What stands for one device. made: a kernel's text → what it does; wrong: added to every answer, to plant a fault.

    launched: the names of the kernels that ran; compiled: (texts in one cubin, options).
    """

    def __init__(self, capability: str = "9.0", count: int = 1, broken: str = "") -> None:
        self.major, self.minor = map(int, capability.split("."))
        self.count, self.broken, self.wrong = count, broken, 0
        self.made: dict[str, Kernel] = {}
        self.compiled: list[tuple[int, list[str]]] = []
        self.launched: list[str] = []
        self.used: list[int] = []
        self.staged: dict[int, whole_product.StagedProduct] = {}
        self.waited, self.window, self.turns = 0, WINDOW, 0

    # the modules ------------------------------------------------------------------------------------------------------

    def modules(self) -> dict[str, types.ModuleType]:
        out = {
            name: types.ModuleType(name)
            for name in ("cupy", "cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
        }
        cupy: Any = out["cupy"]
        cupy.asarray, cupy.zeros, cupy.asnumpy = _copy_to_gpu, _make_zeros, lambda array: np.array(array)
        driver = types.SimpleNamespace(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8, funcSetAttribute=self._allow)
        runtime = types.SimpleNamespace(
            getDeviceCount=self._counted,
            getDeviceProperties=self._properties,
            driverGetVersion=lambda: 13020,
            deviceSynchronize=self._wait,
            CUDARuntimeError=CUDARuntimeError,
        )
        cupy.cuda = types.SimpleNamespace(
            driver=driver,
            runtime=runtime,
            nvrtc=types.SimpleNamespace(getVersion=lambda: (13, 1)),
            function=types.SimpleNamespace(Module=lambda: FakeModule(self)),
            Device=lambda number: types.SimpleNamespace(use=lambda: self.used.append(number)),
        )
        libs: Any = out["cupy_backends.cuda.libs"]
        libs.nvrtc = types.SimpleNamespace(
            createProgram=lambda text, name, headers, included: {"text": text},
            compileProgram=self._compile,
            getCUBIN=lambda program: program["text"].encode(),
            getProgramLog=lambda program: "no such word",
            NVRTCError=NVRTCError,
        )
        return out

    def _compile(self, program: dict[str, str], options: list[str]) -> None:
        if "__global__" not in program["text"]:
            raise NVRTCError
        self.compiled.append((program["text"].count("__global__"), options))

    def _wait(self) -> None:
        self.waited += 1

    def _allow(self, at: int, what: int, size: int) -> None:
        assert what == 8 and DEFAULT_SHARED < size <= MOST_SHARED
        FakeKernel.by_number[at].allowed = size

    def _counted(self) -> int:
        if self.broken:
            raise CUDARuntimeError(self.broken)
        return self.count

    def _properties(self, number: int) -> dict[str, Any]:
        if self.broken:
            raise CUDARuntimeError(self.broken)
        return {"name": f"Card {number}".encode(), "major": self.major, "minor": self.minor}

    # what the kernels do ----------------------------------------------------------------------------------------------

    def product(self, i: Instruction, a_from: str, immediates: Any, launch: KernelLaunch, **given: Any) -> None:
        keep = int(given["keep"])
        assert launch.block == (i.threads,) and len(launch.grid) == 2
        x, y = launch.grid
        registers, words = {}, {}
        for name in kernel_source.list_operand_parameters(i, a_from):
            if (value := given.get(f"g_{name}")) is not None:
                assert value.shape[:2] == (x if name in kernel_source.ALONG_X else y, i.threads), name
                registers[name] = value
            else:
                words[name] = int(given[name])
        image = overlay = None
        if i.family.by_descriptor:
            image, overlay = given["image"], given["overlay"]
            assert image.shape == (y, given["words"]) and overlay.shape == (x, given["overlay_words"])
            assert launch.shared == 4 * image.shape[1]
            given["base"][0] = self.window
        absolute = i.family.by_descriptor and not given["relative"]
        job = ProductJob(
            i,
            a_from,
            registers,
            descriptors=words,
            image=image,
            overlay=overlay if overlay is not None and overlay.size else None,
            overlay_at=int(given.get("overlay_at", 0)),
            absolute=absolute,
            immediates=immediates,
            keep=keep,
        )
        self._into(given["out"], np.broadcast_to(NumpyDevice().product(job)[0], (x, y, i.threads, keep)))

    def movement(self, i: Instruction, launch: KernelLaunch, **given: Any) -> None:
        assert launch.block == (32,) and launch.grid == ((1,) if i.family.moves else (len(given["in"]),))
        self._into(given["out"], NumpyDevice().move(i, given["in"], given.get("offset"))[0])

    def matrix_access(self, i: Instruction, launch: KernelLaunch, **given: Any) -> None:
        assert launch.grid == (len(given["in"]),) and launch.block == (32,)
        told = NumpyDevice().load_store(i, given["in"], int(given["bytes"]), int(given["stride"]))[0]
        self._into(given["out"], told)

    def access(self, name: str, launch: KernelLaunch, **given: Any) -> None:
        """Warps begin one after the other and end in the other order; the card takes twice as long at first."""
        row, warps = ACCESSES[name], kernel_source.WARPS
        offsets = given["offset"].tolist()
        assert launch.grid == (1,) and launch.block == (32 * warps,) and len(offsets) == 32
        assert launch.shared >= max(offsets) + 16 and given["zero"] == 0
        turns = NumpyDevice().cycles(row, offsets[: row.lanes])[0] * (2 if self.turns % REPEATS == 0 else 1)
        self.turns += 1
        clocks = given["out"].reshape(-1, 2)
        clocks[:, 0] = 1000 + np.arange(warps)
        clocks[:, 1] = 1000 + turns * int(given["repeat"]) * kernel_source.UNROLL * warps - np.arange(warps)[::-1]

    def chain(self, case: chain_runs.ChainCase, launch: KernelLaunch, **given: Any) -> None:
        want, words = case.compute_addresses(), int(given["words"])
        runs, given_words = len(given["in"]), given["in"]
        assert launch.grid == (runs,) and launch.block == (want.shape[0],) and launch.shared == 4 * words
        if case.chain.store:
            out = np.full((runs, 4 * words), 255, np.uint8)
            out[:, want] = given_words.reshape(runs, *want.shape[:2], 1).view(np.uint8)
        else:
            out = np.ascontiguousarray(given_words.view(np.uint8)[:, want])
        self._into(given["out"], out.view(np.uint32).reshape(given["out"].shape))

    def generated(self, case: code_runs.CodeCase, launch: KernelLaunch, **given: Any) -> None:
        assert launch.grid == (1,) and launch.block == (case.threads,) and launch.shared == case.shared
        assert np.array_equal(given["in"], case.words_in)
        self._into(given["out"], case.expected)

    def program(self, plan: ProductPlan, launch: KernelLaunch, **given: Any) -> None:
        staged, out = self.staged[id(plan)], given.pop("D")
        assert launch.grid == (1,) and launch.block == (plan.instruction.threads,)
        assert launch.shared == plan.shared_bytes and not out.any()
        assert {name: array.tobytes() for name, array in given.items()} == {
            name: array.tobytes() for name, array in staged.memory.items()
        }
        self._into(out, numpy_device.simulate_plan(NumpyDevice(), plan, staged))

    def _into(self, out: Any, told: Any) -> None:
        assert out.shape == told.shape and not out.any()
        out[...] = told.astype(out.dtype)
        if self.wrong:
            out.reshape(-1)[-1] ^= self.wrong


class KernelLaunch:
    """How a kernel was launched: its grid, its block, bytes of dynamic shared memory."""

    def __init__(self, grid: tuple[int, ...], block: tuple[int, ...], shared: int) -> None:
        self.grid, self.block, self.shared = grid, block, shared


class FakeKernel:
    """A kernel of a module: launched as CuPy's are."""

    by_number: dict[int, FakeKernel] = {}  # noqa: RUF012

    def __init__(self, card: FakeGpu, text: str, name: str) -> None:
        self.card, self.does = card, card.made[text]
        head = re.search(r"__global__ void (?:__\w+\(\d+\) )?k\((.*?)\) \{", text, re.DOTALL)
        assert head, text[:200]
        self.parameters = [part.strip().rpartition(" ")[::2] for part in head[1].split(",")]
        self.name, self.allowed, self.ptr = name, DEFAULT_SHARED, len(self.by_number) + 1
        self.by_number[self.ptr] = self

    def __call__(
        self, grid: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any], shared_mem: int = 0
    ) -> None:
        assert shared_mem <= self.allowed
        assert len(arguments) == len(self.parameters)
        given = {}
        for (kind, name), value in zip(self.parameters, arguments, strict=True):
            if kind.endswith("*"):
                assert isinstance(value, np.ndarray) and value.flags.c_contiguous and value.flags.writeable, name
                assert value.dtype.itemsize == _get_size(kind), (name, kind, value.dtype)
            else:
                assert type(value) is SCALARS[kind], (name, kind, type(value))
            given[name] = value
        self.card.launched.append(self.name)
        self.does(KernelLaunch(grid, block, shared_mem), **given)


class FakeModule:
    """A loaded cubin: its texts, each kernel by its name."""

    def __init__(self, card: FakeGpu) -> None:
        self.card, self.text = card, ""

    def load(self, cubin: bytes) -> None:
        self.text = cubin.decode()

    def get_function(self, name: str) -> FakeKernel:
        inside = re.split(r"^namespace n\d+ \{\n|^\}(?=\n(?:namespace|\Z))", self.text + "\n", flags=re.MULTILINE)
        for part in inside if self.text.startswith("namespace") else [self.text]:
            text = part.replace(f"__global__ void {name}(", "__global__ void k(")
            if f"void {name}(" in part and text in self.card.made:
                return FakeKernel(self.card, text, name)
        return FakeKernel(self.card, self.text, name)


def _get_size(kind: str) -> int:
    name = kind.removeprefix("const ").removesuffix("*").strip()
    return SIZES[name] if name in SIZES else {"__half": 2, "__nv_bfloat16": 2, "int": 4, "signed char": 1}[name]


def _copy_to_gpu(given: Any) -> Any:
    return np.array(given, order="C")


def _make_zeros(shape: Any, kind: Any = np.float64) -> Any:
    return np.zeros(shape, kind)


@contextmanager
def install_gpu(card: FakeGpu) -> Iterator[FakeGpu]:
    """The card in this machine: its modules, and every kernel's text noted with what it does."""
    with pytest.MonkeyPatch.context() as patch:
        for name, module in card.modules().items():
            patch.setitem(sys.modules, name, module)

        def noting(home: Any, name: str, does: Callable[..., Kernel]) -> None:
            original = getattr(home, name)

            def noted(*given: Any, **options: Any) -> Any:
                text = original(*given, **options)
                card.made[text] = does(*given, **options)
                return text

            patch.setattr(home, name, noted)

        def of_product(i: Instruction, name: str, a_from: str = "registers", immediates: Any = None) -> Kernel:
            return lambda launch, **given: card.product(i, a_from, immediates or {}, launch, **given)

        noting(kernel_source, "render_product", of_product)
        for render, does in (
            ("render_movement", card.movement),
            ("render_matrix_access", card.matrix_access),
            ("render_timing_loop", card.access),
        ):
            noting(kernel_source, render, lambda what, name, does=does: lambda *a, **b: does(what, *a, **b))
        noting(chain_runs.ChainCase, "render_kernel", lambda case: lambda *a, **b: card.chain(case, *a, **b))
        for kind in (code_runs.CodeCase, delivery_runs.DeliveryCase):
            noting(kind, "render_kernel", lambda case: lambda *a, **b: card.generated(case, *a, **b))
        stage, device = whole_product.stage_inputs, kernel_device.render_device

        def staged(plan: ProductPlan, given: Any) -> whole_product.StagedProduct:
            card.staged[id(plan)] = found = stage(plan, given)
            return found

        def text_of(plan: ProductPlan, linkage: str = "") -> str:
            text = device(plan, linkage)
            named = text.replace(f" {kernel_device.NAME}(", " k(")
            card.made[named] = lambda *a, **b: card.program(plan, *a, **b)
            return text

        patch.setattr(whole_product, "stage_inputs", staged)
        patch.setattr(kernel_device, "render_device", text_of)
        yield card
