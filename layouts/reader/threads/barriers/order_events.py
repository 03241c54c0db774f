"""Barriers, groups and waits in device code, as PTX and as calls of CUDA's and CUTLASS's functions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lanescope.reader.code.running.work_words import COMPUTING
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_calls import SYNC, follow_barrier_call
from lanescope.reader.threads.barriers.barrier_trace import find_group_step
from lanescope.reader.threads.instructions.fragment_types import FragmentShape
from lanescope.reader.threads.language.names import evaluate_template
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.places import find_place
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.storage import Pointer, Span, spread_coefficient, spread_number

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_MEETING = re.compile(r"sync|wait|barrier", re.I)
_BARRIER = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?:sync|red)\b")
_OPEN = re.compile(r"(?:bar|barrier|mbarrier|fence(?!\.proxy)|membar|atom|red|griddepcontrol|ld\.acquire|cp\.async)\b")
_COMMIT = re.compile(r"__pipeline_commit|producer_commit|_{0,2}cp_async_(?:fence|commit\w*)")
_WAIT = re.compile(r"__pipeline_wait_prior|pipeline_consumer_wait_prior|_{0,2}cp_async_wait\w*")
_PIPELINE = re.compile(r"producer_\w+|consumer_release|pipeline_consumer_\w+|make_pipeline|aligned_size_t|memcpy_async")
_SHARED_PIPELINE = re.compile(  # its waits are barriers, too
    r"\bpipeline_shared_state\b|\bthread_scope_(?!thread\b)|\bcuda::barrier\b"
)
_ARRIVAL = re.compile(  # at an mbarrier, of other than the thread that expects the bytes of copies
    r"mbarrier\.arrive(?!\.expect_tx)|cp\.async\.mbarrier|tcgen05|\bcuda::(?:barrier|ptx)|Barrier\b|\barrive\w*\s*[(<]"
)
_DOUBLE_BYTES = 8
_EXCHANGE = re.compile(r"__(?:shfl|reduce|match|ballot|any|all)\w*_sync")  # between the threads of a warp alone
_NO_ORDER = re.compile(  # functions without an effect on the order
    r"__(?!pipeline|cluster|grid|nv_cp)(?!\w*(?:bar(?!rett)|sync(?!warp)))\w+|(?:load|store)_matrix_sync|mma_sync"
    r"|__pipeline_memcpy_async|fill_fragment|data|x|y|begin|end|at|empty|clear|thread_rank|thread_index|group_index|num_threads|shfl\w*"
    rf"|get|{COMPUTING}"
)


def follow_instruction(run: KernelRunner, opcode: str, operands: list[Any], span: Span, guarded: bool) -> bool:
    """Follow a barrier, a commit or a wait of PTX; return whether the instruction is one. operands: their values."""
    order = run.order
    _end_branches(run, _BARRIER.match(opcode))
    if order is None:
        return False
    first = operands[0].known if operands and isinstance(operands[0], ThreadNumber) else None
    if opcode.startswith("cp.async.commit_group"):
        order.commit_group(run.mask, guarded or run.assumed > 0)
    elif opcode.startswith("cp.async.wait_all"):
        order.wait_groups(run.mask, None, run.get_call(span))
    elif opcode.startswith("cp.async.wait_group"):
        order.wait_groups(run.mask, first, span)
    elif kind := find_group_step(opcode):
        order.step_groups(run.mask, kind, first)
    elif _BARRIER.match(opcode):
        whole = run.mask if len(operands) == 1 and first == 0 and not guarded else None
        order.pass_barrier(run.get_call(span), max(len(run.calls) - 1, 0), whole)
    else:
        return _follow_other(run, opcode)
    return True


def _end_branches(run: KernelRunner, meeting: re.Match[str] | None) -> None:
    """Forget what branches have stored if all threads meet."""
    if meeting and run.shared.unmet and run.runs_everyone():
        run.shared.unmet.clear()


def _follow_other(run: KernelRunner, opcode: str) -> bool:
    """Follow an mbarrier, or an instruction with an unknown effect on the order; return whether it is one."""
    assert run.order is not None
    if opcode.startswith("mbarrier.") and _ARRIVAL.search(run.text) is None:
        run.order.show_stores(run.mask & opcode.startswith("mbarrier.arrive"))
        return True
    if _OPEN.match(opcode) and not opcode.startswith(("cp.async.c", "cp.async.bulk")):
        run.order.forget_stores()
        return True
    return False


def follow_call(run: KernelRunner, name: str, node: tree.Call, scope: Scope) -> None:
    """Follow a call of a function without a body."""
    order = run.order
    follow_barrier_call(run, name, node)
    _end_branches(run, _MEETING.search(name))
    if order is None:
        return
    if _PIPELINE.fullmatch(name) and not has_own_pipeline(run.text):
        order.forget_stores()
    elif SYNC.fullmatch(name):
        order.pass_barrier(node.span, len(run.calls), run.mask)
    elif _COMMIT.fullmatch(name):
        order.commit_group(run.mask, run.assumed > 0)
    elif _WAIT.fullmatch(name):
        order.wait_groups(run.mask, _find_count(run, node, scope), node.span)
    elif name == "__syncwarp" or _EXCHANGE.fullmatch(name):
        order.meet_warp()
    elif name == "load_matrix_sync":
        _read_fragment(run, node, scope)
    elif not _NO_ORDER.fullmatch(name) and not _PIPELINE.fullmatch(name):
        order.forget_stores()


@lru_cache(maxsize=8)
def has_own_pipeline(text: str) -> bool:
    """Return whether every cuda::pipeline of a text is that of one thread, whose commits and waits are those of groups
    of cp.async.
    """
    return "make_pipeline" in text and _SHARED_PIPELINE.search(text) is None


def note_group_copy(run: KernelRunner, node: tree.Call, scope: Scope) -> None:
    """Note why a copy that a group makes together is not followed (libcu++, cuda::memcpy_async, cooperative)."""
    why = "a memcpy_async of a group is not followed"
    group = re.escape(run.text[slice(*node.arguments[0].span)])
    of_block = re.search(rf"(?<!\w){group}\s*=\s*(?:\w+::)*this_thread_block\s*\(", run.text)
    for argument in node.arguments[1:3] if of_block else ():
        place = run.evaluate(argument, scope)
        numbers = spread_number(place.offset, run.threads) if isinstance(place, Pointer) else None
        if numbers is not None and len(set(numbers[run.mask].tolist())) > 1:
            why = "a memcpy_async of a group must have the same arguments in all its threads, and they differ"
    run.shared.incomplete = run.shared.incomplete or why


def _find_count(run: KernelRunner, node: tree.Call, scope: Scope) -> int | None:
    """Return the groups that a call leaves pending; None, which waits for all, if that is not known."""
    function = node.function
    given = function.path[-1][1] if isinstance(function, tree.Name) else None
    value = evaluate_template(run, given[0], scope) if given else None
    if node.arguments and not given:
        value = run.evaluate(node.arguments[0], scope)
    return value.known if isinstance(value, ThreadNumber) else None


def _read_fragment(run: KernelRunner, node: tree.Call, scope: Scope) -> None:
    """Follow wmma::load_matrix_sync: its fragment has at least 8 rows of 8 elements, in either order."""
    if run.order is None or len(node.arguments) < 3:
        return
    run.order.meet_warp()  # it may read more
    pointer, pitch = (run.evaluate(argument, scope) for argument in node.arguments[1:3])
    rows = pitch.known if isinstance(pitch, ThreadNumber) else None
    if not isinstance(pointer, Pointer) or pointer.space != "shared" or pointer.offset is None or rows is None:
        return
    if pointer.offset.const is None or not pointer.type.size or _is_packed(run, node.arguments[0], pointer, scope):
        return
    first = spread_coefficient(pointer.offset.const, run.threads)
    for row in range(8):
        run.load_shared(first + row * rows * pointer.type.size, 8 * pointer.type.size, run.mask, node.span)


def _is_packed(run: KernelRunner, node: tree.Expression, pointer: Pointer, scope: Scope) -> bool:
    """Return whether a fragment has elements of 4 bits or 1, which its pitch counts and its pointer does not."""
    place = find_place(run, node, scope)
    shape = place.type.target if isinstance(place, Pointer) and isinstance(place.type, SizedType) else None
    sizes = (shape.rows, shape.columns) if isinstance(shape, FragmentShape) else ()
    return sizes == (8, 8) and pointer.type.size != _DOUBLE_BYTES
