"""Part "code" of `lanescope gpu verify`: its kernels compile, and a sample of them, run on the host thread by thread,
gives the words of the maps.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from lanescope.app.hardware import code_runs, verification
from lanescope.app.hardware.code_runs import CodeCase
from lanescope.app.hardware.device import WINDOW
from tests import cpp
from tests.ptxas import nvrtc
from tests.sample import choose_count

# One block: its threads run at once and meet at barriers; shared memory begins where it does on a device.
BLOCK = r"""
#define __global__
static Index blockDim;
alignas(1024) static unsigned char shared_[1 << 18];
static unsigned char* const shared = shared_;
static size_t __cvta_generic_to_shared(const void* p) { return (const unsigned char*)p - shared_ + WINDOW; }
static std::barrier<>* all;
static void __syncthreads() { all->arrive_and_wait(); }
static std::barrier<>* warps[4];
static double crossing[128];
template <class T> T __shfl_sync(unsigned mask, T value, int lane) {
  if (mask != 0xFFFFFFFFu) std::abort();  // every lane calls it
  const unsigned first = threadIdx.x / 32 * 32;
  std::memcpy(&crossing[threadIdx.x], &value, sizeof(T));
  warps[first / 32]->arrive_and_wait();
  T out; std::memcpy(&out, &crossing[first + lane], sizeof(T));
  warps[first / 32]->arrive_and_wait();
  return out;
}
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }
static int __float2int_rn(float x) { return (int)std::nearbyint(x); }
static int __double2int_rn(double x) { return (int)std::nearbyint(x); }
static float __int2float_rn(int x) { return (float)x; }
static float __double2float_rn(double x) { return (float)x; }
static unsigned __float_as_uint(float x) { unsigned u; std::memcpy(&u, &x, 4); return u; }
static unsigned tf32_rna(float x) { return (__float_as_uint(x) + 0x1000u) & ~0x1FFFu; }
static void block(void (*kernel)(unsigned*, const unsigned*), unsigned threads, unsigned words, unsigned given) {
  std::vector<unsigned> in(given), out(words);
  if (fread(in.data(), 4, given, stdin) != given) abort();
  std::barrier<> here(threads), w0(32), w1(32), w2(32), w3(32);
  all = &here; warps[0] = &w0; warps[1] = &w1; warps[2] = &w2; warps[3] = &w3;
  blockDim.x = threads;
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&, t] { threadIdx.x = t; kernel(out.data(), in.data()); });
  for (auto& thread : running) thread.join();
  fwrite(out.data(), 4, words, stdout);
}
""".replace("WINDOW", str(WINDOW))
MOST = 4096  # words of a case that a host runs
FENCE = 'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");'


@lru_cache(maxsize=1)
def list_cases() -> tuple[CodeCase, ...]:
    return tuple(code_runs.generate_cases())


@lru_cache(maxsize=1)
def sample_cases() -> tuple[CodeCase, ...]:
    """Two cases of every key, the largest ones left out: their threads take long on a host."""
    seen: Counter[str] = Counter()
    out = []
    for case in list_cases():
        if len(case.expected) < MOST and seen[case.key] < choose_count(2, 1):
            seen[case.key] += 1
            out.append(case)
    return tuple(out)


def run_on_host(cases: tuple[CodeCase, ...]) -> list[np.ndarray]:
    """What each case's kernel writes."""
    parts, calls = [], []
    for n, case in enumerate(cases):
        text = (
            cpp.convert_to_host(case.render_kernel())
            .replace(FENCE, "")
            .replace('extern "C" __global__ void k(', f"static void k{n}(")
        )
        text = text.replace("extern __shared__ __align__(1024) unsigned char shared[];", "").replace(
            "typedef unsigned long long uint64_t;\n", ""
        )
        assert "asm" not in text
        parts.append(f"namespace n{n} {{\n{text}}}\n")
        calls.append(f"  block(n{n}::k{n}, {case.threads}, {len(case.expected)}, {len(case.words_in)});\n")
    source = "".join([cpp.DEVICE, cpp.THREADS, BLOCK, *parts, "int main() {\n", *calls, "}\n"])
    told = np.frombuffer(cpp.build_and_run(source, b"".join(case.words_in.tobytes() for case in cases)), np.uint32)
    return np.split(told, np.cumsum([len(case.expected) for case in cases])[:-1])


def plant_faults() -> tuple[CodeCase, ...]:
    """Cases with rows taken for columns, shifts and strides exchanged."""
    faults = {
        "load f16": ("row * ld + col", "col * ld + row"),
        "make_desc": ("<< 16", "<< 32"),
        "tile K-major": (" ^ ", " + "),
        "reuse s32 as s8": ("d[0][0]", "d[0][1]"),
    }
    planted = []
    for key, (old, new) in faults.items():
        case = next(c for c in list_cases() if c.key == key and old in c.code and len(c.expected) < MOST)
        planted.append(replace(case, code=case.code.replace(old, new, 1)))
    return tuple(planted)


@pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
def test_a_sample_on_the_host_gives_the_words_of_the_maps_and_a_planted_fault_does_not() -> None:
    """In one compilation."""
    cases, planted = sample_cases(), plant_faults()
    assert {case.key.split()[0] for case in cases} == {"load", "store", "tile", "make_desc", "reuse"}
    told = run_on_host((*cases, *planted))
    for case, words in zip(cases, told, strict=False):
        assert case.is_expected(words), (case.key, case.code)
    assert not any(case.is_expected(words) for case, words in zip(planted, told[len(cases) :], strict=True))


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_the_kernels_compile() -> None:
    texts = [case.render_kernel() for case in sample_cases()[::5]]
    text = "\n".join(f"namespace n{n} {{\n{verification.rename_kernel(source, n)}}}" for n, source in enumerate(texts))
    assert nvrtc.compile_ptx(text, "sm_90a")[1] == ""
