"""The kernels of a text, each run for the template arguments and block sizes that it is launched with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.reader.code import tree
from lanescope.reader.code.launches import OPEN
from lanescope.reader.code.run_records import KernelLaunchRecord
from lanescope.reader.threads.barrier_trace import BarrierTrace, TraceLostError
from lanescope.reader.threads.calling import make_argument
from lanescope.reader.threads.names import evaluate_template, resolve_path
from lanescope.reader.threads.numbers import ThreadNumber
from lanescope.reader.threads.program import (
    FunctionSet,
    KernelLaunch,
    LaterValue,
    Scope,
    enter_definitions,
    find_launch_bounds,
    is_kernel,
    list_launches,
    list_local_constants,
    list_size_macros,
    list_template_uses,
    make_launches,
    parse_expression,
    parse_program,
)
from lanescope.reader.threads.runner import KernelRunner, StepsOverError
from lanescope.reader.threads.shared_order import OrderMistakeFound, SharedOrder

MOST_KERNELS = 24
MOST_ORDERED = 4  # launches of one kernel whose order is followed
THREADS_OPEN = "the number of threads is open"
ORDER, BARRIERS = "order", "barriers"
KnownSize = tuple[int, int]  # of matrices, and of the grid along x
KNOWN_SIZE = 384, 128  # of a run that follows the order
MOST_BARRIER_STEPS = 40_000
_BLOCK = ("blockDim.x", "blockDim.y", "blockDim.z")  # names of what may be given for it


@dataclass(frozen=True, slots=True, eq=False)
class KernelRun:
    """A kernel that was run.

    complete: whether it ended within its steps; why: why it was not run, "" if it was; open: its template parameters
    without an argument.
    """

    function: tree.Function
    runner: KernelRunner
    complete: bool
    why: str = ""
    open: tuple[str, ...] = ()


def run_kernels(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord] = (),
    follow: str = "",
    size: KnownSize = (0, 0),
) -> Iterator[list[KernelRun]]:
    """Run the kernels of a text for all threads of a block; yield a list for each choice of open #if conditions.

    macros: values, also of blockDim.x, .y and .z for kernels that the text does not launch; recorded: launches that the
    evaluation of the text has reached; follow: ORDER of accesses
    to shared memory, to the first mistake, or BARRIERS, for known sizes.
    """
    values = {name: value for name, value in macros.items() if name.isidentifier()}
    block = ",".join(macros.get(name, "1") for name in _BLOCK) if _BLOCK[0] in macros else ""
    for body in parse_program(text, values):
        yield list(_run_program(text, body, values, f"dim3({block})" if block else "", recorded, (follow, size)))


def _run_program(
    text: str,
    body: Sequence[tree.Statement],
    choices: Mapping[str, str],
    block: str,
    recorded: Sequence[KernelLaunchRecord],
    known: tuple[str, KnownSize],
) -> Iterator[KernelRun]:
    scope = Scope()
    for name, value in {**list_size_macros(text), **choices}.items():
        expression = parse_expression(value)
        if expression is not None:
            scope.names[name] = LaterValue(tree.Declaration(name=name, type=None, value=expression, const=True))
    enter_definitions(scope, body)
    count = 0
    for found in list(scope.names.values()):
        for function in found.functions if isinstance(found, FunctionSet) else ():
            if is_kernel(text, function) and count >= MOST_KERNELS:
                why = f"the text has more than {MOST_KERNELS} kernels"
                yield KernelRun(function, KernelRunner(text, 32, (32, 1, 1), scope), False, why)
            elif is_kernel(text, function):
                launches = list(make_launches(recorded, function.name))
                if not launches or all(map(_is_open, launches)):
                    launches = list_launches(text, body, function.name) or launches
                launches = launches or [KernelLaunch((), "", None)]
                launches.sort(key=lambda launch: not launch.block)  # an instance that is only named has no block
                launches = launches[:MOST_ORDERED] if known[0] else launches
                seen: set[Any] = set()
                for launch in launches:
                    result = _run_launch(text, scope, function, launch, seen, (block, known))
                    if result is not None:
                        count += 1
                        yield result


def _is_open(launch: KernelLaunch) -> bool:
    """Return whether a template argument of a launch is not known."""
    return OPEN in str(launch.templates)


def _run_launch(
    text: str,
    globals_: Scope,
    function: tree.Function,
    launch: KernelLaunch,
    seen: set[Any],
    given: tuple[str, tuple[str, KnownSize]],
) -> KernelRun | None:
    arguments, (follow, (size, blocks)) = given
    host = KernelRunner(text, 32, (32, 1, 1), globals_)
    enclosing = Scope(globals_)
    _bind_launcher(host, launch.around, enclosing)
    for statement in list_local_constants(launch.around, launch.at):
        enclosing.names[statement.name] = LaterValue(statement, home=enclosing)
    inner = Scope(globals_)
    for n, parameter in enumerate(function.templates):
        value: Any = None
        if n < len(launch.templates):
            value = evaluate_template(host, launch.templates[n], enclosing)
        elif parameter.default is not None:
            value = evaluate_template(host, parameter.default, inner)
        elif parameter.name in globals_.names:
            value = resolve_path(host, ((parameter.name, None),), globals_)
        inner.names[parameter.name] = value
    block = _find_block(host, function, launch, enclosing, inner) or _find_given_block(host, arguments, globals_)
    key = (block, *(_make_key(inner.names.get(p.name)) for p in function.templates))
    if key in seen or (block is None and key[1:] in seen):
        return None
    seen |= {key, key[1:]}
    if block is None:
        return KernelRun(function, host, False, THREADS_OPEN)
    open_ = tuple(p.name for p in function.templates if p.name and inner.names.get(p.name) is None)
    runner = KernelRunner(text, block[0] * block[1] * block[2], block, globals_)
    runner.size, runner.blocks = size, blocks
    if follow == ORDER:
        runner.order = SharedOrder(runner.threads)
    elif follow == BARRIERS:
        runner.barriers, runner.most_steps = BarrierTrace(), MOST_BARRIER_STEPS
    for parameter in function.parameters:
        inner.names[parameter.name] = make_argument(runner, parameter, inner)
    try:
        runner.run(function.body, inner, runner.everyone)
    except OrderMistakeFound:
        return KernelRun(function, runner, True, "", open_)
    except (StepsOverError, TraceLostError, RecursionError):
        return KernelRun(function, runner, False, "", open_)
    return KernelRun(function, runner, True, "", open_)


def _bind_launcher(host: KernelRunner, around: tree.Function | None, enclosing: Scope) -> None:
    """Bind the template parameters of a function that launches a kernel: as the text first gives them, or defaults."""
    uses = list_template_uses(host.text, around.name) if around is not None and around.templates else []
    for n, parameter in enumerate(around.templates if around is not None else ()):
        values = (evaluate_template(host, use[n], host.globals) for use in uses if n < len(use))
        value = next((value for value in values if value is not None), None)
        if value is None and parameter.default is not None:
            value = evaluate_template(host, parameter.default, enclosing)
        enclosing.names[parameter.name] = value


def _make_key(value: Any) -> Any:
    return value.known if isinstance(value, ThreadNumber) else getattr(value, "name", None)


def _find_block(
    host: KernelRunner, function: tree.Function, launch: KernelLaunch, enclosing: Scope, inner: Scope
) -> tuple[int, int, int] | None:
    """Return the block size of the launch, else that of the kernel's launch bounds."""
    expression = parse_expression(launch.block)
    sizes = _read_sizes(host, expression, enclosing)
    if sizes is None:
        bound = parse_expression(find_launch_bounds(host.text, function))
        sizes = _read_sizes(host, bound, inner)
    return _make_block(sizes)


def _find_given_block(host: KernelRunner, arguments: str, scope: Scope) -> tuple[int, int, int] | None:
    return _make_block(_read_sizes(host, parse_expression(arguments), scope)) if arguments else None


def _make_block(sizes: tuple[int, ...] | None) -> tuple[int, int, int] | None:
    """Return a block size that is a multiple of a warp; None for any other."""
    if sizes is None:
        return None
    x, y, z = (*sizes, 1, 1)[:3]
    return (x, y, z) if 0 < x * y * z <= 1024 and not x * y * z % 32 else None


def _list_sizes(expression: tree.Expression | None, scope: Scope) -> tuple[tree.Expression, ...]:
    """Return the sizes that a number, a list or a dim3, here or declared before, has."""
    items: tuple[tree.Expression, ...] = ()
    declaration = _find_dim3(expression, scope)
    if declaration is not None:
        expression, items = declaration.value, declaration.arguments or ()
    if isinstance(expression, tree.Call) and getattr(expression.function, "last", "") == "dim3":
        items = expression.arguments
    if isinstance(expression, tree.ItemList):
        items = tuple(value for _, value in expression.items)
    return items or ((expression,) if expression is not None else ())


def _find_dim3(expression: tree.Expression | None, scope: Scope) -> tree.Declaration | None:
    """Find the declaration of a variable of type dim3."""
    found = scope.names.get(expression.last) if isinstance(expression, tree.Name) else None
    statement = found.statement if isinstance(found, LaterValue) else None
    if isinstance(statement, tree.Declaration) and statement.type is not None and statement.type.name == "dim3":
        return statement
    return None


def _read_sizes(host: KernelRunner, expression: tree.Expression | None, scope: Scope) -> tuple[int, ...] | None:
    values = [host.evaluate(size, scope) for size in _list_sizes(expression, scope)]
    known = [value.known for value in values if isinstance(value, ThreadNumber)]
    if not values or len(known) < len(values) or not all(known):
        return None
    return tuple(int(size or 0) for size in known)
