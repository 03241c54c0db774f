"""The kernels of a text, each run for the template arguments and block sizes that it is launched with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

from lanescope.cxx.source_text import blank_comments, list_macros, list_reached
from lanescope.ptx.threads import WARP
from lanescope.reader.code.calling.launches import OPEN
from lanescope.reader.code.running.run_records import KernelLaunchRecord
from lanescope.reader.code.syntax import tree
from lanescope.reader.threads.barriers.barrier_trace import BarrierTrace
from lanescope.reader.threads.barriers.clusters import MOST_CTAS, ClusterPlace, find_cluster_text
from lanescope.reader.threads.block_sizes import describe_open_block, find_block, find_given_block, read_sizes
from lanescope.reader.threads.kernel_scopes import (
    bind_sizes,
    enter_library,
    find_namesake,
    make_key,
    may_multiply,
    place_block,
    run_to_end,
)
from lanescope.reader.threads.language.arguments import (
    OPEN_MEMBER,
    deduce_called_template,
    deduce_template_argument,
    make_argument,
)
from lanescope.reader.threads.language.names import evaluate_template
from lanescope.reader.threads.language.program import (
    FunctionSet,
    LaterValue,
    Scope,
    StructSet,
    enter_definitions,
    parse_expression,
    parse_program,
    read_namespace,
)
from lanescope.reader.threads.language.structs import bind_templates
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.launches import (
    KernelLaunch,
    find_function_around,
    find_qualifier,
    find_unnamed_launch,
    is_kernel,
    list_launches,
    list_plain_calls,
    list_size_macros,
    list_template_uses,
    make_launches,
    read_head,
)
from lanescope.reader.threads.local_constants import list_local_constants
from lanescope.reader.threads.memory.number_tape import NumberTape
from lanescope.reader.threads.memory.shared_order import SharedOrder
from lanescope.reader.threads.memory.tile_records import TileSetup, find_grid
from lanescope.reader.threads.memory.tile_trace import TileTrace
from lanescope.reader.threads.memory.turn_counts import CountFoundError, TurnCounts
from lanescope.reader.threads.run_state import LaunchedInstance
from lanescope.reader.threads.runner import KernelRunner

MOST_KERNELS = 24
MOST_CALLERS = 3  # depth of the calls of function templates that lead to a launch
MOST_ORDERED = 4  # launches of one kernel whose order is followed
ORDER, BARRIERS = "order", "barriers"
KnownSize = tuple[int, int]  # of matrices, and of the grid along x
KNOWN_SIZE = 384, 128  # of a run that follows the order
MOST_BARRIER_STEPS, MOST_PLAIN_STEPS, MOST_SIZED_PRODUCTS = 40_000, 2_000, 8_000  # plain: without products
MOST_TILE_CTAS = 4  # of a cluster whose tiles are followed
_DESCRIBES = re.compile(r"wgmma|tcgen05|\bSM90_64x")
DYNAMIC = 1 << 14  # address of dynamic shared memory of which descriptors have all the bits
_BLOCK = ("blockDim.x", "blockDim.y", "blockDim.z")  # names of what may be given for it
_REQUIRED_GRID = re.compile(r"\bgridDim\s*\.\s*[xyz]\s*[!=]=")
_WORD = re.compile(r"[A-Za-z_]\w*")
_TMA = re.compile(r"\bmake_tma_(?:atom|copy)")  # of CuTe
_BARRIER = re.compile("barrier|pipeline", re.I)


@dataclass(frozen=True, slots=True, eq=False)
class KernelRun:
    """A kernel that was run.

    complete: whether it ended within its steps; why: why it was not run, "" if it was; open: its template parameters
    without an argument; others: the runs of the other blocks of its cluster, by rank.
    """

    function: tree.Function
    runner: KernelRunner
    complete: bool
    why: str = ""
    open: tuple[str, ...] = ()
    others: tuple[KernelRunner, ...] = ()

    @property
    def runners(self) -> tuple[KernelRunner, ...]:
        """The runs of all blocks of a cluster, by rank."""
        return self.runner, *self.others


def run_kernels(
    text: str,
    macros: Mapping[str, str],
    recorded: Sequence[KernelLaunchRecord] = (),
    follow: str = "",
    size: KnownSize = (0, 0),
    *,
    element: int = 2,
    tiles: TileSetup | None = None,
    only: str = "",
) -> Iterator[list[KernelRun]]:
    """Run the kernels of a text for all threads of a block; yield a list for each choice of open #if conditions.

    macros: values, also of blockDim.x, .y and .z for kernels that the text does not launch; recorded: launches that the
    evaluation of the text has reached; follow: ORDER of accesses to shared memory, to the first mistake, or BARRIERS,
    for known sizes; element: the bytes of elements whose type is not known; tiles: of a run of one block with known
    sizes; only: the name of the kernels that are run, "" for all.
    """
    values = {name: value for name, value in macros.items() if name.isidentifier()}
    block = ",".join(macros.get(name, "1") for name in _BLOCK) if _BLOCK[0] in macros else ""
    for body in parse_program(text, tuple(values.items())):
        scope = Scope()
        for name, value in {**values, **list_size_macros(text)}.items():
            expression = parse_expression(value)
            if expression is not None:
                scope.names[name] = LaterValue(tree.Declaration(name=name, type=None, value=expression, const=True))
        enter_definitions(scope, body)
        copies = follow == BARRIERS or (tiles is not None and _TMA.search(text) is not None)
        source = enter_library(text, scope, copies, follow == BARRIERS)
        given, auto = f"dim3({block})" if block else "", SizedType("auto", element)
        program = _Program(text + source, len(text), scope, body, given, follow, size, auto, tiles, only, copies)
        yield list(program.run_all(recorded))


@dataclass(frozen=True, slots=True)
class _Program:
    """A text whose kernels are run.

    length: of the text without library functions; block: of kernels that it does not launch; follow, size, element,
    tiles, only: see run_kernels; copies: whether mbarriers are followed, or tiles that CuTe copies by TMA.
    """

    text: str
    length: int
    scope: Scope
    body: Sequence[tree.Statement]
    block: str
    follow: str
    size: KnownSize
    element: SizedType
    tiles: TileSetup | None = None
    only: str = ""
    copies: bool = False

    def run_all(self, recorded: Sequence[KernelLaunchRecord]) -> Iterator[KernelRun]:
        """Run each kernel for each of its launches that differs from the earlier ones."""
        count = 0
        for function in self._list_kernels():
            if count >= MOST_KERNELS:
                why = f"the text has more than {MOST_KERNELS} kernels"
                yield KernelRun(function, self._make_host(""), False, why)
                continue
            seen: set[Any] = set()
            for launch in self._list_launches(function, recorded):
                result = self._run_launch(function, launch, seen)
                if result is not None:
                    count += 1
                    yield result

    def _list_kernels(self) -> Iterator[tree.Function]:
        for found in list(self.scope.names.values()):
            for function in found.functions if isinstance(found, FunctionSet) else ():
                if is_kernel(self.text, function) and self.only in ("", function.name):
                    yield function

    def _list_launches(self, function: tree.Function, recorded: Sequence[KernelLaunchRecord]) -> list[KernelLaunch]:
        """Return the launches of a kernel; one of which nothing is known if the text has none."""
        launches = list(make_launches(one for one in recorded if self._is_record_of(one, function)))
        if not launches or all(map(_is_open, launches)):
            text = self.text[: self.length]
            written = list_launches(text, self.body, function.name, partial(self._may_launch, kernel=function))
            launches = written or launches
        if not launches:
            unnamed = find_unnamed_launch(self.text[: self.length], {one.name for one in self._list_kernels()})
            launches = [unnamed or KernelLaunch((), "", None)]
        launches.sort(key=lambda launch: not launch.block)  # an instance that is only named has no block
        if self.tiles is not None and self.tiles.launches:
            return launches[: self.tiles.launches]
        return launches[:MOST_ORDERED] if self.follow else launches

    def _is_record_of(self, record: KernelLaunchRecord, kernel: tree.Function) -> bool:
        """Return whether a recorded launch is of this kernel, and its template arguments name no class of which several
        namespaces have one.
        """
        if record.name != kernel.name or not self._may_launch(record.call[0], kernel):
            return False
        words = _WORD.findall(" ".join(record.templates))
        return not any(word in namespace.names for namespace in self.scope.namespaces.values() for word in words)

    def _may_launch(self, at: int, kernel: tree.Function) -> bool:
        """Return whether a launch at a place of the text is of this kernel, and not of one of the same name in another
        namespace.
        """
        found = self.scope.names[kernel.name]
        homes = dict(zip(found.functions, found.homes, strict=True))
        if len({home for f, home in homes.items() if is_kernel(self.text, f)}) < 2:
            return True
        start, past = homes[kernel]
        qualifier = find_qualifier(self.text, at, kernel.name)
        return qualifier == read_namespace(self.text, start) if qualifier else bool(start <= at < past)

    def _make_host(self, kernel: str) -> KernelRunner:
        host = KernelRunner(self.text, WARP, (WARP, 1, 1), self.scope)
        host.sizes = self.tiles.sizes.get(kernel) if self.tiles is not None and self.follow != BARRIERS else None
        host.open_member = OPEN_MEMBER if self.follow == BARRIERS and self.tiles is None else None
        return host

    def _run_launch(self, function: tree.Function, launch: KernelLaunch, seen: set[Any]) -> KernelRun | None:
        """Run a kernel for a launch; None if one with the same block and template arguments was run."""
        host = self._make_host(function.name)
        enclosing = Scope(self.scope.find_home(launch.at))
        self._bind_launcher(host, launch.around, enclosing, self.element if self.copies else None)
        bind_sizes(host, launch.around, enclosing, self.size[0] * (self.follow == BARRIERS), self.element)
        for statement in list_local_constants(launch.around, launch.at):
            enclosing.names[statement.name] = LaterValue(statement, home=enclosing)
        inner = self._bind_templates(host, function, launch, enclosing)
        block = find_block(host, function, launch, enclosing, inner) or find_given_block(host, self.block, self.scope)
        key = (block, *(make_key(inner.names.get(p.name)) for p in function.templates))
        if key in seen or (block is None and key[1:] in seen):
            return None
        seen |= {key, key[1:]}
        if block is None:
            why = describe_open_block(host, launch, enclosing)
            return KernelRun(function, host, False, why) if self._is_followed(function.name) else None
        open_ = tuple(p.name for p in function.templates if p.name and inner.names.get(p.name) is None)
        shape = self._find_cluster(host, function, launch, enclosing, inner)
        runs: list[KernelRunner] = []
        complete = True
        for rank in range(prod(shape)):
            place = place_block(self.tiles.block if self.tiles is not None else (0, 0, 0), shape, rank, runs)
            runner = self._make_runner(block, function.name, launch.instance, place)
            runner.strides, runner.tensor_ends = host.strides, host.tensor_ends
            self._set_grid(runner, host, launch, enclosing)
            runner, ended = self._run_with_arguments(runner, function, inner)
            runs.append(runner)
            complete &= ended
            if not complete:
                break
        return KernelRun(function, runs[0], complete, "", open_, tuple(runs[1:]))

    def _is_followed(self, kernel: str) -> bool:
        """Return whether a kernel, or a function that it names, may use what a run follows."""
        return self.follow != BARRIERS or any(map(_BARRIER.search, self._list_reached(kernel)))

    def _set_grid(self, runner: KernelRunner, host: KernelRunner, launch: KernelLaunch, enclosing: Scope) -> None:
        """Set the grid of a launch for a kernel that requires one; others have a block for every tile."""
        requires = any(map(_REQUIRED_GRID.search, self._list_reached(runner.kernel)))
        sizes = read_sizes(host, parse_expression(launch.grid), enclosing) if requires else None
        x, y, z = (*(sizes or ()), 1, 1, 1)[:3]
        runner.grid = (x, y, z) if sizes else runner.grid
        runner.launched = read_sizes(host, parse_expression(launch.grid), enclosing) if host.sizes is not None else None

    def _list_reached(self, kernel: str) -> Iterator[str]:
        """Yield the texts of a kernel, and of the functions, classes and macros that it names, one through another."""
        found = self.scope.names.items()
        spans = [(name, f.span) for name, one in found if isinstance(one, FunctionSet) for f in one.functions]
        spans += [(name, s.span) for name, one in found if isinstance(one, StructSet) for s in one.definitions]
        named = [(name, self.text[slice(*span)]) for name, span in spans]
        return list_reached(kernel, (*named, *list_macros(self.text)))

    def _find_cluster(
        self, host: KernelRunner, function: tree.Function, launch: KernelLaunch, enclosing: Scope, inner: Scope
    ) -> tuple[int, int, int]:
        """Return the shape of a kernel's clusters where mbarriers are followed; (1, 1, 1) if it is open."""
        if self.follow != BARRIERS:
            return (1, 1, 1)
        head = read_head(self.text, function)
        kernels = [one for one in self._list_kernels() if one.body is not None]
        around = launch.around.span if launch.around is not None else (0, self.length if len(kernels) == 1 else 0)
        scope = inner if "__cluster_dims__" in head else enclosing
        written = find_cluster_text(head, self.text[slice(*around)])
        sizes = read_sizes(host, parse_expression(f"dim3({', '.join(written)})"), scope) if written else None
        x, y, z = (*(sizes or ()), 1, 1, 1)[:3]
        most = MOST_CTAS if self.tiles is None else MOST_TILE_CTAS
        return (x, y, z) if 0 < x * y * z <= most else (1, 1, 1)

    def _run_with_arguments(
        self, runner: KernelRunner, function: tree.Function, scope: Scope
    ) -> tuple[KernelRunner, bool]:
        """Run a kernel, again if an argument is seen to count turns; return (the last run, whether it ended)."""
        for parameter in function.parameters:
            scope.names[parameter.name] = make_argument(runner, parameter, scope)
        if runner.unsized:
            return runner, False
        try:
            return runner, run_to_end(runner, function, scope)
        except CountFoundError:
            again = self._make_runner(runner.block, runner.kernel, runner.instance, runner.cluster)
            again.grid = runner.grid
            again.turn_counts = TurnCounts(runner.turn_counts.names, runner.turn_counts.divisors)
            return self._run_with_arguments(again, function, scope)

    def _bind_launcher(
        self,
        host: KernelRunner,
        around: tree.Function | None,
        enclosing: Scope,
        element: SizedType | None = None,
        depth: int = MOST_CALLERS,
    ) -> None:
        """Bind the template parameters of a function that launches a kernel: as the text first gives them, or defaults.
        element: for types that are not known; depth: of the calls that lead to it.
        """
        if around is None or not around.templates:
            return
        uses = list_template_uses(host.text, around.name)
        callers = [(use, self._enter_caller(host, at, depth)) for use, at in uses]
        enclosing.names |= dict.fromkeys(one.name for one in around.templates)
        if depth and not uses:
            self._deduce_launcher(host, around, enclosing, depth)
        for n, parameter in enumerate(around.templates):
            values = (evaluate_template(host, use[n], caller) for use, caller in callers if n < len(use))
            value = next((value for value in values if value is not None), enclosing.names[parameter.name])
            if value is None and parameter.default is not None:
                value = evaluate_template(host, parameter.default, enclosing)
            value = value if value is not None else find_namesake(host, parameter)
            enclosing.names[parameter.name] = value if value is not None else element if parameter.is_type else None

    def _deduce_launcher(self, host: KernelRunner, around: tree.Function, enclosing: Scope, depth: int) -> None:
        """Bind the template parameters of a function that the arguments of its calls give."""
        for given, at in list_plain_calls(host.text, around.name):
            outer = find_function_around(self.body, at), self._enter_caller(host, at, depth)
            deduce_called_template(host, around, given, outer, enclosing)

    def _enter_caller(self, host: KernelRunner, at: int, depth: int) -> Scope:
        """Return the scope of a place, with the constants and template arguments of the function around it."""
        scope, caller = Scope(self.scope.find_home(at)), find_function_around(self.body, at) if depth else None
        self._bind_launcher(host, caller, scope, depth=depth - 1)
        scope.names |= {one.name: LaterValue(one, home=scope) for one in list_local_constants(caller, at)}
        return scope

    def _bind_templates(
        self, host: KernelRunner, function: tree.Function, launch: KernelLaunch, enclosing: Scope
    ) -> Scope:
        """Return a scope with the template parameters: arguments of the launch, defaults, or values of their names."""
        inner = Scope(self.scope.find_home(function.span[0]))
        bind_templates(host, function.templates, launch.templates, enclosing, inner)
        for parameter, argument in zip(function.parameters, launch.arguments, strict=False):
            deduce_template_argument(host, parameter, argument, enclosing, inner)
        for parameter in function.templates[len(launch.templates) :]:
            if (value := find_namesake(host, parameter)) is not None:
                inner.names[parameter.name] = value
        return inner

    def _make_runner(
        self, block: tuple[int, int, int], kernel: str, instance: LaunchedInstance, cluster: ClusterPlace | None
    ) -> KernelRunner:
        runner = KernelRunner(self.text, prod(block), block, self.scope)
        runner.kernel, runner.instance = kernel, instance
        runner.shared.dynamic = DYNAMIC if _DESCRIBES.search(blank_comments(self.text)) else runner.shared.dynamic
        if not may_multiply(self.scope.names[kernel].functions, self._list_reached(kernel)):
            runner.most_steps = MOST_PLAIN_STEPS
        runner.size, runner.grid = self.size[0], (self.size[1], 1, 1)
        runner.length = self.length
        if self.follow == ORDER:
            runner.order = SharedOrder(runner.threads)
        elif self.follow == BARRIERS:
            runner.barriers, runner.most_steps = BarrierTrace(), MOST_BARRIER_STEPS
            runner.open_member = OPEN_MEMBER
        if self.tiles is not None:
            runner.block_index, runner.most_steps = self.tiles.block, MOST_BARRIER_STEPS
            if self.follow == BARRIERS:
                own = blank_comments(self.text[: self.length])
                warps, loads = not _DESCRIBES.search(own), "ldmatrix" in own
                trace = TileTrace(setup=self.tiles, warps=warps, awaits=warps or loads)
                runner.barriers, runner.shared.dynamic = trace, DYNAMIC
            runner.open_member, runner.most_products = None, MOST_SIZED_PRODUCTS
            runner.sizes, runner.last_product = self.tiles.sizes.get(kernel), self.tiles.last_product
            runner.tape = NumberTape() if self.tiles.computes else None
            runner.grid = find_grid(self.tiles.grids, kernel, instance.templates) or runner.grid
        if cluster is not None:
            runner.cluster, runner.block_index = cluster, cluster.block
            runner.shared.base = cluster.base
            runner.shared.next += cluster.base
            runner.shared.dynamic += cluster.base
            if isinstance(runner.barriers, TileTrace):
                runner.barriers.join_pair(runner)
        return runner


def _is_open(launch: KernelLaunch) -> bool:
    """Return whether a template argument of a launch is not known."""
    return OPEN in str(launch.templates)
