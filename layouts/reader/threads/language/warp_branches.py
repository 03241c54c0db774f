"""Run two branches of different threads that meet at the same barriers, one part after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lanescope.reader.code.syntax import tree, tree_statements as statements
from lanescope.reader.threads.barriers.barrier_calls import SYNC
from lanescope.reader.threads.language import objects
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.memory.storage import Mask

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

Parts = list[list[tree.Statement]]


def run_meeting_arms(
    run: KernelRunner, statement: statements.If, scope: Scope, yes: Mask, no: Mask
) -> tuple[Mask, Mask] | None:
    """Run both branches of a condition up to their next barrier, then this one in the threads of both, and so on.

    Return the threads that leave each branch; None, without an effect, if they have no barriers or not as many.
    """
    arms = [_split_at_barriers(arm) for arm in (statement.yes, statement.no)]
    if len(arms[0]) < 2 or len(arms[0]) != len(arms[1]):
        return None
    masks, scopes = [yes, no], (Scope(scope), Scope(scope))
    run.meeting += 1
    try:
        for pair in zip(*arms, strict=True):
            if barrier := pair[0][:1] if _is_barrier(pair[0][:1]) else []:
                run.run(barrier[0], scope, run.join_masks(*masks))
            for n, part in enumerate(pair):
                for one in part[len(barrier) :]:
                    masks[n] = run.run(one, scopes[n], masks[n])
    finally:
        run.meeting -= 1
    for inner, entered in zip(scopes, (yes, no), strict=True):
        objects.end_scope(run, inner, entered)
    return masks[0], masks[1]


def _split_at_barriers(arm: tree.Statement | None) -> Parts:
    """Return the statements of a branch in parts, of which all but the first begin with a barrier."""
    parts: Parts = [[]]
    for statement in arm.body if isinstance(arm, statements.Block) else ():
        if _is_barrier([statement]):
            parts.append([])
        parts[-1].append(statement)
    return parts


def _is_barrier(part: Sequence[tree.Statement]) -> bool:
    call = part[0].value if part and isinstance(part[0], statements.ExpressionStatement) else None
    function = call.function if isinstance(call, tree.Call) else None
    return isinstance(function, tree.Name) and len(function.path) == 1 and bool(SYNC.fullmatch(function.path[0][0]))
