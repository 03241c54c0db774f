"""Run a whole generated program on the CPU: g++ compiles it, threads are its threads, the NumPy reference stands in for
the instructions.

The device half is taken as it is but for two things: statements that are one fence are left out, and the body of a
wrapper hands its registers to `ProgramEmulator.call` instead of to an instruction. Fills, offsets,
descriptors, loads, epilogue and host half are what runs.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lanescope.app.hardware.device import WINDOW, ProductJob
from lanescope.app.hardware.numpy_device import NumpyDevice
from lanescope.product.plan import ProductPlan
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.slots import OperandSlot
from lanescope.ptx.slots import list_slots as slots_of
from lanescope.render import cuda, kernel, kernel_device
from tests.cpp import find_compiler

PRELUDE = r"""
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#define __device__
#define __global__
#define __launch_bounds__(n)
struct Index { unsigned x; };
static thread_local Index threadIdx;
static Index blockDim;
static std::barrier<>* meeting;
static void __syncthreads() { meeting->arrive_and_wait(); }
struct Lane { unsigned char bytes[4096]; };
extern "C" { Lane lanes[128]; int immediates[8]; void (*call)(int) = nullptr; }
static void together(int id) {
  meeting->arrive_and_wait();
  if (threadIdx.x == 0) call(id);
  meeting->arrive_and_wait();
}
template <class... Given, class... Taken>
static void launch(unsigned threads, void (*kernel)(Given...), Taken... given) {
  std::barrier<> here(threads);
  meeting = &here;
  blockDim.x = threads;
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t) running.emplace_back([=] { threadIdx.x = t; kernel(given...); });
  for (auto& thread : running) thread.join();
}
enum cudaError_t { cudaSuccess };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaFuncAttributeMaxDynamicSharedMemorySize };
static const char* cudaGetErrorString(cudaError_t) { return ""; }
static cudaError_t cudaGetLastError() { return cudaSuccess; }
static cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
static cudaError_t cudaFree(void* p) { std::free(p); return cudaSuccess; }
template <class T> static cudaError_t cudaMalloc(T** p, size_t size) {
  *p = (T*)std::aligned_alloc(256, (size + 255) / 256 * 256);
  return cudaSuccess;
}
static cudaError_t cudaMemcpy(void* to, const void* from, size_t size, int) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}
template <class K> static cudaError_t cudaFuncSetAttribute(K, int, int) { return cudaSuccess; }
"""


class ProgramEmulator:
    """Programs built into one library. `wrong`: what is added to every D, to plant a fault."""

    def __init__(self, plans: Sequence[ProductPlan], folder: Path) -> None:
        self.plans, self.wrong = list(plans), 0.0
        self.calls: list[tuple[int, Instruction, str]] = []
        text = PRELUDE + "".join(self._program(number, plan) for number, plan in enumerate(self.plans))
        source, library = folder / "programs.cpp", folder / "programs.so"
        source.write_text(text)
        program = find_compiler()
        assert program is not None
        options = ["-std=c++20", "-O0", "-fno-strict-aliasing", "-fPIC", "-shared", "-pthread"]
        options += ["-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas"]  # #pragma unroll is nvcc's
        built = subprocess.run([program, *options, str(source), "-o", str(library)], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr[:3000]
        self.library = ctypes.CDLL(str(library))
        self.failure: BaseException | None = None
        self._called = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._call)
        ctypes.c_void_p.in_dll(self.library, "call").value = ctypes.cast(self._called, ctypes.c_void_p).value

    def _program(self, number: int, plan: ProductPlan) -> str:
        """One program in a namespace: its kernel, its main, and a way to launch each."""
        text = re.sub(r"#include <\w+>\n", "", kernel.render_program(plan))
        i = plan.instruction
        used = [(i, plan.a_from)] + [
            (side.chain.load.instruction, "registers") for side in (plan.a, plan.b) if getattr(side, "chain", None)
        ]
        used += (
            [(move, "registers") for move in kernel_device.find_accesses(plan).values()]
            if i.family.name == "wmma"
            else []
        )
        for instruction, form in dict.fromkeys(used):
            original = cuda.render_wrapper(instruction, form)
            assert original in text
            text = text.replace(original, self._emulated(number, instruction, form, original))
        text = re.sub(r'asm volatile\("(?:fence|wgmma)[^"]*" ::: "memory"\);', "", text)
        text = text.replace("  extern __shared__ __align__(1024) unsigned char shared[];\n", "")  # defined below
        assert "asm" not in text
        text = re.sub(r"product<<<1, (\d+), (\d+)>>>\(", r"launch(\1, product, ", text)
        names = [name for name, _ in kernel_device.list_parameters(plan)]
        given = ", ".join(f"({kind})pointers[{n}]" for n, (_, kind) in enumerate(kernel_device.list_parameters(plan)))
        return (
            f"namespace n{number} {{\nalignas(1024) unsigned char shared[{max(1024, plan.shared_bytes)}];\n"
            "[[maybe_unused]] static size_t __cvta_generic_to_shared(const void* p) {"
            f" return (const unsigned char*)p - shared + {WINDOW}; }}\n{text}}}\n"
            f'extern "C" void* shared{number}() {{ return n{number}::shared; }}\n'
            f'extern "C" int main{number}() {{ return n{number}::main(); }}\n'
            f'extern "C" void launch{number}(void** pointers) {{ launch({i.threads}, n{number}::product, {given}); }} '
            f" // {names}\n"
        )

    def _emulated(self, number: int, instruction: Instruction, form: str, original: str) -> str:
        """A wrapper that hands over its operands; the written ones come back."""
        self.calls.append((number, instruction, form))
        head = original[: original.index("{\n") + 2]
        slots = [
            slot
            for slot in sorted(slots_of(instruction, form), key=lambda s: not s.written)
            if slot.kind != "immediate"
        ]
        given = "".join(
            f"  std::memcpy(at + {where}, {_make_pointer(slot)}, {size});\n"
            for slot, where, size in compute_layout(slots)
        )
        taken = "".join(
            f"  std::memcpy((void*){_make_pointer(slot)}, at + {where}, {size});\n"
            for slot, where, size in compute_layout(slots)
            if slot.written
        )
        names = [
            name for slot in slots_of(instruction, form) if slot.kind == "immediate" for name, _ in slot.immediates
        ]
        told = "".join(f"  if (threadIdx.x == 0) immediates[{n}] = {name};\n" for n, name in enumerate(names))
        return (
            f"{head}  unsigned char* const at = lanes[threadIdx.x].bytes;\n{given}{told} "
            f" together({len(self.calls) - 1});\n{taken}}}\n"
        )

    # the instructions -------------------------------------------------------------------------------------------------

    def _call(self, which: int) -> None:
        try:
            self._execute(*self.calls[which])
        except BaseException as error:  # a callback cannot raise into C
            self.failure = self.failure or error

    def _execute(self, number: int, i: Instruction, form: str) -> None:
        slots = [slot for slot in sorted(slots_of(i, form), key=lambda s: not s.written) if slot.kind != "immediate"]
        lanes = np.frombuffer((ctypes.c_ubyte * (128 * 4096)).in_dll(self.library, "lanes"), np.uint8).reshape(
            128, 4096
        )[: i.threads]
        held = {}
        for slot, where, size in compute_layout(slots):
            kind = np.uint64 if size // max(slot.registers, 1) == 8 else np.uint32
            held[slot.name] = lanes[:, where : where + size].copy().view(kind)
        names = [name for slot in slots_of(i, form) if slot.kind == "immediate" for name, _ in slot.immediates]
        told = (ctypes.c_int * 8).in_dll(self.library, "immediates")
        out = self._result(number, i, form, held, {name: str(told[n]) for n, name in enumerate(names)})
        for slot, where, size in compute_layout(slots):
            if slot.written:
                lanes[:, where : where + size] = np.ascontiguousarray(out.reshape(i.threads, -1)).view(np.uint8)

    def _result(self, number: int, i: Instruction, form: str, held: dict[str, Any], immediates: dict[str, str]) -> Any:
        """The registers an instruction writes."""
        device, plan = NumpyDevice(), self.plans[number]
        if i.family.name == "ldmatrix":
            image = np.frombuffer(self._shared(number), np.uint8).view(np.uint32)[None]
            return device.move(i, image, held["p"][:, 0].astype(np.int64) - WINDOW)[0][0]
        if i.family.name == "wmma" and ".mma" not in i.ptx:
            return self._moved(device, i, held)
        registers = {
            name: values[None]
            for name, values in held.items()
            if name in ("a", "b", "c", "e", "scale_a_data", "scale_b_data")
        }
        registers = {
            name: values[..., 0] if name not in ("a", "b", "c") else values for name, values in registers.items()
        }
        descriptors = {}
        image = None
        if i.threads == 128:
            scale = held["scale_d"][:, 0]
            assert (scale == scale[0]).all()
            registers["c"] = held["d"][None] * np.array(bool(scale[0]), held["d"].dtype)
            for name in ("a_desc", "b_desc"):
                if name in held:
                    words = {int(word) for word in held[name][:, 0]}
                    assert len(words) == 1
                    descriptors[name] = words.pop()
            image = np.frombuffer(self._shared(number), np.uint8)
            image = np.concatenate([image, np.zeros(-len(image) % 4, np.uint8)]).view(np.uint32)[None]
        job = ProductJob(
            i,
            form if i.threads == 128 else "registers",
            registers,
            descriptors,
            image,
            absolute=True,
            immediates=immediates,
        )
        raw, _ = device.product(job)
        assert plan.instruction is i
        return raw[0, 0] if not self.wrong else raw[0, 0] + np.array(self.wrong, raw.dtype)

    def _shared(self, number: int) -> bytes:
        function = self.library[f"shared{number}"]
        function.restype = ctypes.c_void_p
        return ctypes.string_at(function(), max(1024, self.plans[number].shared_bytes))

    def _moved(self, device: NumpyDevice, i: Instruction, held: dict[str, Any]) -> Any:
        """wmma.load and wmma.store between registers and the memory a pointer names."""
        (op,) = i.operands.values()
        pointer, stride = int(held["p"][0, 0]), int(held["stride"][0, 0])
        lines, along = (op.row_count, op.col_count) if "row" in i.syntax.layouts else (op.col_count, op.row_count)
        size = ((lines - 1) * stride + along) * op.element.bits // 8
        if ".load." in i.ptx:
            given = np.frombuffer(ctypes.string_at(pointer, size), np.uint8)[None]
            return device.load_store(i, given, size, stride)[0][0]
        out = device.load_store(i, held["r"][None], size, stride)[0][0]
        ctypes.memmove(pointer, out.tobytes(), size)
        return np.zeros((i.threads, 0), np.uint32)

    # the halves -------------------------------------------------------------------------------------------------------

    def main(self, number: int) -> int:
        """The exit status of a program's own main."""
        status = int(self.library[f"main{number}"]())
        self._raise()
        return status

    def launch(self, number: int, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """The kernel over host arrays."""
        pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
        self.library[f"launch{number}"](pointers)
        self._raise()

    def _raise(self) -> None:
        failure, self.failure = self.failure, None
        if failure:
            raise failure

    def script(self, number: int) -> int:
        """The exit status of the program's Python form, CuPy and NVRTC replaced by this."""
        scope: dict[str, Any] = {"__name__": "program"}
        with self.as_cupy(number):
            exec(compile(kernel.render_script_program(self.plans[number]), "product.py", "exec"), scope)
            return int(scope["main"]())

    @contextmanager
    def as_cupy(self, number: int) -> Iterator[None]:
        """Modules cupy and cupy_backends whose one kernel is a program's."""
        plan = self.plans[number]
        stand_in = {
            name: types.ModuleType(name)
            for name in ("cupy", "cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
        }
        cupy: Any = stand_in["cupy"]
        libs: Any = stand_in["cupy_backends.cuda.libs"]
        cupy.asarray, cupy.asnumpy, cupy.zeros = np.ascontiguousarray, np.asarray, np.zeros
        asked: dict[str, int] = {}

        def kernel_(grid: Any, block: Any, arguments: Any, shared_mem: int) -> None:
            assert grid == (1,) and block == (plan.instruction.threads,) and shared_mem == plan.shared_bytes
            assert shared_mem <= asked.get("shared", 48 * 1024)
            self.launch(number, arguments)

        def compile_(text: str, options: list[str]) -> None:
            assert text == "\n" + kernel_device.render_device(plan, 'extern "C" ') and options == [
                "--gpu-architecture=sm_00",
                "--std=c++17",
            ]

        kernel_.ptr = 0  # type: ignore[attr-defined]
        module = types.SimpleNamespace(load=lambda cubin: None, get_function=lambda name: kernel_)
        driver = types.SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
            funcSetAttribute=lambda at, what, size: asked.update(shared=size),
        )
        device = types.SimpleNamespace(compute_capability="00")
        cupy.cuda = types.SimpleNamespace(
            Device=lambda: device, driver=driver, function=types.SimpleNamespace(Module=lambda: module)
        )
        libs.nvrtc = types.SimpleNamespace(
            createProgram=lambda text, name, headers, names: text,
            compileProgram=compile_,
            getCUBIN=lambda program: b"",
            NVRTCError=OSError,
        )
        kept = {name: sys.modules.get(name) for name in stand_in}
        sys.modules.update(stand_in)
        try:
            yield
        finally:
            for name, old in kept.items():
                sys.modules.pop(name) if old is None else sys.modules.__setitem__(name, old)


def _make_pointer(slot: OperandSlot) -> str:
    return slot.name if slot.kind == "vector" else f"&{slot.name}"


def compute_layout(slots: Sequence[OperandSlot]) -> list[tuple[OperandSlot, int, int]]:
    """(slot, first byte, bytes) of each operand in a lane's block."""
    out, at = [], 0
    for slot in slots:
        size = max(slot.registers, 1) * (8 if slot.type in ("b64", "u64", "f64") else 4)
        out.append((slot, at, size))
        at += size
    return out
