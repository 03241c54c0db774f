"""One operation on tensor memory, executed between two dumps of it: shared and tensor memory and registers in, tensor
memory and registers out. The kernel that does it, and how a CUDA device runs it.

Before and after, tensor memory is written and read one column at a time by tcgen05.st and .ld.32x32b.x1, whose lane is
the thread's and whose column is the address's: the meaning of an address is all that is taken for granted. PTX ISA 9.1,
9.7.16; assembled for sm_100a. Nothing here has run: no such device was at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lanescope.app.hardware.device import Cuda
from lanescope.blackwell import tmem
from lanescope.blackwell.idesc import Idesc
from lanescope.blackwell.kind import Kind
from lanescope.blackwell.tmem import LANES, Access
from lanescope.ptx.table.kinds import PAIR
from lanescope.render import idesc as render
from lanescope.render.kernel_host import DEFAULT_SHARED
from lanescope.render.tmem import statement

Array = NDArray[Any]
THREADS, EXTRA = 128, 64  # threads of a CTA; bytes behind the image for the barrier and the allocation's address
TARGETS = ("sm_100a", "sm_103a", "sm_110a")


@dataclass(frozen=True, slots=True)
class Move:
    """A load or store by all four warps, each at its own quarter: `lane` (0 or 16) and `column` past it."""

    access: Access
    lane: int = 0
    column: int = 0
    ctas: int = 1

    @property
    def code(self) -> str:
        registers = f"uint32_t r[{self.access.registers}];\n" if self.access.verb == "st" else ""
        take = "for (unsigned i = 0; i < count; ++i) r[i] = registers_in[at + i];\n" if registers else ""
        give = "for (unsigned i = 0; i < count; ++i) registers_out[at + i] = r[i];\n" if not registers else ""
        return (
            f"const unsigned taddr = mine + {self.lane << 16 | self.column}u, count = {self.access.registers};\n"
            "const unsigned at = (blockIdx.x * 128 + thread) * count;\n"
            f"{registers}{take}{statement(self.access)}\n{give}"
        )


@dataclass(frozen=True, slots=True)
class Single:
    """A copy or a shift, by one thread. word: the copy's descriptor, its start counted from the image."""

    access: Access
    word: int = 0
    lane: int = 0
    column: int = 0
    ctas: int = 1

    @property
    def code(self) -> str:
        return issued(
            f"const unsigned taddr = tensor + {self.lane << 16 | self.column}u;\n"
            f"const unsigned long long smem_desc = {self.word:#x}ull + first;\n{statement(self.access)}",
            self.ctas,
        )


@dataclass(frozen=True, slots=True)
class Multiply:
    """One tcgen05.mma that overwrites D. a: the descriptor of A in shared memory, or None where it is in tensor memory;
    at: address of each operand in tensor memory, lane << 16 | column.
    """

    idesc: Idesc
    form: str
    a: int | None
    b: int
    at: Mapping[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> Kind:
        return self.idesc.kind

    @property
    def ctas(self) -> int:
        return 2 if self.form == PAIR else 1

    @property
    def mma(self) -> tmem.Mma:
        """The same, as tensor memory sees it."""
        given = self.idesc
        vector = render.scale_vector(given).rpartition(":")[2] if self.kind.scaled else ""
        return tmem.Mma(self.kind, self.form, given.sparse, given.m, given.n, given.k, scale_vec=vector)

    @property
    def code(self) -> str:
        names = {
            "d": "d_tmem",
            "a": "a_tmem",
            "metadata": "metadata_tmem",
            "scale_a": "scale_a_tmem",
            "scale_b": "scale_b_tmem",
        }
        lines = [f"const unsigned {names[name]} = tensor + {at}u;" for name, at in self.at.items()]
        text = render.statement(self.idesc, self.form)
        if self.a is None:
            text = text.replace(" [%0], %1,", " [%0], [%1],").replace('"l"(a_desc)', '"r"(a_tmem)')
        else:
            lines.append(f"const unsigned long long a_desc = {self.a:#x}ull + first;")
        lines.append(f"const unsigned long long b_desc = {self.b:#x}ull + first;")
        lines.append(f"const unsigned idesc = {self.idesc}u, accumulate = 0;")
        return issued("\n".join([*lines, text]), self.ctas)


Operation = Move | Single | Multiply


def issued(text: str, ctas: int) -> str:
    """What one thread issues, with the commit that every CTA waits for."""
    many = ".multicast::cluster" if ctas > 1 else ""
    mask = ", %1" if ctas > 1 else ""
    given = ', "h"((unsigned short)3)' if ctas > 1 else ""
    return (
        f"if (thread == 0 && rank == 0) {{\n{text}\n"
        f'asm volatile("tcgen05.commit.cta_group::{ctas}.mbarrier::arrive::one.shared::cluster{many}.b64 [%0]{mask};"\n'
        f'    :: "r"(barrier){given} : "memory");\n}}\n'
        "unsigned done = 0;\n"
        "for (unsigned tries = 0; !done && tries < 1u << 22; ++tries)\n"
        '  asm volatile("{\\n.reg .pred p;\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\\n'
        'selp.u32 %0, 1, 0, p;\\n}\\n" : "=r"(done) : "r"(barrier) : "memory");\n'
        "if (!done) told[1] = 1;\n"
    )


def kernel(operation: Operation) -> str:
    """The text of kernel k for one operation. It waits for nothing longer than four million tries."""
    ctas = operation.ctas
    group = f"cta_group::{ctas}"
    meet = (
        'asm volatile("barrier.cluster.arrive.aligned;\\nbarrier.cluster.wait.aligned;" ::: "memory");'
        if ctas > 1
        else "__syncthreads();"
    )
    before = 'asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");'
    after = 'asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");'
    aligned = "__syncwarp();"  # behind what one thread or each by itself did, before what a warp does together
    launched = meet if ctas > 1 else aligned  # an allocation by a pair waits for a peer that must be there
    cluster = f"__cluster_dims__({ctas}, 1, 1) " if ctas > 1 else ""
    return f"""typedef unsigned uint32_t;
extern "C" __global__ void {cluster}__launch_bounds__({THREADS}) k(unsigned* tensor_out, unsigned* registers_out,
    const unsigned* tensor_in, const unsigned* shared_in, const unsigned* registers_in, unsigned words,
    unsigned columns, unsigned* told) {{
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned thread = threadIdx.x, warp = thread / 32, rank = blockIdx.x % {ctas};
  const unsigned window = (unsigned)__cvta_generic_to_shared(shared), first = (window & 0x3FFFF) >> 4;
  const unsigned slot = window + 4 * words, barrier = slot + 8;
  for (unsigned i = thread; i < words; i += {THREADS}) ((unsigned*)shared)[i] = shared_in[blockIdx.x * words + i];
  {launched}
  if (warp == 0) {{
    asm volatile("tcgen05.alloc.{group}.sync.aligned.shared::cta.b32 [%0], 512;" :: "r"(slot) : "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.{group}.sync.aligned;");
  }}
  if (thread == 0) {{
    told[0] = window;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }}
  {aligned}
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  {before}
  {meet}
  {after}
  const unsigned tensor = *(volatile unsigned*)(shared + 4 * words), mine = tensor + (warp * 32 << 16);
  const unsigned held = (blockIdx.x * {LANES} + thread) * columns;
  for (unsigned c = 0; c < columns; ++c)
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {{%1}};" :: "r"(mine + c), "r"(tensor_in[held + c]));
  asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
  {before}
  {meet}
  {after}
  {{
{operation.code}
  }}
  {aligned}
  {before}
  {meet}
  {after}
  for (unsigned c = 0; c < columns; ++c) {{
    unsigned value;
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%0}}, [%1];" : "=r"(value) : "r"(mine + c));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    tensor_out[held + c] = value;
  }}
  {before}
  {meet}
  if (warp == 0) asm volatile("tcgen05.dealloc.{group}.sync.aligned.b32 %0, 512;" :: "r"(tensor));
}}
"""


@dataclass(frozen=True, slots=True)
class Job:
    """Runs of one operation. tensor: [runs, ctas, 128, columns]; shared: [runs, ctas, words]; registers: [runs, ctas,
    128, count] for a store. All are 32-bit words; operations of the runs differ in nothing but their data.
    """

    operation: Operation
    tensor: Array
    shared: Array
    registers: Array | None = None

    @property
    def given(self) -> int:
        """Registers a thread that come back."""
        one = self.operation
        return one.access.registers if isinstance(one, Move) and one.access.verb == "ld" else 0


class Tensor(Protocol):
    """A device with tensor memory, or its simulation."""

    def tensor(self, job: Job) -> tuple[Array, Array]:
        """(tensor memory after it [runs, ctas, 128, columns], registers [runs, ctas, 128, count])."""
        ...


@dataclass(frozen=True, slots=True)
class OnCuda:
    """Jobs on a CUDA device."""

    device: Cuda

    def tensor(self, job: Job) -> tuple[Array, Array]:
        device, cupy = self.device, self.device.cupy
        source = kernel(job.operation)
        compiled = device._kernel(source)
        runs, ctas, _, columns = job.tensor.shape
        words = job.shared.shape[2]
        room = 4 * words + EXTRA
        if room > DEFAULT_SHARED:
            device._allow(compiled, room)
        out = cupy.zeros(job.tensor.shape, np.uint32)
        registers = cupy.zeros((runs, ctas, THREADS, max(job.given, 1)), np.uint32)
        taken = job.registers if job.registers is not None else np.zeros(1, np.uint32)
        told = cupy.zeros(2, np.uint32)
        arrays = [cupy.asarray(np.ascontiguousarray(one, np.uint32)) for one in (job.tensor, job.shared, taken)]
        sizes = (np.uint32(words), np.uint32(columns), told)
        compiled((runs * ctas,), (THREADS,), (out, registers, *arrays, *sizes), shared_mem=room)
        cupy.cuda.runtime.deviceSynchronize()
        window, hung = device._fetch(told).tolist()
        if hung or window % 1024:
            why = "did not complete" if hung else f"began at byte {window} of shared memory"
            raise RuntimeError(f"An operation on tensor memory {why}:\n{source}")
        return device._fetch(out), device._fetch(registers)


def unsupported(target: str) -> str:
    """Why a target has no tensor memory, "" where it has."""
    if target in TARGETS:
        return ""
    return f"tcgen05 needs {', '.join(TARGETS[:-1])} or {TARGETS[-1]}; this device is {target}."
