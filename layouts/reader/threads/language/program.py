"""Definitions of a text for its kernels (functions, structs and constants by name), and its kernel launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lanescope.cxx.source_text import (
    expand_macro,
    is_kernel_head,
    list_macros,
    split_arguments,
    split_list,
    strip_comments,
)
from lanescope.reader.code.calling.launches import OPEN
from lanescope.reader.code.preprocessing.preprocessor import Preprocessor
from lanescope.reader.code.preprocessing.variants import list_leaves, make_variants
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.syntax import cxx, tree
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.syntax.tree_statements import Block, If, Loop

MOST_LAUNCHES = 4
Span = tuple[int, int]
EVERYWHERE: Span = (-1, 1 << 40)  # outside namespaces
BASES = "~bases"  # is among the names of a class with base classes, whose functions are not followed
DEFAULTS = "~defaults"  # the members of a class with initializers


@dataclass(slots=True)
class Scope:
    """Names of a block; parent: the enclosing scope; namespaces: of a text, the names that several of them declare;
    passed: the arguments of parameters whose value is unknown, each with its scope.
    """

    parent: Scope | None = None
    names: dict[str, Any] = field(default_factory=dict)
    passed: dict[str, Any] = field(default_factory=dict)
    namespaces: dict[Span, Scope] = field(default_factory=dict)

    def find_home(self, at: int) -> Scope:
        """Return the scope of the innermost namespace around a place of the text; the text's own if none differs."""
        inside = [home for home in self.namespaces if home[0] <= at < home[1]]
        return self.namespaces[max(inside)] if inside else self

    def find_owner(self, name: str) -> Scope | None:
        """Return the scope that declares a name, even if its value is unknown."""
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.parent
        return scope

    def find(self, name: str) -> Any:
        """Return the meaning of a name; None if nothing declares it, or its value is unknown."""
        owner = self.find_owner(name)
        return owner.names[name] if owner is not None else None

    def find_passed(self, name: str) -> Any:
        """Return (argument, its scope) of a parameter whose value is unknown; None for any other name."""
        owner = self.find_owner(name)
        return owner.passed.get(name) if owner is not None else None

    def add_function(self, function: tree.Function, home: Span | None = None) -> None:
        """Add a function to those of its name. home: the namespace around it; None for one of a class."""
        known = self.names.get(function.name)
        before = known if isinstance(known, FunctionSet) else FunctionSet(function.name, ())
        homes = () if home is None else (*before.homes, home)
        self.names[function.name] = FunctionSet(function.name, (*before.functions, function), homes)

    def rebind(self, name: str, value: Any) -> None:
        """Give a name another value in the scope that declares it."""
        owner = self.find_owner(name)
        if owner is not None:
            owner.names[name] = value


@dataclass(frozen=True, slots=True, eq=False)
class FunctionSet:
    """The functions of one name. homes: the span of the namespace around each, the whole text for none; () for those
    of a class.
    """

    name: str
    functions: tuple[tree.Function, ...]
    homes: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class StructSet:
    """A struct, with its specializations and the declarations of its template.

    home: the scope of the class or the function around it.
    """

    name: str
    definitions: tuple[tree.StructDefinition, ...]
    home: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class LaterValue:
    """A constant or alias that is evaluated on first use."""

    statement: tree.Declaration | tree.Alias | tree.Enum
    member: str = ""
    home: Scope | None = None  # where its names are looked up; None for the text's own


@dataclass(frozen=True, slots=True, eq=False)
class KernelLaunch:
    """A launch: template arguments, the block-size expression, the launching function, and the place in it; the
    arguments, if these are beside the kernel's name; the expression of the grid, if it is known.
    """

    templates: tuple[tree.Expression, ...]
    block: str
    around: tree.Function | None
    at: int = 0
    arguments: tuple[tree.Expression, ...] = ()
    grid: str = ""


@lru_cache(maxsize=2)
def parse_program(text: str, macros: tuple[tuple[str, str], ...]) -> tuple[tuple[tree.Statement, ...], ...]:
    """Parse a text once for each choice of its open #if conditions; the checks of one text run it several times."""
    leaves = list(list_leaves(make_variants(Preprocessor(text, 20, dict(macros)))))
    if len(leaves) > 4:
        return ()
    return tuple(cxx.parse_cxx_parts(leaf.source)[0] for leaf in leaves if not leaf.unread)


def enter_definitions(scope: Scope, body: Sequence[tree.Statement]) -> None:
    """Enter the definitions outside functions, including those in namespaces."""
    homes: dict[str, dict[Span, Any]] = {}  # meanings of each name, by the namespace
    for statement, home in _flatten_declarations(body):
        match statement:
            case tree.Function(body=inner) if inner is not None:
                scope.add_function(statement, home)
            case tree.StructDefinition(name=name) if statement.complete or statement.templates:
                known = homes.setdefault(name, {}).get(home)
                earlier = known.definitions if isinstance(known, StructSet) else ()
                homes[name][home] = StructSet(name, (*earlier, statement))
            case tree.Declaration(name=name) if statement.value is not None and statement.const:
                value = LaterValue(statement) if statement.specialized is None else None
                homes.setdefault(name, {})[home] = value
            case tree.Alias(name=name):
                homes.setdefault(name, {})[home] = LaterValue(statement)
            case tree.Enum():
                for member, _, _ in statement.members:
                    homes.setdefault(member, {})[home] = LaterValue(statement, member)
    _enter_meanings(scope, homes)


def _enter_meanings(scope: Scope, homes: Mapping[str, Mapping[Span, Any]]) -> None:
    """Enter the names of a text; those that several namespaces declare in a scope for each of them."""
    shared = {name: meanings for name, meanings in homes.items() if len(meanings) > 1}
    for name, meanings in homes.items():
        scope.names[name] = meanings.get(EVERYWHERE) if name in shared else next(iter(meanings.values()))
    for home in sorted({home for meanings in shared.values() for home in meanings} - {EVERYWHERE}):  # outer ones first
        scope.namespaces[home] = Scope(
            scope.find_home(home[0]), {name: of[home] for name, of in shared.items() if home in of}
        )


def _flatten_declarations(
    body: Sequence[tree.Statement], home: Span = EVERYWHERE
) -> Iterator[tuple[tree.Statement, Span]]:
    """Yield the statements outside functions, each with the span of the namespace around it."""
    for statement in body:
        if isinstance(statement, tree.Namespace):
            named = statement.names and not statement.inline
            yield from _flatten_declarations(statement.body, statement.span if named else home)
        elif isinstance(statement, Block) and not statement.scoped:
            yield from _flatten_declarations(statement.body, home)
        else:
            yield statement, home


_BOUNDS = re.compile(r"__launch_bounds__\s*\(")
_SIZES = re.compile(r"__launch_bounds__\s*\([^{};]*|<<<[^;]*?>>>|\bdim3\b[^;]*")  # what may name a number of threads
_PARAMETERS = re.compile(r"\b(?:ClusterLaunchParams\s+\w+\s*=?|launch_kernel_on_cluster\s*\()\s*\{([^{}]*)\}")
_BLOCK_MEMBER = re.compile(r"\.(?:blockDim|block_dims)\s*=\s*([^;]+);")
_WORD = re.compile(r"[A-Za-z_]\w*")
_LAUNCHED = re.compile(r"(\w+)\s*(?:<[^<>;(){}]*>\s*)?<<<")
_INVOKED = re.compile(r"([A-Za-z_]\w*)\s*\(")
_QUALIFIER = re.compile(r"(\w+)\s*::\s*\Z")
_MOST_QUALIFIER = 200  # characters before a name
_NAMESPACE = re.compile(r"\s*(?:inline\s+)?namespace\s+(?:\w+\s*::\s*)*(\w+)")
_OTHER_DIMENSION = re.compile(r"\bthreadIdx\s*\.\s*[yz]\b")


def is_kernel(text: str, function: tree.Function) -> bool:
    """Return whether a function of the text is a kernel."""
    return is_kernel_head(read_head(text, function))


def read_head(text: str, function: tree.Function) -> str:
    """Return the text before a function's body, from the end of the declaration before it; of a function that a macro
    makes, the macro's.
    """
    if (head := _read_macro_head(text, function)) is not None:
        return head
    first = max(text.rfind(mark, 0, function.span[0]) for mark in (";", "}"))
    return text[first + 1 : text.find("(", function.span[0] + 1) if function.body is None else function.body.span[0]]


def _read_macro_head(text: str, function: tree.Function) -> str | None:
    """Return what a macro has before the body of a function, with its arguments; None if no macro makes the function.

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
    functions = [f for f, _ in _flatten_declarations(body) if isinstance(f, tree.Function) and f.body is not None]
    for match in re.finditer(rf"\b{re.escape(kernel)}\b", text):
        enclosing = next((f for f in functions if f.span[0] <= match.start() < f.span[1]), None)
        if (enclosing is not None and enclosing.name == kernel) or not may_launch(match.start()):
            continue
        templates, past = _read_templates(text, match.end())
        opened = re.match(r"\s*<<<", text[past:])
        if not opened and past == match.end():
            continue
        grid, block, given = "", "", _read_arguments(text, past + opened.end()) if opened else ()
        if opened:
            grid, block = _read_sizes(text, past + opened.end())
        elif enclosing is not None:
            block = _find_pointer_block(text, match.start(), enclosing.span[1])
            block = block or _find_configured_block(text[slice(*enclosing.span)])
        found.append(KernelLaunch(_parse_arguments(templates), block, enclosing, match.start(), given, grid))
    return found[:MOST_LAUNCHES]


def find_unnamed_launch(text: str, kernels: Iterable[str]) -> KernelLaunch | None:
    """Return a launch with the grid of those through a pointer, such as a member of a table, if all launches of a text
    are such and have it; their block may be another kernel's.
    """
    launches = list(_LAUNCHED.finditer(text))
    grids = {_read_sizes(text, launch.end())[0] for launch in launches}
    if len(grids) != 1 or not {launch[1] for launch in launches}.isdisjoint(kernels):
        return None
    return KernelLaunch((), "", None, launches[0].start(), grid=grids.pop())


def find_qualifier(text: str, at: int, name: str) -> str:
    """Return the innermost namespace that qualifies a name at or behind a place of the text, "" for none."""
    at = text.find(name, at)
    found = _QUALIFIER.search(text, max(at - _MOST_QUALIFIER, 0), max(at, 0))
    return found[1] if found else ""


def find_namespace(text: str, homes: Iterable[Span], name: str) -> int:
    """Return where the only one of some namespaces with a name begins; -1 if none or several have it."""
    found = {home[0] for home in homes if home != EVERYWHERE and read_namespace(text, home[0]) == name}
    return found.pop() if len(found) == 1 else -1


def read_namespace(text: str, at: int) -> str:
    """Return the innermost name of a namespace that begins at a place of the text, "" if it has none."""
    found = _NAMESPACE.match(text, max(at, 0))
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


def _find_pointer_block(text: str, at: int, past: int) -> str:
    """Return the block of a launch through a variable: auto f = kernel<…>; f<<<grid, block>>>."""
    named = re.search(r"(\w+)\s*=\s*&?\s*(?:\w+::)*$", text[max(at - 80, 0) : at])
    launch = re.compile(rf"\b{named[1]}\s*<<<").search(text, at, past) if named else None
    return _read_sizes(text, launch.end())[1] if launch else ""


def _find_configured_block(text: str) -> str:
    """Return the block of the only launch configuration of a function: ClusterLaunchParams or cudaLaunchConfig_t."""
    listed = [split_operands(match[1])[1:2] for match in _PARAMETERS.finditer(text)]
    found = [block for blocks in listed for block in blocks] + [match[1] for match in _BLOCK_MEMBER.finditer(text)]
    return found[0].strip() if len(found) == 1 else ""


def list_template_uses(text: str, name: str) -> list[tuple[tree.Expression, ...]]:
    """List the template arguments that a text gives a function template."""
    uses = []
    for match in re.finditer(rf"\b{re.escape(name)}(?=\s*<)", text):
        arguments = _parse_arguments(_read_templates(text, match.end())[0])
        if arguments and arguments not in uses:
            uses.append(arguments)
    return uses[:MOST_LAUNCHES]


def make_launches(recorded: Iterable[KernelLaunchRecord]) -> Iterator[KernelLaunch]:
    """Yield the different launches of one kernel among those that an evaluation has reached with a known block; those
    that leave no template argument open first.
    """
    known = [launch for launch in recorded if launch.block is not None]
    known.sort(key=lambda launch: OPEN in ",".join(launch.templates))
    different: dict[tuple[tuple[str, ...], tuple[int, ...]], KernelLaunchRecord] = {}
    for launch in known:  # the arguments may differ
        different.setdefault((launch.templates, launch.block or ()), launch)
    for (templates, block), launch in list(different.items())[:MOST_LAUNCHES]:
        sizes = [None if size is None else size.known for size in launch.grid]
        grid = _write_sizes(sizes) if None not in sizes else ""
        yield KernelLaunch(_parse_arguments(", ".join(templates)), _write_sizes(block), None, launch.span[0], grid=grid)


def _write_sizes(sizes: Iterable[int | None]) -> str:
    return f"dim3({', '.join(map(str, sizes))})"


def split_operands(text: str) -> list[str]:
    """Split arguments or operands at the commas outside braces and brackets."""
    return list(_split_operands(text))


@lru_cache(maxsize=1024)
def _split_operands(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in split_arguments(text) if part.strip())


def _read_templates(text: str, at: int) -> tuple[str, int]:
    """Return the template arguments that follow a name, and where they end."""
    found = re.match(r"\s*<(?!<)", text[at:])
    if not found:
        return "", at
    start = at + found.end()
    _, end = split_list(text, start, min(len(text), start + 2000))
    return (text[start:end], end + 1) if text[end : end + 1] == ">" else ("", at)


def parse_expression(text: str) -> tree.Expression | None:
    """Parse one expression."""
    body = cxx.parse_cxx(make_plain_source(f"auto x = {text};")) if text else ()
    first = body[0] if body else None
    return first.value if isinstance(first, tree.Declaration) else None


def _parse_arguments(text: str) -> tuple[tree.Expression, ...]:
    if not text.strip():
        return ()
    body = cxx.parse_cxx(make_plain_source(f"auto x = f<{text}>();"))
    first = body[0] if body else None
    value = first.value if isinstance(first, tree.Declaration) else None
    if isinstance(value, tree.Call) and isinstance(value.function, tree.Name):
        return value.function.path[-1][1] or ()
    return ()


def list_local_constants(function: tree.Function | None, at: int) -> list[tree.Declaration | tree.Alias]:
    """List the constants and aliases in the blocks around a place in a function that launches a kernel."""
    found: list[tree.Declaration | tree.Alias] = []
    waiting: list[Any] = [function.body] if function is not None else []
    for part in waiting:
        if isinstance(part, tree.DeferredBody):
            waiting.append(part.make())
        elif isinstance(part, Block):
            waiting += part.body
        elif isinstance(part, If | Loop) and part.span[0] <= at < part.span[1]:
            waiting += [part.yes, part.no] if isinstance(part, If) else [part.body]
        elif isinstance(part, tree.Declaration | tree.Alias) and (at == 0 or part.span[0] < at):
            found.append(part)
    return found
