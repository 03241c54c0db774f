"""The blocks of one cluster during a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanescope.emulate.state.block import Block
from lanescope.emulate.state.memory import FaultError, Memory
from lanescope.emulate.text.program import Statement

if TYPE_CHECKING:
    from lanescope.emulate.machine import Machine


@dataclass(slots=True)
class ClusterRun:
    """The blocks of one cluster. size: in blocks."""

    machine: Machine
    memory: Memory
    grid: tuple[int, int, int]
    shape: tuple[int, int, int]
    parameter_base: int
    index: tuple[int, int, int]
    blocks: list[Block] = field(default_factory=list)

    @property
    def is_cluster(self) -> bool:
        return self.shape != (1, 1, 1)

    def find_block(self, rank: int, statement: Statement) -> Block:
        """Return a block of the cluster by its rank; FaultError if there is none.

        Reports a warning if its threads have exited: accessing its shared memory is undefined.
        """
        if rank >= len(self.blocks):
            raise FaultError(
                "out_of_bounds",
                f"An address of shared memory names CTA {rank} of the cluster, which has {len(self.blocks)}.",
            )
        block = self.blocks[rank]
        if not block.live.any():
            self.machine.report(
                "exited_cta",
                f"{statement.opcode} accesses shared memory of CTA {rank} of the cluster, whose threads have exited."
                " Let the CTA wait for it, as with barrier.cluster, before it exits",
                statement,
                "warning",
            )
        return block
