"""Parse and verify captures, which lanescope.cuh records in a running kernel.

>>> from lanescope import capture
>>> buffer = capture.empty(1 << 20)          # to be copied to the device, for a kernel parameter
>>> capture.read(buffer).records             # after the kernel; in this example no kernel ran
()
"""

from __future__ import annotations

from lanescope.capture.file_format import Capture, Record, empty, read_capture as read, write
from lanescope.capture.fills import matrix as fill
from lanescope.capture.report import Verified
from lanescope.capture.verify import check, verify

__all__ = ["Capture", "Record", "Verified", "check", "empty", "fill", "read", "verify", "write"]
