"""Execute statements of device code for all threads that reach them; each returns the threads that continue.

Loops with an open end run a few iterations; open conditions are assumed true, as in the inner tiles of a grid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.cxx.integers import INT
from lanescope.reader.code.syntax import tree, tree_statements as statements
from lanescope.reader.threads.instructions.assembly import run_assembly
from lanescope.reader.threads.language import aggregates, declaring, objects
from lanescope.reader.threads.language.arguments import hold_value
from lanescope.reader.threads.language.folding import fold_iterations
from lanescope.reader.threads.language.jumps import can_leave, find_limited, is_endless, is_left_by_jumps
from lanescope.reader.threads.language.numbers import get_number
from lanescope.reader.threads.language.places import get_items
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.returning import run_return
from lanescope.reader.threads.language.warp_branches import run_meeting_arms
from lanescope.reader.threads.memory.comparisons import list_end_names
from lanescope.reader.threads.memory.storage import Mask, Pointer, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

OPEN_TURNS = 2  # of a loop whose end is not known
_RING_TURNS = 5  # of the outermost one that multiplies, if copies are waited for by groups: stages are used again
_WARM_TURNS = 8  # most of a loop that only copies before it multiplies
_MULTIPLIES = re.compile(r"mma|multipl|compute|consume", re.I)
_WAITS = re.compile(r"cp[._]async[._]wait(?!_all)|__pipeline_wait_prior|consumer_wait_prior")
_LONG = 16  # turns of a loop that may be left before its end if the kernel is too long
MOST_TURNS = 4096


def _run_block(run: KernelRunner, block: statements.Block, scope: Scope, mask: Mask) -> Mask:
    inner, entered = Scope(scope) if block.scoped else scope, mask
    for part in block.body:
        mask = run.run(part, inner, mask)
    if block.scoped:
        objects.end_scope(run, inner, entered)
    return mask


def _run_deferred(run: KernelRunner, body: tree.DeferredBody, scope: Scope, mask: Mask) -> Mask:
    return run.run(body.make(), scope, mask)


def _run_expression(run: KernelRunner, statement: statements.ExpressionStatement, scope: Scope, mask: Mask) -> Mask:
    run.evaluate(statement.value, scope)
    return mask


def _run_declaration(run: KernelRunner, declaration: tree.Declaration, scope: Scope, mask: Mask) -> Mask:
    declaring.declare_variable(run, declaration, scope)
    return mask


def _run_unpack(run: KernelRunner, unpack: tree.UnpackDeclaration, scope: Scope, mask: Mask) -> Mask:
    """Run `auto [a, b] = value`."""
    parts = aggregates.list_parts(run, unpack, scope)
    for name, part in zip(unpack.names, parts, strict=True):
        scope.names[name] = part if unpack.reference and isinstance(part, Pointer) else hold_value(part)
    return mask


def _run_definition(run: KernelRunner, statement: Any, scope: Scope, mask: Mask) -> Mask:
    declaring.define_local(run, statement, scope)
    return mask


def _run_nothing(run: KernelRunner, statement: tree.Statement, scope: Scope, mask: Mask) -> Mask:
    return mask


def _run_assembly(run: KernelRunner, statement: statements.Assembly, scope: Scope, mask: Mask) -> Mask:
    run_assembly(run, statement, scope)
    return mask


def _run_if(run: KernelRunner, statement: statements.If, scope: Scope, mask: Mask) -> Mask:
    scope = Scope(scope)
    if statement.start is not None:
        run.run(statement.start, scope, mask)
    met = run.decide_condition(statement.condition, scope, mask)
    if met is None and run.barriers is not None:
        met = run.barriers.follow_choice(run, statement.condition, can_leave(statement.yes))
    if met is not None:
        return _run_arms(run, statement, scope, mask, met)
    if statement.no is None and can_leave(statement.yes):
        run.bounds += 1
        if run.turns and run.turns[-1] and not can_leave(statement.yes, statements.Return | statements.Throw):
            run.assumed += 1  # all that follows: the loop may have ended before
        return mask  # a bound that the inner tiles do not meet
    if _limits_number(run, statement, scope):
        return mask
    run.assumed += 1
    outer, run.masked = run.masked, run.masked or run.differs_in_threads(statement.condition)
    before = len(run.outputs)
    mask = run.run(statement.yes, scope, mask)
    run.masked = outer
    if statement.no is not None:
        stored = len(run.outputs)
        _run_otherwise(run, statement.no, scope, mask)
        if stored > before:
            del run.outputs[stored:]  # the same elements, at an edge of D
    run.assumed -= 1
    return mask


def _limits_number(run: KernelRunner, statement: statements.If, scope: Scope) -> bool:
    """Return whether an if limits an integer, which the inner tiles do not exceed."""
    limited = find_limited(statement)
    return limited is not None and get_number(run.evaluate(limited, scope)) is not None


def _run_arms(run: KernelRunner, statement: statements.If, scope: Scope, entered: Mask, met: Mask) -> Mask:
    """Run both branches. met: the threads of those that have entered that run the first one."""
    no = run.nobody if met is entered else entered & ~met
    if run.barriers is None and np.count_nonzero(met) and np.count_nonzero(no):
        together = run_meeting_arms(run, statement, scope, met, no)
        if together is not None:
            return run.join_masks(*together)
        arms = ((statement.yes, met), (statement.no, no))
        leaving = [run.shared.run_branch(mask, partial(run.run, arm, scope, mask)) for arm, mask in arms]
        return run.join_masks(leaving[0], leaving[1])
    left = run.run(statement.yes, scope, met)
    return run.join_masks(left, run.run(statement.no, scope, no))


def _run_otherwise(run: KernelRunner, statement: tree.Statement, scope: Scope, mask: Mask) -> None:
    """Run the other branch of an unknown condition: padding with zeros is ignored, other stores make bytes unknown."""
    if _is_padding(run.text[slice(*statement.span)]):
        return
    run.run_otherwise(lambda: run.run(statement, scope, mask))


def _run_loop(run: KernelRunner, loop: statements.Loop, scope: Scope, mask: Mask) -> Mask:
    scope = Scope(scope)
    if loop.start is not None:
        run.run(loop.start, scope, mask)
    left: list[Mask] = [run.nobody, run.nobody]
    run.enter_loop(loop.span, left)
    folded = fold_iterations(run, loop, scope, mask)
    after = mask if folded else _run_turns(run, loop, scope, mask)
    if loop.condition is not None:
        place = loop.span, loop.condition.span
        run.entered[place] = folded or run.turns[-1] > 0 or run.entered.get(place, False)
    run.leave_loop()
    return run.join_masks(after, left[0])


def _run_range(run: KernelRunner, loop: statements.RangeLoop, scope: Scope, mask: Mask) -> Mask:
    """Run a loop over an array or a braced list; one over anything else may write what is not known."""
    scope = Scope(scope)
    if loop.start is not None:
        run.run(loop.start, scope, mask)
    items = _list_items(run, loop.values, scope)
    if items is None or len(loop.names) != 1:
        run.undecided = True
        run.shared.incomplete = run.shared.incomplete or "a loop over a range is not followed"
        run.forget_order()
        return mask
    left: list[Mask] = [run.nobody, run.nobody]
    run.enter_loop(loop.span, left)
    for item in items:
        left[1] = run.nobody
        declared = tree.Declaration(loop.type, loop.names[0], item, span=loop.span)
        mask = run.join_masks(run.run(statements.Block((declared, loop.body)), scope, mask), left[1])
        run.count_turn()
    run.leave_loop()
    return run.join_masks(mask, left[0])


def _list_items(run: KernelRunner, values: tree.Expression, scope: Scope) -> Sequence[tree.Expression] | None:
    """Return the items of a braced list, or of an array; None if these are not known."""
    if isinstance(values, tree.ItemList):
        return [item for _, item in values.items]
    place = run.find_place(values, scope)
    place = get_items(place) or place
    if not isinstance(place, Pointer) or not place.dims or not 0 < place.dims[0] <= MOST_TURNS:
        return None
    return [tree.Index(values, (tree.NumberLiteral(n, INT),)) for n in range(place.dims[0])]


def count_open_turns(text: str) -> int:
    """Return how many iterations of the outermost loop with products are run if its end is not known."""
    return _RING_TURNS if _WAITS.search(text) else OPEN_TURNS


def _count_warm_turns(run: KernelRunner, loop: statements.Loop) -> int:
    """Return how many iterations of a loop may only copy, if it is the outermost one and multiplies then."""
    first = not (run.open_loops or run.products or run.descriptors)
    return _WARM_TURNS if first and _MULTIPLIES.search(run.text, *loop.span) else 0


def _run_turns(run: KernelRunner, loop: statements.Loop, scope: Scope, active: Mask) -> Mask:
    """Run the iterations of a loop; return the threads that leave it by its condition, or when its end stays open."""
    after, opened, left = run.nobody, 0, run.frames[-1].loops[-1]
    watch = run.turn_counts.watch_loop(run, loop, scope)
    inner, products = bool(run.open_loops), len(run.products)
    warm = _count_warm_turns(run, loop)
    endless, settled = run.barriers is None and is_left_by_jumps(loop), False
    while True:
        warm = min(warm, opened - 1) if run.products or run.descriptors else warm
        most = warm + (OPEN_TURNS if inner or len(run.products) == products else run.open_turns)
        inside = _decide_turn(run, loop, scope, active, most, products, settled=settled)
        opened = _count_opened(run, opened, settled)
        if inside is None:
            opened += 1
            if _leave_open_loop(run, loop, opened, most):
                after = run.join_masks(after, active)
                break
            inside = active
        if inside is not active:
            after = run.join_masks(after, active & ~inside)
        if not np.count_nonzero(inside):
            break
        run.steps = run.most_steps if run.turns[-1] > MOST_TURNS else run.steps  # too long to be followed
        left[1], bounds = run.nobody, run.bounds
        active = run.join_masks(run.run(loop.body, scope, inside), left[1])
        settled = endless and run.bounds == bounds  # the body has decided on the next turn
        _run_step(run, loop, scope, active)
        watch.end_turn(inside)
        run.count_turn()
    if opened:
        run.open_loops.pop()
    return after


def _run_step(run: KernelRunner, loop: statements.Loop, scope: Scope, active: Mask) -> None:
    """Evaluate the step of a loop in the threads that go on."""
    run.mask = active
    if loop.step is not None and np.count_nonzero(active):
        run.evaluate(loop.step, scope)


def _leave_open_loop(run: KernelRunner, loop: statements.Loop, opened: int, most: int) -> bool:
    """Return whether a loop whose end is open is left now. opened: how many turns it would have had."""
    if opened == 1:
        run.open_loops.append(len(run.turns) - 1)
        run.ends[-1] = list_end_names(run, loop.condition)
    if opened > most:
        run.undecided = True
        run.forget_order()
    return opened > most


def _count_opened(run: KernelRunner, opened: int, settled: bool) -> int:
    """Return how many turns of a loop are run although its end is open: none if its body decides on it. Later turns
    count: a body that asks only in some of them would go on without end.
    """
    if not settled or not opened or run.turns[-1] > 1:
        return opened
    run.open_loops.pop()
    return 0


def _may_leave(run: KernelRunner, products: int) -> bool:
    """Return whether a loop of a long kernel may be left, as the rest is like its turns so far. products: before it."""
    return run.is_long and run.turns[-1] >= _LONG and (run.is_full or len(run.products) > products)


def _decide_turn(
    run: KernelRunner, loop: statements.Loop, scope: Scope, active: Mask, most: int, products: int, *, settled: bool
) -> Mask | None:
    """Return the threads that run the next iteration of a loop; None if its end is open. most: of an endless loop;
    products: before the loop; settled: whether the last turn has decided on this one.
    """
    if settled:
        return active
    turns, bounds = run.turns[-1], run.bounds
    inside = active if loop.late and not turns else run.decide_condition(loop.condition, scope, active)
    if run.bounds > bounds:
        inside = None  # a function that says whether there is another tile
    if run.barriers is not None:
        return run.barriers.follow_loop(run, inside)
    open_ = is_endless(loop) and (loop.condition is None or turns >= most)
    return None if open_ or (inside is active and _may_leave(run, products)) else inside


def _run_switch(run: KernelRunner, switch: statements.Switch, scope: Scope, mask: Mask) -> Mask:
    inner = Scope(scope)
    if switch.start is not None:
        run.run(switch.start, inner, mask)
    values, labels = get_number(run.evaluate(switch.value, inner)), _list_labels(run, switch, inner)
    if values is None or labels is None or (values.const is None and (not values.uniform or run.barriers is not None)):
        run.shared.incomplete = run.shared.incomplete or "a switch"
        run.forget_order()
        return mask
    if values.const is None:
        return _run_open_switch(run, switch, inner, mask)
    every = spread_coefficient(values.const, run.threads)
    after = mask & False
    for value in np.unique(every[mask]).tolist():
        first = labels.index(value) if value in labels else labels.index(None) if None in labels else len(labels)
        after = after | _run_cases(run, switch.cases[first:], inner, mask & (every == value))
    return after


def _list_labels(run: KernelRunner, switch: statements.Switch, scope: Scope) -> list[int | None] | None:
    """List the values of the labels of a switch, None for default; None if one is not known."""
    numbers = [get_number(run.evaluate(label, scope)) if label is not None else None for label, _ in switch.cases]
    labels = [number.known if number is not None else None for number in numbers]
    known = (label is None or number is not None for (label, _), number in zip(switch.cases, labels, strict=True))
    return labels if all(known) else None


def _run_open_switch(run: KernelRunner, switch: statements.Switch, scope: Scope, mask: Mask) -> Mask:
    """Run the first case of a switch on an open value, such as blockIdx.z; what the others store becomes unknown."""
    run.undecided = True
    run.assumed += 1
    for n in range(1, len(switch.cases)):
        run.run_otherwise(partial(_run_cases, run, switch.cases[n:], scope, mask))
    mask = _run_cases(run, switch.cases, scope, mask)
    run.assumed -= 1
    return mask


def _run_cases(
    run: KernelRunner, cases: Sequence[tuple[Any, Sequence[tree.Statement]]], scope: Scope, mask: Mask
) -> Mask:
    """Run the statements of a switch from a label to a break."""
    loops = run.frames[-1].loops
    left: list[Mask] = [mask & False, mask & False]
    loops.append(left)
    for _, body in cases:
        for statement in body:
            mask = run.run(statement, scope, mask)
    loops.pop()
    if loops:
        loops[-1][1] = loops[-1][1] | left[1]  # what continue leaves is the loop around
    return mask | left[0]


def _run_jump(run: KernelRunner, jump: statements.Jump, scope: Scope, mask: Mask) -> Mask:
    loops = run.frames[-1].loops
    if loops and jump.word in ("break", "continue"):
        which = 0 if jump.word == "break" else 1
        loops[-1][which] = run.join_masks(loops[-1][which], mask)
        return run.nobody
    run.shared.incomplete = run.shared.incomplete or "a jump"
    run.forget_order()
    return mask


def _is_padding(text: str) -> bool:
    """Return whether a branch only stores zeros."""
    values = re.findall(r"(?<![=!<>])=\s*([^=;]+);", text)
    zero = r"(?:(?:\w+::)?\w+\s*\(\s*)*\s*\{?\s*(?:0(?:\.0*)?f?u?\s*,?\s*)+\}?\)*"
    return bool(values) and all(re.fullmatch(zero, value.strip()) for value in values)


HANDLERS: dict[type, Callable[[KernelRunner, Any, Scope, Mask], Mask]] = {
    statements.Block: _run_block,
    tree.DeferredBody: _run_deferred,
    statements.ExpressionStatement: _run_expression,
    tree.Declaration: _run_declaration,
    tree.UnpackDeclaration: _run_unpack,
    tree.Alias: _run_definition,
    tree.Enum: _run_definition,
    tree.UsingDeclaration: _run_nothing,
    tree.NamespaceAlias: _run_nothing,
    tree.StructDefinition: _run_definition,
    tree.Function: _run_definition,
    statements.Assembly: _run_assembly,
    statements.If: _run_if,
    statements.Loop: _run_loop,
    statements.RangeLoop: _run_range,
    statements.Switch: _run_switch,
    statements.Return: run_return,
    statements.Jump: _run_jump,
}
