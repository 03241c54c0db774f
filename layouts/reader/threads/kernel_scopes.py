"""Values that a kernel is run with where only the text around it, or a library, gives them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from lanescope.cute.algebra import make_layout
from lanescope.cxx.source_text import blank_comments
from lanescope.reader.code.cute.cute_values import names_cute
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_trace import TraceLostError
from lanescope.reader.threads.barriers.clusters import ClusterPlace
from lanescope.reader.threads.barriers.cutlass_source import GROUPS, LIBRARY, parse_library
from lanescope.reader.threads.language.arguments import hold_value
from lanescope.reader.threads.language.names import evaluate_template, find_type, resolve_path
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_number
from lanescope.reader.threads.language.program import Scope, enter_definitions, parse_expression
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.memory.shared_order import OrderMistakeFound
from lanescope.reader.threads.memory.storage import Pointer
from lanescope.reader.threads.run_state import KernelErrorFound, ProductsOverError, StepsOverError
from lanescope.reader.threads.runner import KernelRunner

_PRODUCT = re.compile(r"mma|ldmatrix|tcgen05|\bgemm\w*\s*[(<]|\bSM\d\d_|\boperator\b")


def enter_library(text: str, scope: Scope, barriers: bool, waits: bool) -> str:
    """Enter functions that a text calls and does not declare; return their source. barriers: also those of CUTLASS
    around mbarriers; waits: whether these are followed.
    """
    barriers = barriers and (bool(LIBRARY.search(text)) or names_cute(text))
    if not barriers and not GROUPS.search(text):
        return ""
    source, body = parse_library(len(text), barriers, waits)
    library = Scope()
    enter_definitions(library, body)
    scope.names = {**library.names, **scope.names}
    return source


def bind_sizes(
    host: KernelRunner, around: tree.Function | None, enclosing: Scope, size: int, element: SizedType
) -> None:
    """Give pointers that a function launches a kernel with an array each; integers the size of a matrix, or the known
    sizes that the host has, and layouts its shape. size: 0 without one.
    """
    for parameter in around.parameters if around is not None else ():
        kind, name = find_type(host, parameter.type, enclosing), parameter.name
        if kind is not None and kind.pointer and kind.target is not None:
            enclosing.names[name] = hold_value(Pointer("global", name, make_number(0, LONG), kind.target))
        elif kind is not None and kind.integer and (size or (host.sizes is not None and name in host.sizes)):
            enclosing.names[name] = make_number(host.sizes[name] if host.sizes is not None else size)
        elif kind is element and size and "layout" in name.lower():
            enclosing.names[name] = make_layout((size, size))


def find_namesake(host: KernelRunner, parameter: tree.Parameter) -> Any:
    """Return what the text itself calls like a template parameter without an argument, for CuTe also in a function, if
    that is one type.
    """
    if parameter.default is not None or not parameter.name:
        return None
    if parameter.name in host.globals.names:
        return resolve_path(host, ((parameter.name, None),), host.globals)
    if not names_cute(host.text):
        return None
    aliases = set(re.findall(rf"\busing\s+{parameter.name}\s*=\s*([\w:]+)\s*;", host.text))
    call = parse_expression(f"f<{aliases.pop()}>()") if len(aliases) == 1 else None
    given = call.function.path[-1][1] if isinstance(call, tree.Call) and isinstance(call.function, tree.Name) else None
    return evaluate_template(host, given[0], host.globals) if given else None


def may_multiply(functions: Iterable[tree.Function], texts: Iterable[str]) -> bool:
    """Return whether texts that a kernel reaches have words of a product, or its template is given what it calls.
    functions: of the kernel's name.
    """
    given = any(parameter.is_type for function in functions for parameter in function.templates)
    return given or any(_PRODUCT.search(blank_comments(text)) for text in texts)


def make_key(value: Any) -> Any:
    return value.known if isinstance(value, ThreadNumber) else getattr(value, "name", None)


def place_block(
    block: tuple[int, int, int], shape: tuple[int, int, int], rank: int, earlier: Sequence[KernelRunner]
) -> ClusterPlace | None:
    """Return the place of a block in the cluster that is run; None for one of its own. earlier: runs of others."""
    if prod(shape) == 1:
        return None
    x, y, z = (at // size * size for at, size in zip(block, shape, strict=True))
    return ClusterPlace(shape, rank, (x, y, z), earlier[rank - 1] if rank % 2 else None)


def run_to_end(runner: KernelRunner, function: tree.Function, scope: Scope) -> bool:
    """Run a kernel; return whether it came to its end, or to a mistake that ends it."""
    try:
        runner.run(function.body, scope, runner.everyone)
    except (OrderMistakeFound, KernelErrorFound, ProductsOverError):
        return True
    except (StepsOverError, TraceLostError, RecursionError) as error:
        runner.lost = str(error) if isinstance(error, TraceLostError) else ""
        return False
    return True
