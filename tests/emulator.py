"""Run whole generated programs without a GPU: NVRTC compiles their device half, and lanescope.emulate executes its PTX;
g++ compiles their host half against a stand-in for CUDA's runtime, or Python runs it with one for CuPy.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
import types
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lanescope.emulate.launching.kernel import prepare_kernel
from lanescope.emulate.launching.launch import parse_launch
from lanescope.emulate.machine import Schedule
from lanescope.emulate.run import run_kernel
from lanescope.emulate.text.parser import parse_module
from lanescope.emulate.text.program import Module
from lanescope.product.move_plan import MovePlan
from lanescope.product.plan import ProductPlan
from lanescope.render import kernel, kernel_device, move_program
from tests.cpp import find_compiler
from tests.ptxas import nvrtc

Plan = ProductPlan | MovePlan
DEFAULT_SHARED = 48 * 1024  # dynamic shared memory of a kernel that asks for no more. CUDA Programming Guide
MISSING = "no NVRTC or no C++ compiler: make test installs them"
# CUDA's runtime for a host: a kernel is its program's number, and memory holds no zeros before something is written.
RUNTIME = r"""
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue };
enum { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaFuncAttributeMaxDynamicSharedMemorySize };
extern "C" { void (*call)(int, int, int, int, void**, size_t*) = nullptr; }
static std::map<const void*, size_t> allocated;
static int most_shared = 48 * 1024;
static cudaError_t last = cudaSuccess;
static const char* cudaGetErrorString(cudaError_t) { return ""; }
static cudaError_t cudaGetLastError() { return last; }
static cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }
static cudaError_t cudaFree(void* p) { allocated.erase(p); std::free(p); return cudaSuccess; }
template <class T> static cudaError_t cudaMalloc(T** p, size_t size) {
  *p = static_cast<T*>(std::malloc(size));
  std::memset(static_cast<void*>(*p), 0xA5, size);
  allocated[*p] = size;
  return cudaSuccess;
}
static cudaError_t cudaMemcpy(void* to, const void* from, size_t size, int) {
  std::memcpy(to, from, size);
  return cudaSuccess;
}
[[maybe_unused]] static cudaError_t cudaFuncSetAttribute(int, int, int size) {
  most_shared = size;
  return cudaSuccess;
}
template <class... Given> static void launch(int kernel, int threads, int shared, Given... given) {
  void* pointers[] = {given...};
  size_t sizes[] = {allocated.at(given)...};
  last = shared > most_shared ? cudaErrorInvalidValue : cudaSuccess;
  most_shared = 48 * 1024;
  if (last == cudaSuccess) call(kernel, threads, shared, sizeof...(given), pointers, sizes);
}
"""
_LAUNCHED = ctypes.CFUNCTYPE(
    None, *[ctypes.c_int] * 4, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t)
)


class Texts(NamedTuple):
    """What is generated for a plan: the kernel's name, the .cu file with its device half, and the Python script."""

    name: str
    program: str
    device: str
    script: str
    script_device: str


def render_texts(plan: Plan) -> Texts:
    external = 'extern "C" '
    if isinstance(plan, MovePlan):
        device = [move_program.render_device(plan, word) for word in ("", external)]
        script = move_program.render_script_program(plan)
        return Texts("move", move_program.render_program(plan), device[0], script, device[1])
    device = [kernel_device.render_device(plan, word) for word in ("", external)]
    return Texts("product", kernel.render_program(plan), device[0], kernel.render_script_program(plan), device[1])


class ProgramEmulator:
    """Programs by number. wrong: what is XORed into every byte of the result in memory, to plant a fault."""

    def __init__(self, plans: Sequence[Plan], folder: Path) -> None:
        self.plans, self.wrong = list(plans), 0
        self.texts = [render_texts(plan) for plan in self.plans]
        self.modules = self._compile_devices()
        self.library = self._compile_hosts(folder)
        self.failure: BaseException | None = None
        self._called = _LAUNCHED(self._call)
        ctypes.c_void_p.in_dll(self.library, "call").value = ctypes.cast(self._called, ctypes.c_void_p).value

    def _compile_devices(self) -> dict[str, Module]:
        """The device halves by target, each in a namespace."""
        sources: dict[str, str] = defaultdict(str)
        for number, (plan, text) in enumerate(zip(self.plans, self.texts, strict=True)):
            sources[kernel.get_target(plan)] += f"namespace n{number} {{\n{text.device}}}\n"
        out = {}
        for target, source in sources.items():
            ptx, log = nvrtc.compile_ptx(source, target, optimized=True)
            assert not log, log[:3000]
            out[target] = parse_module(ptx)
        return out

    def _compile_hosts(self, folder: Path) -> ctypes.CDLL:
        """The host halves as one library, with every warning an error."""
        source, library = folder / "programs.cpp", folder / "programs.so"
        source.write_text(RUNTIME + "".join(map(_translate_host, range(len(self.texts)), self.texts)))
        program = find_compiler()
        assert program is not None
        options = ["-std=c++20", "-O0", "-fPIC", "-shared", "-Wall", "-Wextra", "-Werror"]
        built = subprocess.run([program, *options, str(source), "-o", str(library)], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr[:3000]
        return ctypes.CDLL(str(library))

    def _call(self, number: int, threads: int, shared: int, count: int, pointers: Any, sizes: Any) -> None:
        try:
            arrays = [
                np.frombuffer((ctypes.c_uint8 * sizes[n]).from_address(pointers[n]), np.uint8) for n in range(count)
            ]
            self.launch(number, threads, shared, arrays)
        except BaseException as error:  # a callback cannot raise into C
            self.failure = self.failure or error

    def launch(self, number: int, threads: int, shared: int, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Execute a program's kernel over contiguous arrays; it writes the last one."""
        plan, name = self.plans[number], self.texts[number].name
        assert threads == plan.instruction.threads and shared == plan.shared_bytes
        buffers = {f"array{n}": array.reshape(-1).view(np.uint8) for n, array in enumerate(arrays)}
        last = list(buffers)[-1]
        launch = {
            "kernel": f"n{number}{len(name)}{name}",  # as C++ mangles it
            "grid": [1, 1, 1],
            "block": [threads, 1, 1],
            "shared": shared,
            "args": list(buffers),
            "buffer": {key: {"type": "u8"} | ({"output": key} if key == last else {}) for key in buffers},
        }
        module = self.modules[kernel.get_target(plan)]
        # Warp by warp, a missing __syncthreads() shows.
        result = run_kernel(prepare_kernel(module, parse_launch(launch), buffers), schedule=Schedule(by_warp=True))
        assert result.passed and set(result.outputs) == {last}, (result.status, result.findings)
        buffers[last][:] = result.outputs[last].array ^ self.wrong

    def main(self, number: int) -> int:
        """The exit status of a program's own main."""
        status = int(self.library[f"main{number}"]())
        failure, self.failure = self.failure, None
        if failure:
            raise failure
        return status

    def script(self, number: int) -> int:
        """The exit status of the program's Python form."""
        scope: dict[str, Any] = {"__name__": "program"}
        with self.as_cupy(number):
            exec(compile(self.texts[number].script, "program.py", "exec"), scope)
            return int(scope["main"]())

    @contextmanager
    def as_cupy(self, number: int) -> Iterator[None]:
        """Modules cupy and cupy_backends whose one kernel is a program's."""
        names = ("cupy", "cupy_backends", "cupy_backends.cuda", "cupy_backends.cuda.libs")
        stand_in: dict[str, Any] = {name: types.ModuleType(name) for name in names}
        cupy, libs = stand_in["cupy"], stand_in["cupy_backends.cuda.libs"]
        cupy.asarray, cupy.asnumpy, cupy.zeros = np.ascontiguousarray, np.asarray, np.zeros
        allowed = {"shared": DEFAULT_SHARED}

        def launch(grid: Any, block: Any, arguments: Any, shared_mem: int) -> None:
            assert grid == (1,) and len(block) == 1 and shared_mem <= allowed["shared"]
            self.launch(number, block[0], shared_mem, arguments)

        def compile_(text: str, options: list[str]) -> None:
            assert text == "\n" + self.texts[number].script_device
            assert options == ["--gpu-architecture=sm_00", "--std=c++17"]

        launch.ptr = 0  # type: ignore[attr-defined]
        module = types.SimpleNamespace(load=lambda cubin: None, get_function=lambda name: launch)
        driver = types.SimpleNamespace(
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES=8,
            funcSetAttribute=lambda at, what, size: allowed.update(shared=size),
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


def _translate_host(number: int, text: Texts) -> str:
    """The host half in a namespace, and its main by number."""
    assert text.device in text.program
    host = text.program.replace(text.device, f"[[maybe_unused]] static const int {text.name} = {number};\n")
    host = re.sub(r"#include <\w+>\n", "", host)
    host = re.sub(rf"{text.name}<<<1, (\d+), (\d+)>>>\(", rf"launch({text.name}, \1, \2, ", host)
    assert "asm" not in host and "<<<" not in host
    return (
        f"namespace n{number} {{\n{host}}}\n"
        f'extern "C" int main{number}() {{ const int s = n{number}::main(); std::fflush(stdout); return s; }}\n'
    )
