"""How many lines a second `check` reads (promised: 10,000 of code that concerns nothing that is checked)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lanescope.app.check import checking
from lanescope.app.check.facts import SourceText
from lanescope.app.check.headers import HeaderFinder
from lanescope.reader.code.evaluation import evaluate_text

pytestmark = pytest.mark.bench
EXAMPLES = Path(__file__).parents[2] / "examples"
KERNELS = Path(__file__).parents[1] / "kernels"
LINES = 10_000
ORDINARY = """
template <typename T> struct Buffer{n} {{
  T* data = nullptr;
  int size = {n};
  explicit Buffer{n}(int count) : size(count) {{ cudaMalloc(&data, size * sizeof(T)); }}
  ~Buffer{n}() {{ cudaFree(data); }}
}};
// Scales a row. A warp takes {n} of them.
__global__ void scale_rows_{n}(float* x, const float* weights, int rows, int columns) {{
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0;
  for (int column = threadIdx.x; column < columns; column += 32) sum += x[row * columns + column] * weights[column];
  for (int step = 16; step > 0; step >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, step);
  x[row * columns + (threadIdx.x << 3) % columns] = sum / {n}.0f;
}}
void launch_{n}(float* x, const float* weights, int rows, int columns) {{
  scale_rows_{n}<<<(rows + 3) / 4, dim3(32, 4)>>>(x, weights, rows, columns);
  std::cout << "scaled " << rows << std::endl;
}}
"""


def list_ordinary(numbers: Iterator[int]) -> checking.CheckJob:
    """Return a file of LINES lines with kernels that multiply by no descriptor."""
    text = "".join(ORDINARY.format(n=next(numbers)) for _ in range(LINES // ORDINARY.count("\n")))
    return checking.CheckJob(SourceText("ordinary.cu", text), {}, 600.0, None)


def list_kernels() -> list[checking.CheckJob]:
    """Return our own kernels, with what they include."""
    return checking.join_sources(sorted(EXAMPLES.glob("*.cu")), HeaderFinder(), {}, 600.0).jobs


def list_thread_kernels() -> list[checking.CheckJob]:
    """Return kernels whose threads are run with several sizes of matrices."""
    return checking.join_sources(sorted(KERNELS.glob("*.cu")), HeaderFinder(), {}, 600.0).jobs


def measure_rate(jobs: list[checking.CheckJob]) -> float:
    """Return the lines a second of processor time that are checked, with their includes."""
    evaluate_text.cache_clear()
    began = time.process_time()
    reports = list(checking.run_jobs(jobs))
    seconds = time.process_time() - began
    assert not any("unread" in report.source.gaps for report in reports)
    return sum(job.source.text.count("\n") for job in jobs) / seconds


@pytest.mark.benchmark(group="check: lines a second, with their includes (promised: 10,000 of ordinary code)")
def test_check(benchmark: Any) -> None:
    numbers = count(1)
    measure_rate([list_ordinary(numbers)])
    kinds = [list_ordinary(numbers)], list_kernels(), list_thread_kernels()
    ordinary, kernels, threads = benchmark.pedantic(lambda: tuple(map(measure_rate, kinds)), rounds=1)
    print(
        f"\nordinary code {ordinary:,.0f} lines a second, kernels with descriptors {kernels:,.0f}:"
        f" {ordinary / kernels:.0f} times as slow; kernels whose threads are run {threads:,.0f}"
    )
