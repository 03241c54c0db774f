"""One operation on tensor memory, executed between two dumps of it: shared and tensor memory and registers in, tensor
memory and registers out. The kernel for it, and how a CUDA device runs it.

Before and after, tensor memory is written and read one column at a time by tcgen05.st and .ld.32x32b.x1, whose lane is
the thread's and whose column is the address's; nothing but the meaning of an address is assumed. PTX ISA 9.1,
9.7.16; assembled for sm_100a. Not yet run on hardware.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.device import CudaDevice
from lanescope.blackwell import tmem
from lanescope.blackwell.product import TensorProduct
from lanescope.blackwell.tmem import LANES, TensorAccess
from lanescope.render import idesc as render
from lanescope.render.template import Templates
from lanescope.render.tmem import render_statement

Array = NDArray[Any]
THREADS, EXTRA = 128, 64  # threads of a CTA; bytes behind the image for the barrier and the allocation's address
_PROGRAMS = Templates(__package__)
TARGETS = ("sm_100a", "sm_103a", "sm_110a")


@dataclass(frozen=True, slots=True)
class MoveOperation:
    """A load or store by all four warps, each at its own quarter: `lane` (0 or 16) and `column` past it."""

    access: TensorAccess
    lane: int = 0
    column: int = 0
    ctas: int = 1

    @property
    def code(self) -> str:
        return _PROGRAMS.fill(
            "tensor_store.cu" if self.access.verb == "st" else "tensor_load.cu",
            address=self.lane << 16 | self.column,
            count=self.access.registers,
            statement=render_statement(self.access),
        )


@dataclass(frozen=True, slots=True)
class CopyOperation:
    """A copy or a shift, by one thread. word: the copy's descriptor, its start counted from the image."""

    access: TensorAccess
    word: int = 0
    lane: int = 0
    column: int = 0
    ctas: int = 1

    @property
    def code(self) -> str:
        return render_issue(
            f"const unsigned taddr = tensor + {self.lane << 16 | self.column}u;\n"
            f"const unsigned long long smem_desc = {self.word:#x}ull + first;\n{render_statement(self.access)}",
            self.ctas,
        )


@dataclass(frozen=True, slots=True)
class MmaOperation(TensorProduct):
    """One tcgen05.mma that overwrites D."""

    @property
    def mma(self) -> tmem.TmemMma:
        """Return the instruction as tensor memory sees it."""
        idesc = self.idesc
        vector = render.get_scale_vector(idesc).rpartition(":")[2] if self.kind.scaled else ""
        return tmem.TmemMma(self.kind, self.form, idesc.sparse, idesc.m, idesc.n, idesc.k, scale_vec=vector)

    @property
    def code(self) -> str:
        names = {
            "d": "d_tmem",
            "a": "a_tmem",
            "metadata": "metadata_tmem",
            "scale_a": "scale_a_tmem",
            "scale_b": "scale_b_tmem",
        }
        lines = [f"const unsigned {names[name]} = tensor + {address}u;" for name, address in self.at.items()]
        text = render.render_statement(self.idesc, self.form)
        if self.a is None:
            text = text.replace(" [%0], %1,", " [%0], [%1],").replace('"l"(a_desc)', '"r"(a_tmem)')
        else:
            lines.append(f"const unsigned long long a_desc = {self.a:#x}ull + first;")
        lines.append(f"const unsigned long long b_desc = {self.b:#x}ull + first;")
        lines.append(f"const unsigned idesc = {self.idesc}u, accumulate = 0;")
        return render_issue("\n".join([*lines, text]), self.ctas)


Operation = MoveOperation | CopyOperation | MmaOperation


def render_issue(text: str, ctas: int) -> str:
    """Render the instructions of one thread, with the commit that every CTA waits for."""
    pair = ctas > 1
    return _PROGRAMS.fill(
        "tensor_issued.cu",
        text=text,
        ctas=ctas,
        many=".multicast::cluster" if pair else "",
        mask=", %1" if pair else "",
        ranks=', "h"((unsigned short)3)' if pair else "",
    )


_MEET_PAIR = 'asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");'


def render_kernel(operation: Operation) -> str:
    """Render the text of kernel k for one operation; it waits for nothing longer than four million tries."""
    ctas = operation.ctas
    pair = ctas > 1
    return _PROGRAMS.fill(
        "tensor.cu",
        cluster=f"__cluster_dims__({ctas}, 1, 1) " if pair else "",
        threads=THREADS,
        lanes=LANES,
        ctas=ctas,
        group=f"cta_group::{ctas}",
        launched=_MEET_PAIR if pair else "__syncwarp();",  # an allocation by a pair waits for a peer that must be there
        meet=_MEET_PAIR if pair else "__syncthreads();",
        operation=operation.code,
    )


@dataclass(frozen=True, slots=True)
class TensorJob:
    """Runs of one operation. tensor: [runs, ctas, 128, columns]; shared: [runs, ctas, words]; registers: [runs, ctas,
    128, count] for a store. All are 32-bit words; operations of the runs differ in nothing but their data.
    """

    operation: Operation
    tensor: Array
    shared: Array
    registers: Array | None = None

    @property
    def loaded_registers(self) -> int:
        """Return how many registers of a thread are returned."""
        operation = self.operation
        return (
            operation.access.registers if isinstance(operation, MoveOperation) and operation.access.verb == "ld" else 0
        )


class TensorDevice(Protocol):
    """A device with tensor memory, or its simulation."""

    def tensor(self, job: TensorJob) -> tuple[Array, Array]:
        """Return (tensor memory after the job [runs, ctas, 128, columns], registers [runs, ctas, 128, count])."""
        ...


@dataclass(frozen=True, slots=True)
class CudaTensorDevice:
    """Jobs on a CUDA device."""

    device: CudaDevice

    def tensor(self, job: TensorJob) -> tuple[Array, Array]:
        source = render_kernel(job.operation)
        runs, ctas, _, columns = job.tensor.shape
        words = job.shared.shape[2]
        stored = job.registers if job.registers is not None else np.zeros(1)
        out, registers, status = self.device.run_kernel(
            source,
            np.zeros(job.tensor.shape, np.uint32),
            np.zeros((runs, ctas, THREADS, max(job.loaded_registers, 1)), np.uint32),
            *(array.astype(np.uint32) for array in (job.tensor, job.shared, stored)),
            np.uint32(words),
            np.uint32(columns),
            np.zeros(2, np.uint32),
            grid=(runs * ctas,),
            threads=THREADS,
            shared=4 * words + EXTRA,
            returns=(0, 1, 7),
        )
        window, hung = status.tolist()
        if hung or window % 1024:
            reason = "did not complete" if hung else f"began at byte {window} of shared memory"
            raise RuntimeError(f"An operation on tensor memory {reason}:\n{source}")
        return out, registers


def explain_no_tensor_memory(target: str) -> str:
    """Return why a target has no tensor memory, "" if it has it."""
    if target in TARGETS:
        return ""
    return f"tcgen05 needs {', '.join(TARGETS[:-1])} or {TARGETS[-1]}; this device is {target}."
