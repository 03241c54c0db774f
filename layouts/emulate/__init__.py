"""PTX executed on the CPU: parser, memory, scheduler, one row per instruction.

program     what a PTX text says        parser      text → Module
types       registers' types            memory      allocations, spaces, checks
block       a CTA: groups of threads    machine     the scheduler
code        statements made ready: `instruction` registers a row (a builder of an action)
flow, data, arithmetic, …               the rows
"""

from __future__ import annotations

from lanescope.emulate import arithmetic, bulk, bulk_tensor, clusters, copies, data, fences, flow, mbarriers  # noqa: F401
