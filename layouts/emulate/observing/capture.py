"""Record a capture of the emulated kernel: the file that lanescope.cuh would write, without its macros.

Every wgmma, ldmatrix and mma is recorded: words, immediates, addresses, registers and the block's shared memory. A
wgmma's A in registers, its accumulators unless they start at zero, and D when the program first reads it have records
of their own. The place is that of .loc (nvcc -lineinfo), else the PTX line.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lanescope.capture.file_format import Capture, Record, write
from lanescope.descriptor.matrix import SHARED_BEGIN
from lanescope.emulate.instructions.fragments import MatrixEvent
from lanescope.emulate.machine import Machine
from lanescope.emulate.state.wgmma_order import get_queues

MOST_BYTES = 64 << 20
_WITH_MEMORY = ("wgmma", "ldmatrix")


class CaptureRecorder:
    """Collects records while a machine runs; `render` returns the bytes of the file.

    file: the name of the PTX, used where it names no source. blocks: first and last recorded block, by linear index.
    size: bytes of records to keep; further ones are counted as dropped.
    """

    def __init__(
        self, machine: Machine, file: str = "kernel.ptx", blocks: tuple[int, int] = (0, 0), size: int = MOST_BYTES
    ) -> None:
        self.machine, self.file, self.blocks, self.size = machine, file, blocks, size
        self.records: list[Record] = []
        self.bytes = self.dropped = 0
        self._sums: set[tuple[tuple[int, int, int], int, bytes]] = set()  # block, first thread, D of an mma
        self._memory: dict[tuple[int, int, int], NDArray[np.uint8]] = {}
        machine.recorders.append(self._record)

    def render(self) -> bytes:
        """Return the capture file of the run so far."""
        for cluster in self.machine.clusters:
            for block in cluster.blocks:
                if "wgmma" in block.state:
                    get_queues(block).record_ended()
        return write(Capture(tuple(self.records), dropped=self.dropped))

    def _record(self, event: MatrixEvent) -> None:
        first, last = self.blocks
        block = event.group.block
        if not first <= block.linear_index <= last:
            return
        for number, thread in enumerate(event.threads):
            registers = {name: values[number] for name, values in event.registers.items()}
            c = registers.pop("c", None)
            if event.kind == "mma" and c is not None:
                if c.any() and (block.index, thread, c.tobytes()) not in self._sums:
                    self._keep(event, thread, "fragment", "C", {"d": c})
                self._sums.add((block.index, thread, registers["d"].tobytes()))
            label = event.label
            if event.kind == "wgmma":
                label = "AB" if event.words["a"][number] else "B"
            self._keep(event, thread, event.kind, label, registers, number=number)

    def _keep(
        self,
        event: MatrixEvent,
        thread: int,
        kind: str,
        label: str,
        registers: dict[str, NDArray[np.uint32]],
        *,
        number: int = 0,
    ) -> None:
        block, place = event.group.block, event.statement.place
        window = self._copy_memory(event) if kind in _WITH_MEMORY else np.zeros(0, np.uint8)
        words = sum(values.size for values in registers.values())
        self.bytes += 256 + 4 * words + len(window)
        if self.bytes > self.size:
            self.dropped += 1
            return
        self.records.append(
            Record(
                kind,
                place.file if place else self.file,
                place.line if place else event.statement.line,
                label=label,
                text=event.instruction.ptx,
                block=block.index,
                thread=thread,
                words={name: values[number] for name, values in event.words.items()} if kind == "wgmma" else {},
                slice={},
                immediates=event.immediates if kind == "wgmma" else {},
                window_first=SHARED_BEGIN if len(window) else 0,
                window=window,
                addresses=None if event.addresses is None else event.addresses[number].astype(np.uint32),
                registers=registers,
            )
        )

    def _copy_memory(self, event: MatrixEvent) -> NDArray[np.uint8]:
        """Return a copy of the block's shared memory; records between which nothing changes share it."""
        block = event.group.block
        copy = self._memory.get(block.index)
        if copy is None or not np.array_equal(copy, block.shared.data):
            copy = self._memory[block.index] = block.shared.data.copy()
        return copy
