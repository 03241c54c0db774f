"""What holds of every value type of the engine: immutable, and without room for a misspelt attribute."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import lanescope
from lanescope.errors import LayoutError

# Its defaults are class attributes; bases and subclasses of classes that hold cached properties.
SLOTLESS = {"Family", "ProductSide", "DescribedSide", "TransferSide"}
READING = {  # what is read or put together step by step
    "lanescope.delivery.moves.Builder",
    "lanescope.reader.formula.lane_code.LaneCode",
    "lanescope.reader.grammars.scopes.Scope",
    "lanescope.reader.grammars.terms.TermText",
    "lanescope.reader.threads.barriers.barrier_bytes.BarrierBytes",
    "lanescope.reader.threads.barriers.barrier_simulation.Outcome",
    "lanescope.reader.threads.barriers.barrier_simulation.PhaseBarrier",
    "lanescope.reader.threads.barriers.barrier_trace.BarrierTrace",
    "lanescope.reader.threads.barriers.tensor_order.Clocks",
    "lanescope.reader.threads.barriers.tensor_trace.TensorTrace",
    "lanescope.reader.threads.cute.async_trace.AsyncTrace",
    "lanescope.reader.threads.language.program.Scope",
    "lanescope.reader.threads.language.types.StructLayout",
    "lanescope.reader.threads.memory.tile_steps.TileSteps",
    "lanescope.reader.threads.run_state.FrameState",
    "lanescope.reader.threads.memory.shared_fills.SharedFills",
    "lanescope.reader.threads.memory.shared_fills.StageReads",
    "lanescope.reader.threads.memory.storage.LocalMemory",
    "lanescope.reader.threads.memory.shared_memory.SharedMemory",
    "lanescope.reader.threads.memory.tensor_products.TensorSums",
    "lanescope.reader.threads.memory.tile_trace.TileTrace",
    "lanescope.workbench.cute.async_sums.MadeSum",
    "lanescope.workbench.reads.operands.OperandCase",
    "lanescope.workbench.kernels.order._KernelOrder",
    "lanescope.workbench.fragments.fragment_report.FragmentReport",
    "lanescope.workbench.fragments.run_verdicts.RunVerdicts",
    "lanescope.workbench.tensor_memory.tensor_regions.TensorMemory",
}


OF_EXTRAS = (
    *("lanescope.mkdocs", "lanescope.sphinx", "lanescope.widget"),
    *("lanescope.app.documents.", "lanescope.app.lsp.", "lanescope.app.agents.", "lanescope.app.widget."),
)


def list_value_types() -> Iterator[type]:
    for found in pkgutil.walk_packages(lanescope.__path__, "lanescope."):
        try:
            module = importlib.import_module(found.name)
        except (ImportError, LayoutError):  # of an extra; make test-integrations has them all
            assert found.name.startswith(OF_EXTRAS), found.name
            continue
        yield from (
            kind
            for kind in vars(module).values()
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == found.name
        )


def test_a_value_does_not_change() -> None:
    """Private classes and those of the evaluator of code and of the emulator may be state, which does."""
    every = list(list_value_types())
    assert len(every) > 200
    for kind in every:
        if kind.__module__.startswith(("lanescope.reader.code.", "lanescope.emulate.")) or kind.__name__.startswith(
            "_"
        ):
            continue
        if f"{kind.__module__}.{kind.__name__}" in READING:
            continue
        parameters = kind.__dataclass_params__  # type: ignore[attr-defined]
        assert parameters.frozen or inspect.getsource(kind).startswith("@value_class(frozen=True"), kind
        cached = any(isinstance(member, functools.cached_property) for member in vars(kind).values())
        assert cached or kind.__name__ in SLOTLESS or "__slots__" in vars(kind), kind


def test_arrays_that_are_shared_cannot_be_written() -> None:
    """What is computed once and given to everybody: a caller that changed it would change it for all."""
    instruction = lanescope.find("mma.m16n8k16.row.col.f32.f16.f16.f32")
    tiled = lanescope.tiled_mma("SM80_16x8x16_F32F16F16F32_TN", "(2,2,1)")
    copied = lanescope.tiled_copy(
        "cp.async", tile=(64, 64), bits=128, element_bits=16, thr_layout="(16,8):(8,1)", val_layout="(1,8)"
    )
    shared = [
        array
        for op in instruction.operands.values()
        for array in (*op.pattern.evaluate(), *op.pattern.inverse(), op.rows, op.cols)
    ]
    shared += [array for op in (tiled.a, tiled.b, tiled.c) for array in (op.rows, op.cols)]
    shared += [copied.source.rows, copied.source.cols]
    assert not any(array.flags.writeable for array in shared)
