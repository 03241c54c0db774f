"""What the instructions of PTX and SASS that are no matrix instructions do: one row for each opcode prefix.

Source: PTX ISA 9.1, 9.7. The row with the longest prefix of an opcode describes it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class OpcodeUse(NamedTuple):
    """The first words of an opcode, what the instruction does, and the page of the guide about it, or ""."""

    opcode: str
    does: str
    page: str = ""


_BARRIERS = "barriers-and-pipelines"
_TENSOR_MEMORY = "tensor-memory"
USES = (
    OpcodeUse("tcgen05.mma", "multiplies matrices in shared and tensor memory; one thread issues it.", _TENSOR_MEMORY),
    OpcodeUse(
        "tcgen05.ld",
        "copies tensor memory to registers; each warp can access 32 of the 128 lanes.",
        _TENSOR_MEMORY,
    ),
    OpcodeUse(
        "tcgen05.st",
        "copies registers to tensor memory; each warp can access 32 of the 128 lanes.",
        _TENSOR_MEMORY,
    ),
    OpcodeUse("tcgen05.cp", "copies shared memory to tensor memory.", _TENSOR_MEMORY),
    OpcodeUse("tcgen05.shift", "moves 32-byte elements of tensor memory down by one row.", _TENSOR_MEMORY),
    OpcodeUse("tcgen05.alloc", "allocates columns of tensor memory for a CTA.", _TENSOR_MEMORY),
    OpcodeUse("tcgen05.dealloc", "frees columns of tensor memory.", _TENSOR_MEMORY),
    OpcodeUse("tcgen05.relinquish_alloc_permit", "gives up the CTA's right to allocate tensor memory.", _TENSOR_MEMORY),
    OpcodeUse(
        "tcgen05.commit",
        "makes an mbarrier track the thread's earlier asynchronous tcgen05 operations.",
        _TENSOR_MEMORY,
    ),
    OpcodeUse("tcgen05.wait", "waits for all earlier tcgen05.ld or tcgen05.st of the thread.", _TENSOR_MEMORY),
    OpcodeUse("tcgen05.wait::ld", "waits for all earlier tcgen05.ld of the thread.", _TENSOR_MEMORY),
    OpcodeUse("tcgen05.wait::st", "waits for all earlier tcgen05.st of the thread.", _TENSOR_MEMORY),
    OpcodeUse(
        "tcgen05.fence", "orders tcgen05 operations before or after a synchronization of threads.", _TENSOR_MEMORY
    ),
    OpcodeUse("wgmma.fence", "orders accesses to registers before a wgmma that uses them.", "wgmma.fence"),
    OpcodeUse(
        "wgmma.commit_group", "commits the wgmmas that are not yet in a group to a new group.", "wgmma.commit_group"
    ),
    OpcodeUse("wgmma.wait_group", "waits until at most N of the latest wgmma groups are pending.", "wgmma.wait_group"),
    OpcodeUse("cp.async", "copies 4, 8 or 16 bytes from global to shared memory, for each thread."),
    OpcodeUse("cp.async.ca", "copies 4, 8 or 16 bytes from global to shared memory, for each thread."),
    OpcodeUse("cp.async.cg", "copies 16 bytes from global to shared memory, for each thread, past the L1 cache."),
    OpcodeUse("cp.async.commit_group", "commits the thread's cp.async that are not yet in a group to a new group."),
    OpcodeUse("cp.async.wait_group", "waits until at most N of the thread's latest cp.async groups are pending."),
    OpcodeUse("cp.async.wait_all", "waits until all earlier cp.async of the thread are complete."),
    OpcodeUse(
        "cp.async.mbarrier.arrive",
        "makes an mbarrier track the thread's earlier cp.async: it arrives once they are complete.",
        _BARRIERS,
    ),
    OpcodeUse(
        "cp.async.bulk",
        "copies consecutive bytes between global and shared memory, or to the shared memory of another CTA of the"
        " cluster, without a tensor map.",
        _BARRIERS,
    ),
    OpcodeUse("cp.async.bulk.commit_group", "commits the thread's bulk copies that are not yet in a group to a group."),
    OpcodeUse(
        "cp.async.bulk.wait_group",
        "waits until at most N of the thread's latest groups of bulk copies are pending; with .read, until the"
        " others have read their source.",
    ),
    OpcodeUse("cp.async.bulk.tensor", "copies a box of a tensor map between global and shared memory.", _BARRIERS),
    OpcodeUse("cp.async.bulk.prefetch", "prefetches consecutive bytes of global memory into the L2 cache."),
    OpcodeUse("cp.async.bulk.prefetch.tensor", "prefetches a box of a tensor map into the L2 cache."),
    OpcodeUse("cp.reduce.async.bulk.tensor", "combines a box in shared memory with that of a tensor map."),
    OpcodeUse("cp.reduce.async.bulk", "combines consecutive bytes of shared memory with those of its destination."),
    OpcodeUse("mbarrier.init", "initializes an mbarrier with the number of arrivals that end a phase.", _BARRIERS),
    OpcodeUse("mbarrier.inval", "invalidates an mbarrier, so that its 8 bytes can be used otherwise.", _BARRIERS),
    OpcodeUse("mbarrier.expect_tx", "adds to the bytes that the current phase waits for.", _BARRIERS),
    OpcodeUse("mbarrier.complete_tx", "subtracts from the bytes that the current phase waits for.", _BARRIERS),
    OpcodeUse("mbarrier.arrive", "arrives on an mbarrier: one arrival fewer is pending.", _BARRIERS),
    OpcodeUse(
        "mbarrier.arrive.expect_tx", "adds to the bytes that the current phase waits for, then arrives.", _BARRIERS
    ),
    OpcodeUse("mbarrier.arrive_drop", "arrives on an mbarrier, and leaves it for all later phases.", _BARRIERS),
    OpcodeUse("mbarrier.test_wait", "tests whether a phase of an mbarrier is complete.", _BARRIERS),
    OpcodeUse(
        "mbarrier.try_wait", "tests whether a phase of an mbarrier is complete, and may suspend the thread.", _BARRIERS
    ),
    OpcodeUse("mbarrier.pending_count", "returns the pending arrivals of an mbarrier's state.", _BARRIERS),
    OpcodeUse("fence", "orders accesses to memory of the thread, as seen by the threads of a scope."),
    OpcodeUse(
        "fence.mbarrier_init", "makes mbarrier.init visible to the other CTAs of the cluster and to TMA.", _BARRIERS
    ),
    OpcodeUse("fence.proxy.alias", "orders accesses to one place through different virtual addresses."),
    OpcodeUse(
        "fence.proxy.async",
        "orders accesses to memory through the generic proxy and the async proxy.",
        "fence.proxy.async",
    ),
    OpcodeUse(
        "fence.proxy.async::generic",
        "orders, in one direction, accesses through the async proxy with those through the generic proxy, for"
        " threads of a cluster that synchronize by an mbarrier.",
    ),
    OpcodeUse(
        "fence.proxy.tensormap",
        "makes a tensor map that was written in memory usable by TMA: its writes are ordered before its use.",
    ),
    OpcodeUse("tensormap.replace", "changes one field of a tensor map in memory."),
    OpcodeUse(
        "tensormap.cp_fenceproxy", "copies a tensor map from shared to global memory, and fences its use by TMA."
    ),
    OpcodeUse("barrier.cluster.arrive", "arrives at the barrier of the cluster without waiting."),
    OpcodeUse("barrier.cluster.wait", "waits for all threads of the cluster to arrive at its barrier."),
    OpcodeUse("barrier", "is a barrier of the threads of a CTA, or of some of its warps."),
    OpcodeUse("bar", "is a barrier of the threads of a CTA, or of some of its warps."),
    OpcodeUse("bar.arrive", "arrives at a barrier without waiting for the other threads."),
    OpcodeUse("bar.warp.sync", "is a barrier of the threads of a warp."),
    OpcodeUse("membar", "orders accesses to memory of the thread, as seen by the threads of a scope."),
    OpcodeUse("griddepcontrol.wait", "waits until the grids that this one depends on are complete."),
    OpcodeUse("griddepcontrol.launch_dependents", "lets the grids that depend on this one start."),
    OpcodeUse("setmaxnreg.inc", "raises the registers per thread of a warpgroup, once the CTA's pool has enough."),
    OpcodeUse("setmaxnreg.dec", "lowers the registers per thread of a warpgroup, and returns the others to the pool."),
    OpcodeUse("elect.sync", "chooses one lane of those in its mask.", "elect-one"),
    OpcodeUse("clusterlaunchcontrol.try_cancel", "asks to cancel the launch of a cluster, to take over its work."),
    OpcodeUse("clusterlaunchcontrol.query_cancel", "reads whether try_cancel succeeded, and which CTA was canceled."),
    OpcodeUse("redux.sync", "reduces a value of each lane of a mask to one value that all of them receive."),
    OpcodeUse("shfl.sync", "reads a register of another lane of the warp."),
    OpcodeUse("vote.sync", "combines a predicate of each lane of a mask."),
    OpcodeUse("match", "compares a value with those of the other lanes."),
    OpcodeUse("mapa", "maps an address of shared memory to the same place of another CTA of the cluster.", "multicast"),
    OpcodeUse("getctarank", "returns the CTA of the cluster to which an address of shared memory belongs."),
    OpcodeUse("cvta", "converts an address between a state space and generic addressing."),
    OpcodeUse("isspacep", "tests whether a generic address is in a state space."),
    OpcodeUse("multimem.ld_reduce", "loads from all places of a multimem address, and reduces what it loads."),
    OpcodeUse("multimem.st", "stores to all places of a multimem address."),
    OpcodeUse("multimem.red", "reduces a value into all places of a multimem address."),
    OpcodeUse("multimem.cp", "copies bytes to all places of a multimem address."),
    OpcodeUse(
        "st.async", "stores to the shared memory of another CTA, and completes bytes on its mbarrier.", _BARRIERS
    ),
    OpcodeUse(
        "red.async", "reduces into the shared memory of another CTA, and completes bytes on its mbarrier.", _BARRIERS
    ),
    OpcodeUse("st.async.release", "stores to global memory, with release semantics, and does not wait for it."),
    OpcodeUse("red.async.release", "reduces into global memory, with release semantics, and does not wait for it."),
    OpcodeUse("st.bulk", "sets consecutive bytes of shared memory to zero."),
    OpcodeUse("createpolicy", "creates a policy for the L2 cache that loads, stores and copies take as an operand."),
    OpcodeUse("applypriority", "changes the eviction priority of a line of the L2 cache."),
    OpcodeUse("discard", "discards a line of the L2 cache without writing it back."),
    OpcodeUse("prefetch", "prefetches a line of memory into a cache."),
    OpcodeUse("ld", "loads from memory into registers of the thread."),
    OpcodeUse("st", "stores registers of the thread to memory."),
    OpcodeUse("red", "reduces a value of the thread into memory, and returns nothing."),
    OpcodeUse("atom", "reads, changes and writes memory as one operation."),
    OpcodeUse("cvt", "converts values from one type to another."),
    OpcodeUse("prmt", "picks four bytes out of two registers."),
    OpcodeUse("lop3", "computes any logic function of three registers, bit by bit."),
    OpcodeUse("mov", "moves a value, an address or a special register into a register, or packs registers."),
)
SASS = {  # prefix of a mnemonic → the opcode that ptxas 13.0 compiles to it for sm_90a
    "LDGSTS": "cp.async",
    "LDGDEPBAR": "cp.async.commit_group",
    "UBLKCP": "cp.async.bulk",
    "UTMACMDFLUSH": "cp.async.bulk.commit_group",
    "SYNCS.EXCH": "mbarrier.init",
    "SYNCS.PHASECHK": "mbarrier.test_wait",
    "SYNCS.PHASECHK.TRANS64.TRYWAIT": "mbarrier.try_wait",
    "FENCE.VIEW.ASYNC": "fence.proxy.async",
    "WARPGROUP.ARRIVE": "wgmma.fence",
    "WARPGROUP.DEPBAR": "wgmma.wait_group",
    "USETMAXREG.DEALLOC": "setmaxnreg.dec",
    "USETMAXREG.TRY_ALLOC": "setmaxnreg.inc",
    "UCGABAR_ARV": "barrier.cluster.arrive",
    "UCGABAR_WAIT": "barrier.cluster.wait",
    "BAR.SYNC": "bar",
    "BAR.ARV": "bar.arrive",
    "ACQBULK": "griddepcontrol.wait",
    "PREEXIT": "griddepcontrol.launch_dependents",
    "ELECT": "elect.sync",
    "REDUX": "redux.sync",
    "SHFL": "shfl.sync",
    "STAS": "st.async",
}
FUNCTIONS = {  # of CUDA C++ and CUTLASS 4.7 → the opcode in them
    "__pipeline_memcpy_async": "cp.async",
    "__pipeline_commit": "cp.async.commit_group",
    "__pipeline_wait_prior": "cp.async.wait_group",
    "cp_async_fence": "cp.async.commit_group",
    "cp_async_wait": "cp.async.wait_group",
    "tma_store_fence": "fence.proxy.async",
    "tma_store_arrive": "cp.async.bulk.commit_group",
    "tma_store_wait": "cp.async.bulk.wait_group",
    "initialize_barrier": "mbarrier.init",
    "set_barrier_transaction_bytes": "mbarrier.arrive.expect_tx",
    "arrive_barrier": "mbarrier.arrive",
    "wait_barrier": "mbarrier.try_wait",
    "elect_one_sync": "elect.sync",
    "cluster_arrive": "barrier.cluster.arrive",
    "cluster_arrive_relaxed": "barrier.cluster.arrive",
    "cluster_wait": "barrier.cluster.wait",
    "warpgroup_reg_alloc": "setmaxnreg.inc",
    "warpgroup_reg_dealloc": "setmaxnreg.dec",
    "launch_dependent_grids": "griddepcontrol.launch_dependents",
    "wait_on_dependent_grids": "griddepcontrol.wait",
    "__syncthreads": "bar",
    "__syncwarp": "bar.warp.sync",
    "__shfl_sync": "shfl.sync",
    "__shfl_xor_sync": "shfl.sync",
    "__byte_perm": "prmt",
    "__cvta_generic_to_shared": "cvta",
}
SASS_USES = (  # mnemonics that several opcodes of PTX are compiled to
    OpcodeUse("DEPBAR", "waits for scoreboards; cp.async.wait_group and cp.async.bulk.wait_group become it."),
    OpcodeUse("SYNCS.ARRIVE", "arrives at an mbarrier, expects bytes on it, or does both.", _BARRIERS),
)
_WORD_END = re.compile(r"[._:]+")
_MOST_WORDS = 6  # of a row's opcode


def _split_words(opcode: str) -> tuple[str, ...]:
    return tuple(_WORD_END.split(opcode))


_BY_WORDS = {_split_words(use.opcode): use for use in (*USES, *SASS_USES)}
_BY_WORDS |= {
    _split_words(mnemonic): OpcodeUse(mnemonic, f"is {opcode}: it {use.does}", use.page)
    for mnemonic, opcode in (SASS | FUNCTIONS).items()
    if (use := _BY_WORDS[_split_words(opcode)])
}


def find_use(opcode: str) -> OpcodeUse | None:
    """Return the row of an opcode of PTX or SASS, or of its name in LLVM, MLIR or libcu++; None for others.

    >>> find_use("cp.async.bulk.wait_group.read").opcode, find_use("cp_async_bulk_wait_group").opcode, find_use("add")
    ('cp.async.bulk.wait_group', 'cp.async.bulk.wait_group', None)
    """
    words = _split_words(opcode)[:_MOST_WORDS]
    prefixes = (words[:count] for count in range(len(words), 0, -1))
    return next((_BY_WORDS[prefix] for prefix in prefixes if prefix in _BY_WORDS), None)
