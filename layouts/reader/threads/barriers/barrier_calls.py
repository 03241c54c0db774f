"""Calls of functions without a body in a run that follows mbarriers: barriers of threads, and what has no effect."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from lanescope.reader.code.running.work_words import ROUNDED_UP, TUPLE_MAKERS
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, TraceLostError
from lanescope.reader.threads.barriers.clusters import EVERYONE

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

SYNC = re.compile(r"__syncthreads(?:_(?:or|and|count))?")
_MEET = re.compile(r"__syncwarp|__(?:shfl|ballot|any|all|match|reduce|activemask)\w*")
_HARMLESS = re.compile(
    r"__(?!pipeline|cluster|grid|nv_cp)(?!\w*(?:bar(?!rett)|sync(?!warp)))\w+|\w*(?:fence|prefetch)\w*|printf|assert"
    r"|cudaTriggerProgrammaticLaunchCompletion|cudaGridDependencySynchronize|(?:to_|make_|as_)?u?int\w*|float\w*|half"
    r"|make_\w+|\w+_selector|min|max|mem(?:set|cpy)|sizeof|data|begin|static_cast"
    r"|atomic[A-Z]\w*|exp2?f?|log2?f?|fmaxf?|fminf?|sqrtf?|rsqrtf?|tanhf?|fmaf?"
    r"|print\w*|CUTE_\w+|congruent|compatible|elem_(?:less|leq|gtr|geq)|evenly_divides|is_static|cast_smem_ptr_to_uint"
    r"|get_(?:thread_)?slice|partition_\w+|retile\w*|cooperative_copy|layout|alignment_for_swizzle"
    r"|get_tma_(?:tensor|descriptor)|block_(?:rank|id)_in_cluster|cluster_shape|allocate|free|release_allocation_lock"
    r"|warpgroup_(?:arrive|commit_batch|wait|fence_operand|reg_\w+)"
    rf"|{ROUNDED_UP}|{TUPLE_MAKERS}|get"
    r"|clock\w*|LANESCOPE_\w+|move|forward|cp_async_bulk_(?:commit|wait)_group\w*|cp_async_bulk\w*shared_to_global\w*"
)
# functions without a body that may access tensor memory, or wait for accesses of it
_TENSOR = re.compile(r"tmem|tcgen05|umma|utccp", re.I)
_FENCE = re.compile(
    r"__threadfence\w*|\w*fence_(?:barrier_init|proxy\w*|view_async_shared|mbarrier\w*|operand)|tma_\w*fence\w*"
)
_ORDERS = re.compile(r"sync|bar|arrive|wait|commit|release|acquire|signal|exit|pipeline|copy|load|store|issue", re.I)


def _is_computation(node: tree.Call) -> bool:
    """Return whether a call is of a function of CUTLASS, by its full name, that does not synchronize threads."""
    path = node.function.path if isinstance(node.function, tree.Name) else ()
    return len(path) > 1 and path[0][0] in ("cute", "cutlass") and not _ORDERS.search(path[-1][0])


def _may_access_tensor_memory(name: str, node: tree.Call) -> bool:
    fence = "fence" in name and not _FENCE.fullmatch(name)
    return fence or _is_computation(node) or bool(_TENSOR.search(name))


def follow_barrier_call(run: KernelRunner, name: str, node: tree.Call) -> None:
    """Follow a call of a function without a body."""
    trace = run.barriers
    if trace is None:
        return
    if _may_access_tensor_memory(name, node):
        trace.tensor.lost = True
    if name.startswith("atomic"):
        trace.tensor.forget_words(None, 0)
    if SYNC.fullmatch(name):
        nothing = np.zeros(run.threads, np.int64)
        at = run.find_own_place(node.span)
        trace.add(run, BarrierEvent("block", run.mask.copy(), nothing, nothing - 1, at, at))
    elif name == "lanescope_cluster_sync":
        place = np.full(run.threads, 0 if run.cluster is None else EVERYONE, np.int64)
        for kind in ("block",) if run.cluster is None else ("pass", "join"):
            at = run.find_own_place(node.span)
            trace.add(run, BarrierEvent(kind, run.mask.copy(), place, place * 0 - 1, at, at))
    elif _MEET.fullmatch(name):
        trace.meet_warps(run)
    elif not _HARMLESS.fullmatch(name) and not _is_computation(node):
        raise TraceLostError
    elif "fence" in name:
        trace.note_fence()
    elif "_group" in name:
        trace.note_bulk_group(run, name, run.find_own_place(node.span))
