"""Kernels of a text and their launches: template arguments, grid, block and launch bounds, as they are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from lanescope.cxx.source_text import expand_macro, is_kernel_head, list_macros, split_list, strip_comments
from lanescope.reader.code.calling.launches import OPEN
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.language.program import flatten_declarations, parse_expression, split_operands
from lanescope.reader.threads.run_state import LaunchedInstance

MOST_LAUNCHES = 4
_BOUNDS = re.compile(r"__launch_bounds__\s*\(")
_SIZES = re.compile(r"__launch_bounds__\s*\([^{};]*|<<<[^;]*?>>>|\bdim3\b[^;]*")  # what may name a number of threads
_PARAMETERS = re.compile(r"\b(?:ClusterLaunchParams\s+\w+\s*=?|launch_kernel_on_cluster\s*\()\s*\{([^{}]*)\}")
_BLOCK_MEMBER = re.compile(r"\.(?:blockDim|block_dims)\s*=\s*([^;]+);")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LAUNCHED = re.compile(r"\b(\w++)\s*+(?:<[^<>;(){}]*>\s*)?<<<")
_INVOKED = re.compile(r"([A-Za-z_]\w*)\s*\(")
_BY_ADDRESS = re.compile(r"cudaLaunch(?:Cooperative)?Kernel\s*\(")
_LEAST_ARGUMENTS = 4  # kernel, grid, block and the kernel's arguments
_QUALIFIER = re.compile(r"(\w+)\s*::\s*\Z")
_MOST_QUALIFIER = 200  # characters before a name
_OTHER_DIMENSION = re.compile(r"\bthreadIdx\s*\.\s*[yz]\b")


@dataclass(frozen=True, slots=True, eq=False)
class KernelLaunch:
    """A launch: template arguments, the block-size expression, the launching function, and the place in it; the
    arguments, if these are beside the kernel's name; the expression of the grid, if it is known; the instance.
    """

    templates: tuple[tree.Expression, ...]
    block: str
    around: tree.Function | None
    at: int = 0
    arguments: tuple[tree.Expression, ...] = ()
    grid: str = ""
    instance: LaunchedInstance = field(default_factory=LaunchedInstance)


def is_kernel(text: str, function: tree.Function) -> bool:
    """Return whether a function of the text is a kernel."""
    return is_kernel_head(read_head(text, function))


def read_head(text: str, function: tree.Function) -> str:
    """Return the declaration of a function before its body; of a function that a macro makes, in the macro's text."""
    if (head := _read_macro_head(text, function)) is not None:
        return head
    first = max(text.rfind(mark, 0, function.span[0]) for mark in (";", "}"))
    return text[first + 1 : text.find("(", function.span[0] + 1) if function.body is None else function.body.span[0]]


def _read_macro_head(text: str, function: tree.Function) -> str | None:
    """Return the expanded declaration of a function that a macro makes; None if no macro makes it.

    >>> text = "#define F(N) __global__ void __launch_bounds__(N) f##N() { g<N>(); }\\nF(4)"
    >>> _read_macro_head(text, tree.Function("f4", (), None, span=(69, 73)))
    ' __global__ void __launch_bounds__(4) f4() '
    """
    invoked = _INVOKED.match(text, *function.span)
    head = expand_macro(text, invoked[1], text[invoked.end() : function.span[1] - 1]) if invoked else ""
    head = head.partition("{")[0]
    return head if re.search(rf"\b{re.escape(function.name)}\s*\(", head) else None


def list_size_macros(text: str) -> dict[str, str]:
    """Map the macros that launches and launch bounds name to their values, if each has a single definition.

    >>> list_size_macros("#define WARPS 4\\n#define THREADS \\\\\\n (WARPS * 32)\\nf<<<1, THREADS>>>();")
    {'THREADS': '(WARPS * 32)', 'WARPS': '4'}
    """
    definitions: dict[str, set[str]] = {}
    for name, rest in list_macros(strip_comments(text)):
        if rest[:1].isspace():  # a macro without parameters
            definitions.setdefault(name, set()).add(rest.replace("\\\n", " ").strip())
    values: dict[str, str] = {}
    waiting = [word for match in _SIZES.finditer(text) for word in _WORD.findall(match[0])]
    for name in waiting:
        if name in definitions and name not in values:
            values[name] = definitions[name].pop() if len(definitions[name]) == 1 else ""
            waiting += _WORD.findall(values[name])
    return {name: value for name, value in values.items() if value}


def find_launch_bounds(text: str, function: tree.Function) -> str:
    """Return the first argument of __launch_bounds__, "" if there is none."""
    head = read_head(text, function)
    found = _BOUNDS.search(head)
    if found is None:
        return ""
    places, _ = split_list(head, found.end())
    return head[slice(*places[0])].strip() if places[0][1] < len(head) else ""


def uses_dimensions(text: str, function: tree.Function) -> bool:
    """Return whether a kernel asks for its thread's place along y or z of the block."""
    return function.body is not None and _OTHER_DIMENSION.search(text, *function.body.span) is not None


def list_launches(
    text: str, body: Sequence[tree.Statement], kernel: str, may_launch: Callable[[int], bool]
) -> list[KernelLaunch]:
    """List the launches of a kernel, and the instances whose address is taken. may_launch: whether the name at a place
    is of this kernel.
    """
    found: list[KernelLaunch] = []
    for match in re.finditer(rf"\b{re.escape(kernel)}\b", text):
        enclosing = find_function_around(body, match.start())
        if (enclosing is not None and enclosing.name == kernel) or not may_launch(match.start()):
            continue
        templates, past = _read_templates(text, match.end())
        opened = re.match(r"\s*<<<", text[past:])
        by_address = _read_call_sizes(text, match.start())
        if not opened and past == match.end() and by_address is None:
            continue
        given = _read_arguments(text, past + opened.end()) if opened else ()
        grid, block = _read_sizes(text, past + opened.end()) if opened else by_address or ("", "")
        if not opened and by_address is None and enclosing is not None:
            grid, block = _find_pointer_sizes(text, match.start(), enclosing.span[1])
            grid, block = (grid, block) if block else _find_configured_sizes(text[slice(*enclosing.span)])
        found.append(KernelLaunch(_parse_arguments(templates), block, enclosing, match.start(), given, grid))
    return found[:MOST_LAUNCHES]


def _read_call_sizes(text: str, at: int) -> tuple[str, str] | None:
    """Return the grid and the block of cudaLaunchKernel, whose first argument is the kernel at a place; None if it is
    not.
    """
    start = text.rfind("cudaLaunch", max(0, at - _MOST_QUALIFIER), at)
    call = _BY_ADDRESS.match(text, start) if start >= 0 else None
    places = split_list(text, call.end())[0] if call else []
    if len(places) < _LEAST_ARGUMENTS or not places[0][0] <= at < places[0][1]:
        return None
    return text[slice(*places[1])].strip(), text[slice(*places[2])].strip()


def find_function_around(body: Sequence[tree.Statement], at: int) -> tree.Function | None:
    """Return the function whose body has a place of a program; None outside functions."""
    functions = (f for f, _ in flatten_declarations(body) if isinstance(f, tree.Function) and f.body is not None)
    return next((f for f in functions if f.span[0] <= at < f.span[1]), None)


def count_launches(text: str, kernel: str) -> int:
    """Return how many launches of a kernel a text has by <<<…>>>."""
    return _LAUNCHED.findall(text).count(kernel)


def find_unnamed_launch(text: str, kernels: Iterable[str]) -> KernelLaunch | None:
    """Return a launch with the grid that all launches of a text share, if all are through pointers, such as the members
    of a table. Its block is open: theirs may be another kernel's.
    """
    launches = list(_LAUNCHED.finditer(text)) if "<<<" in text else []
    grids = {_read_sizes(text, launch.end())[0] for launch in launches}
    if len(grids) != 1 or not {launch[1] for launch in launches}.isdisjoint(kernels):
        return None
    return KernelLaunch((), "", None, launches[0].start(), grid=grids.pop())


def find_qualifier(text: str, at: int, name: str) -> str:
    """Return the innermost namespace that qualifies a name at or behind a place of the text, "" for none."""
    at = text.find(name, at)
    found = _QUALIFIER.search(text, max(at - _MOST_QUALIFIER, 0), max(at, 0))
    return found[1] if found else ""


def _read_sizes(text: str, at: int) -> tuple[str, str]:
    """Return the grid and the block of a launch, whose arguments in <<<…>>> begin at a place."""
    parts = split_operands(text[at:].split(">>>", 1)[0])
    return (parts[0], parts[1]) if len(parts) > 1 else ("", "")


def _read_arguments(text: str, at: int) -> tuple[tree.Expression, ...]:
    """Return the arguments of a launch <<<…>>>(arguments), whose <<< ends at a place."""
    past = text.find(">>>", at)
    opened = re.compile(r"\s*\(").match(text, past + 3) if past >= 0 else None
    if opened is None:
        return ()
    _, end = split_list(text, opened.end(), min(len(text), opened.end() + 2000))
    call = parse_expression(f"f({text[opened.end() : end]})")
    return call.arguments if isinstance(call, tree.Call) else ()


def _find_pointer_sizes(text: str, at: int, past: int) -> tuple[str, str]:
    """Return the grid and the block of a launch through a variable: auto f = kernel<…>; f<<<grid, block>>>."""
    named = re.search(r"(\w+)\s*=\s*&?\s*(?:\w+::)*$", text[max(at - 80, 0) : at])
    launch = re.compile(rf"\b{named[1]}\s*<<<").search(text, at, past) if named else None
    return _read_sizes(text, launch.end()) if launch else ("", "")


def _find_configured_sizes(text: str) -> tuple[str, str]:
    """Return the grid, "" for that of cudaLaunchConfig_t, and the block of the only launch configuration of a function:
    ClusterLaunchParams or cudaLaunchConfig_t.
    """
    listed = [split_operands(match[1])[:2] for match in _PARAMETERS.finditer(text)]
    found = [(one[0], one[1]) for one in listed if len(one) > 1]
    found += [("", match[1]) for match in _BLOCK_MEMBER.finditer(text)]
    return (found[0][0].strip(), found[0][1].strip()) if len(found) == 1 else ("", "")


def list_template_uses(text: str, name: str) -> list[tuple[tuple[tree.Expression, ...], int]]:
    """List the template arguments that a text gives a function template, and where."""
    uses: dict[tuple[tree.Expression, ...], int] = {}
    for match in re.finditer(rf"\b{re.escape(name)}(?=\s*<)", text):
        arguments = _parse_arguments(_read_templates(text, match.end())[0])
        if arguments:
            uses.setdefault(arguments, match.start())
    return list(uses.items())[:MOST_LAUNCHES]


def list_plain_calls(text: str, name: str) -> list[tuple[tuple[tree.Expression, ...], int]]:
    """List the arguments that a text calls a function template with, and where, without template arguments."""
    found = []
    for match in re.finditer(rf"(?:\breturn\s+|[;{{}}(,=?:]\s*)(?:\w+::)*({re.escape(name)})\s*\(", text):
        _, end = split_list(text, match.end(), min(len(text), match.end() + 2000))
        call = parse_expression(f"f({text[match.end() : end]})")
        found += [(call.arguments, match.start(1))] if isinstance(call, tree.Call) and call.arguments else []
    return found[:MOST_LAUNCHES]


def group_launches(
    recorded: Iterable[KernelLaunchRecord],
) -> dict[tuple[tuple[str, ...], tuple[int, ...]], list[KernelLaunchRecord]]:
    """Return the launches of one kernel with a known block that are run, by their template arguments and block; those
    that leave no template argument open first.
    """
    known = [launch for launch in recorded if launch.block is not None]
    known.sort(key=lambda launch: OPEN in ",".join(launch.templates))
    different: dict[tuple[tuple[str, ...], tuple[int, ...]], list[KernelLaunchRecord]] = {}
    for launch in known:  # the arguments may differ
        different.setdefault((launch.templates, launch.block or ()), []).append(launch)
    return dict(list(different.items())[:MOST_LAUNCHES])


def make_launches(recorded: Iterable[KernelLaunchRecord]) -> Iterator[KernelLaunch]:
    """Yield the different launches of one kernel among those that an evaluation has reached with a known block."""
    for (templates, block), (launch, *others) in group_launches(recorded).items():
        instance = LaunchedInstance(templates, launch.maps.union(*(other.maps for other in others)))
        sizes = [None if size is None else size.known for size in launch.grid]
        grid = _write_sizes(sizes) if None not in sizes else ""
        yield KernelLaunch(
            _parse_arguments(", ".join(templates)), _write_sizes(block), None, launch.span[0], (), grid, instance
        )


def _write_sizes(sizes: Iterable[int | None]) -> str:
    return f"dim3({', '.join(map(str, sizes))})"


def _read_templates(text: str, at: int) -> tuple[str, int]:
    """Return the template arguments that follow a name, and where they end."""
    found = re.match(r"\s*<(?!<)", text[at:])
    if not found:
        return "", at
    start = at + found.end()
    _, end = split_list(text, start, min(len(text), start + 2000))
    return (text[start:end], end + 1) if text[end : end + 1] == ">" else ("", at)


def _parse_arguments(text: str) -> tuple[tree.Expression, ...]:
    call = parse_expression(f"f<{text}>()") if text.strip() else None
    if isinstance(call, tree.Call) and isinstance(call.function, tree.Name):
        return call.function.path[-1][1] or ()
    return ()
