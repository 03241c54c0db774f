"""Build C++ with the host's compiler and run it: how tests execute generated code without a GPU."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

MISSING = "no C++ compiler: make test installs g++ where it may"
# What CUDA's device functions are on a host, lane by lane.
DEVICE = r"""
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#define __device__
#define __align__(n) alignas(n)
struct Index { unsigned x; };
static thread_local Index threadIdx;
"""
# Threads that meet: most programs need none, and these headers take four fifths of their compilation.
THREADS = r"""
#include <barrier>
#include <functional>
#include <thread>
#include <vector>
"""
# Intrinsics that cuda_fp16.h and its like do not have on a host; the lanes of a warp are threads that meet at each
# shuffle.
INTRINSICS = (
    THREADS
    + r"""
static std::barrier<>* meeting;
static double crossing[32];
static void together(const std::function<void(unsigned)>& one) {  // the lanes of a warp, as threads
  std::barrier<> here(32);
  meeting = &here;
  std::vector<std::thread> lanes;
  for (unsigned lane = 0; lane < 32; ++lane) lanes.emplace_back([&one, lane] { one(lane); });
  for (auto& lane : lanes) lane.join();
}
template <class T> T __shfl_sync(unsigned mask, T value, int lane) {
  static_assert(sizeof(T) <= 8);
  if (mask != 0xFFFFFFFFu) std::abort();  // every lane calls it
  std::memcpy(&crossing[threadIdx.x % 32], &value, sizeof(T));
  meeting->arrive_and_wait();
  T out; std::memcpy(&out, &crossing[lane], sizeof(T));
  meeting->arrive_and_wait();
  return out;
}
template <class T, class F> T clipped(F x) {
  if (x != x) return 0;
  const double y = std::nearbyint((double)x);
  return y > 2147483647.0 ? 2147483647 : y < -2147483648.0 ? -2147483647 - 1 : (T)y;
}
static int __float2int_rn(float x) { return clipped<int>(x); }
static int __half2int_rn(__half x) { return clipped<int>(__half2float(x)); }
static int __double2int_rn(double x) { return clipped<int>(x); }
static float __int2float_rn(int x) { return (float)x; }
static float __double2float_rn(double x) { return (float)x; }
static unsigned __float_as_uint(float x) { unsigned u; std::memcpy(&u, &x, 4); return u; }
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
static unsigned tf32_rna(float x) { const unsigned u = __float_as_uint(x); return (u + 0x1000u) & ~0x1FFFu; }
"""
)


@lru_cache(maxsize=1)
def find_compiler() -> str | None:
    """A C++20 compiler, or None."""
    return next((found for name in ("g++", "c++", "clang++") if (found := shutil.which(name))), None)


def build_and_run(source: str, given: bytes = b"", include: Path | None = None, options: Sequence[str] = ()) -> bytes:
    """Build `source` and run it with `given` at its standard input; what it prints. A build that fails is an
    AssertionError.
    """
    program = find_compiler()
    assert program is not None
    with tempfile.TemporaryDirectory() as folder:
        text, binary = Path(folder) / "host.cpp", Path(folder) / "host"
        text.write_text(source)
        every = [
            "-std=c++20",
            "-O0",
            "-w",
            "-fno-strict-aliasing",
            "-pthread",
            *(["-isystem", str(include)] if include else []),
            *options,
        ]
        built = subprocess.run([program, *every, str(text), "-o", str(binary)], capture_output=True, text=True)
        assert built.returncode == 0, built.stderr[:3000]
        return subprocess.run([str(binary)], input=given, capture_output=True, check=True, timeout=60).stdout


def convert_to_host(code: str) -> str:
    """Generated device code with its one instruction that a host lacks, cvt.rna.tf32, as a function."""
    return re.sub(r'asm\("cvt\.rna\.tf32\.f32 %0, %1;" : "=r"\((\w+)\) : "f"\((.+?)\)\);', r"\1 = tf32_rna(\2);", code)
