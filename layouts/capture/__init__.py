"""Captures of a running kernel: what lanescope.cuh recorded, read and verified.

>>> from layouts import capture
>>> buffer = capture.empty(1 << 20)          # copied to the device, a kernel parameter
>>> capture.read(buffer).records             # after the kernel; here nothing ran
()
"""

from __future__ import annotations

from layouts.capture.fills import matrix as fill
from layouts.capture.form import Capture, Record, empty, read, write
from layouts.capture.verify import Verified, check, verify

__all__ = ["Capture", "Record", "Verified", "check", "empty", "fill", "read", "verify", "write"]
