"""Return from functions of device code: values, and references, whose places are wanted without their values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanescope.reader.code.running.write_summaries import walk_nodes
from lanescope.reader.code.syntax import tree, tree_statements as statements
from lanescope.reader.threads.language import aggregates
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.memory.storage import Mask, Pointer

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner


def run_return(run: KernelRunner, statement: statements.Return, scope: Scope, mask: Mask) -> Mask:
    """Note what a function returns to the threads of a mask, which leave it."""
    frame = run.frames[-1]
    given = statement.value
    if given is not None:
        if isinstance(given, tree.ItemList):
            value = aggregates.evaluate_list(run, given, scope, frame.returns)
        elif run.wanted == run.get_call((0, 0)) and _refer_to(run, given, scope):
            value = None
        else:
            value = run.evaluate(given, scope)
        if frame.has_result:
            run.referred = None, (0, 0)  # threads return different places
        frame.result = aggregates.merge_returned(mask, value, frame.result) if frame.has_result else value
    frame.has_result = True
    if run.order is not None and len(run.frames) == 1:
        run.order.ended = run.order.ended | mask
    return run.nobody


def _refer_to(run: KernelRunner, given: tree.Expression, scope: Scope) -> bool:
    """Note the place that a function returns a reference to, without its value, which is not loaded; return whether
    that is known.
    """
    returns, call = run.frames[-1].returns, run.get_call((0, 0))
    if returns is None or not returns.reference:
        return False
    called = isinstance(given, tree.Call)  # once: what it does is done then
    found = run.find_place(given, scope) if called or not _calls(given) else None
    place = found if isinstance(found, Pointer) else None
    run.referred = place, call
    return called or place is not None


def _calls(given: tree.Expression) -> bool:
    """Return whether an expression calls or assigns, so that it cannot be evaluated again."""
    return any(isinstance(node, tree.Call | tree.Assignment) for node in walk_nodes(given))
