"""Tests of kernels: plain functions that raise AssertionError with the verdict, the cause and the repair.

>>> from lanescope.testing import assert_descriptors_read
>>> assert_descriptors_read(
...     lambda k: 0x4000004000010040 + (2 * k >> 4), "64x64 bf16 K 128B base=0x400",
...     "wgmma.mma_async.m64n128k16.f32.bf16.bf16")

Invalid arguments raise LayoutError or TypeError, never AssertionError. `header_path` returns the path of the C++ header
that verifies descriptors at compile time.
"""

from __future__ import annotations

from lanescope.testing.boxes import TensorMap, assert_box_fills, assert_expect_tx
from lanescope.testing.budgets import assert_shared_memory_fits
from lanescope.testing.constants import assert_constants
from lanescope.testing.descriptors import assert_descriptor_reads, assert_descriptors_read
from lanescope.testing.fragments import assert_bijection, assert_reusable_as_a
from lanescope.testing.header import header_path

__all__ = [
    "TensorMap",
    "assert_bijection",
    "assert_box_fills",
    "assert_constants",
    "assert_descriptor_reads",
    "assert_descriptors_read",
    "assert_expect_tx",
    "assert_reusable_as_a",
    "assert_shared_memory_fits",
    "header_path",
]
