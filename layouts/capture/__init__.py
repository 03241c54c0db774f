"""Captures of a running kernel: what lanescope.cuh recorded, read and verified.

>>> from lanescope import capture
>>> buffer = capture.empty(1 << 20)          # copied to the device, a kernel parameter
>>> capture.read(buffer).records             # after the kernel; here nothing ran
()
"""

from __future__ import annotations

from lanescope.capture.file_format import Capture, Record, empty, write
from lanescope.capture.file_format import read_capture as read
from lanescope.capture.fills import matrix as fill
from lanescope.capture.report import Verified
from lanescope.capture.verify import check, verify

__all__ = ["Capture", "Record", "Verified", "check", "empty", "fill", "read", "verify", "write"]
