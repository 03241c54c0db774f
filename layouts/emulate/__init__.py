"""PTX executed on the CPU: parser, memory, scheduler, one builder per instruction.

`run.py` has `lanescope.emulate(ptx, launch)`: `text/` parses the PTX, `launching/` reads the launch and prepares the
kernel, `machine.py` schedules its threads, whose memory and barriers are in `state/`. `code.py` makes actions of
statements: its `instruction` registers the builder of an opcode, and `instructions/` has the builders. `observing/`
records what happens; `result.py` has the status, the findings and the buffers of a run.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lanescope.emulate.instructions import (  # noqa: F401
    arithmetic,
    atomics,
    bulk,
    bulk_tensor,
    clusters,
    comparisons,
    conversions,
    copies,
    data,
    fences,
    floats,
    flow,
    matrices,
    matrix_moves,
    mbarriers,
    named_barriers,
    narrow,
    tensor_map_edits,
    tensor_memory,
    tensor_products,
    transcendental,
    warp,
    wgmma,
    wmma_moves,
)

if TYPE_CHECKING:
    from lanescope.emulate.result import EmulationResult

__all__ = ["emulate"]


def emulate(ptx: Any, launch: Any, **options: Any) -> EmulationResult:
    """Execute a kernel of a PTX text on the CPU; see lanescope.emulate.run.emulate."""
    from lanescope.emulate.run import emulate as run

    return run(ptx, launch, **options)


class _CallableModule(ModuleType):
    """The package as a callable.

    Importing any of its modules sets `lanescope.emulate` to the package, so the package itself must be callable as
    `lanescope.emulate(ptx, launch)`. Type checkers, which do not know callable modules, see the function
    (lanescope/__init__.py).
    """

    def __call__(self, ptx: Any, launch: Any, **options: Any) -> EmulationResult:
        return emulate(ptx, launch, **options)


sys.modules[__name__].__class__ = _CallableModule
