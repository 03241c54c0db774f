"""A NumPy simulation of one operation on tensor memory, by the maps of lanescope.blackwell.tmem, the descriptor model
and the fields of the instruction descriptor. It shows what those predict, and proves nothing about them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.tensor_memory import CopyOperation, MmaOperation, MoveOperation, TensorJob
from lanescope.blackwell import transfers
from lanescope.blackwell.product import multiply
from lanescope.blackwell.tmem import LANES, QUARTER

Array = NDArray[Any]


class SimulatedTensorDevice:
    """NumPy stand-in for a GPU with tensor memory."""

    def tensor(self, job: TensorJob) -> tuple[Array, Array]:
        memory = job.tensor.astype(np.uint32).copy()
        runs, ctas = memory.shape[:2]
        numbers_read: dict[tuple[str, int], Array] = {}
        registers = np.zeros((runs, ctas, LANES, max(job.loaded_registers, 1)), np.uint32)
        for run in range(runs):
            operation = job.operation
            if isinstance(operation, MmaOperation):
                multiply(operation, memory[run], list(job.shared[run]), numbers_read)
                continue
            for cta in range(ctas):
                if isinstance(operation, MoveOperation):
                    stored = job.registers[run, cta] if job.registers is not None else None
                    self.move(operation, memory[run, cta], registers[run, cta], stored)
                else:
                    self.simulate_copy(operation, memory[run, cta], job.shared[run, cta])
        return memory, registers

    def move(self, operation: MoveOperation, memory: Array, loaded: Array, stored: Array | None) -> None:
        """Load into `loaded` or store from `stored`, warp by warp: [128, registers]."""
        access, column = operation.access, operation.column
        for warp in range(LANES // QUARTER):
            lane = QUARTER * warp + operation.lane
            threads = slice(QUARTER * warp, QUARTER * (warp + 1))
            if access.verb == "ld":
                loaded[threads] = transfers.load_registers(access, memory, lane, column)
            else:
                assert stored is not None
                transfers.store_registers(access, memory, lane, column, stored[threads])

    def simulate_copy(self, operation: CopyOperation, memory: Array, shared: Array) -> None:
        """Simulate a copy or a shift."""
        access = operation.access
        if access.verb == "shift":
            transfers.shift_lanes(access, memory, operation.column)
            return
        transfers.copy_from_shared(access, memory, (operation.lane, operation.column), shared, operation.word)
