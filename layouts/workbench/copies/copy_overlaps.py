"""Find TMA copies that fill the same bytes: of two operands, or of two stages of one operand.

Only starts at a known distance are compared, and only boxes of known size. Copies that wait for one another may share
bytes: two copies of different calls are compared only if no wait is between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.reader.code.running.run_records import SkippedCode
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt
from lanescope.reader.code.values import Pointer
from lanescope.workbench.copies.box_loads import is_load_name, list_map_names
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import TileCopy, count_box_bytes, read_copy
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText
from lanescope.workbench.kernels.spins import may_spin
from lanescope.workbench.repair.blamed_numbers import find_argument_span, find_given_value
from lanescope.workbench.repair.blamed_terms import find_given_argument, follow_stage_item
from lanescope.workbench.results import Span, Workbench
from lanescope.workbench.text.addresses import evaluate_linear
from lanescope.workbench.text.asm_operands import join_strings
from lanescope.workbench.text.function_texts import find_enclosing_function

TITLES = {"copies_overlap": "Two TMA copies fill the same bytes"}
MOST_COMPARED = 64  # copies of one kernel
_BARRIER = re.compile(r"bar|full|empty|phase|sem", re.I)
_BLOCK = re.compile(r"rank|blockIdx|cta", re.I)
_OF_SEVERAL = re.compile(r"multicast|cta_group::2")  # blocks
_MULTICAST = re.compile(r"^(?!.*multicast)", re.S)  # all but these
_COMPUTED = re.compile(r"\[|\w\s*[+*]\s*\w")  # an address that its own function computes
_QUIET = re.compile(r"^__cvta|expect|arrive|cast|min$|max$")
_MAY_WAIT = re.compile(r"wait|sync|finish|drain|block|acquire", re.I)
_WAITS = re.compile(
    r"try_wait|test_wait|wait_group|bar\.|barrier\.(?!cluster\.arrive)|elect|griddepcontrol|\bbra\b"
    r"|\bld\.(?:volatile|relaxed|acquire)|\batom\."
)


@dataclass(frozen=True, slots=True)
class PlacedCopy:
    """A copy with its first byte and how many bytes its box has; argument: where its destination is written."""

    copy: TileCopy
    to: LinearExpression
    count: int
    argument: Span | None

    @property
    def event(self) -> KernelEvent:
        return self.copy.event

    def find_distance(self, other: PlacedCopy) -> int | None:
        """Return the bytes from this copy's start to another's; None if unknown or if they do not overlap."""
        if not self.to.terms or self.to.terms != other.to.terms:
            return None
        away = other.to.const - self.to.const
        return away if -other.count < away < self.count else None


def find_overlaps(text: KernelText, bench: Workbench) -> list[Pitfall]:
    """Find copies that overwrite part of another copy's box; each place once."""

    def check(run: KernelRun) -> list[Pitfall]:
        copies = list_placed(text, run.events)
        near = list(_check_neighbours(text, copies))
        return [
            *_check_blocks(list_placed(text, run.events, _MULTICAST)),
            *near,
            *_check_turns(text, copies, bench, bool(near)),
        ]

    return text.check_copies(check)


def list_placed(
    text: KernelText, events: Sequence[KernelEvent], others: re.Pattern[str] = _OF_SEVERAL
) -> list[PlacedCopy]:
    """List the first copies of a kernel whose place and size are known. others: those that are left out."""
    placed = (_place_copy(text, event) for event in events if not others.search(getattr(event.run, "text", "")))
    return list(islice((copy for copy in placed if copy is not None), MOST_COMPARED))


def _check_blocks(copies: Iterable[PlacedCopy]) -> Iterator[Pitfall]:
    """Yield multicasts to which each block of a cluster brings another box, less than a box after that of the one
    before.
    """
    for copy in copies:
        moved = {name for at in copy.copy.at if at is not None and at.plain is not None for name, _ in at.plain.terms}
        for name, away in copy.to.terms:
            if name in moved and _BLOCK.search(name) and 0 < away < copy.count:
                yield _make_pitfall(copy, copy, away, "the box of the block before", copy.argument)


def _check_neighbours(text: KernelText, copies: Sequence[PlacedCopy]) -> Iterator[Pitfall]:
    """Yield overlaps of consecutive copies of different calls."""
    records: tuple[AsmRun | BodilessCall | SkippedCode, ...] = (
        *text.code.asm_runs,
        *text.code.bodiless_calls,
        *text.code.skipped,
    )
    waits = [record.order for record in records if _may_wait(record)]
    ends = dict(text.code.overflowed)  # behind them waits may be left out
    for before, after in pairwise(copies):
        together = before.event.loops == after.event.loops and before.event.arms == after.event.arms
        waited = any(before.event.order < order < after.event.order for order in waits)
        waited |= after.event.order > ends.get(after.event.calls[0][0], after.event.order)
        away = before.find_distance(after)
        if not (together and away) or waited or before.event.at == after.event.at:
            continue
        if not may_spin(text, before.event, after.event):
            yield _make_pitfall(before, after, away, "the box of another copy", _find_base(text, after))


def _check_turns(text: KernelText, copies: Sequence[PlacedCopy], bench: Workbench, near: bool) -> Iterator[Pitfall]:
    """Yield copies of one call that begin inside the box of an earlier iteration, where no descriptor begins.

    Also copies of a stage that share bytes with what another call fills in the stage before, unless `near` ones do.
    """
    reads = _ReadStarts.of_bench(bench)
    firsts: dict[object, PlacedCopy] = {}
    for later in copies:
        first = firsts.setdefault((later.event.at, later.event.calls, later.copy.maps), later)
        if not _is_next_turn(first.event, later.event):
            continue
        staged = _have_other_barriers(first.copy, later.copy)  # of a pipeline: neither waits until the other is read
        if staged and not near and first.to != later.to:
            before = [other for other in firsts.values() if _is_of_stage(other, first)]
            yield from _check_stage_before(text, before, later)
        away = first.find_distance(later)
        if away == 0 and staged and reads.are_in_other_stages(first):
            yield _make_same_stage_pitfall(later)
        elif away and (staged or reads.are_in_later_stages(first, away)):
            what = "the box that the same call fills in an earlier iteration"
            at = later.argument and follow_stage_item(text.blank, later.argument)
            yield _make_pitfall(first, later, away, what, at)


def _check_stage_before(text: KernelText, before: Iterable[PlacedCopy], later: PlacedCopy) -> Iterator[Pitfall]:
    """Yield overlaps of a copy with copies into the previous stage, which may still be read. before: these copies."""
    for other in before:
        away = other.find_distance(later)
        if away is not None and not (_is_awaited(text, other, later) or may_spin(text, other.event, later.event)):
            yield _make_pitfall(
                other, later, away, "the box that another call fills in the previous stage", later.argument
            )


@dataclass(frozen=True, slots=True)
class _ReadStarts:
    """Where the descriptors of a text begin to read. symbols: the addresses that the bench assumes, by their names."""

    starts: frozenset[int]
    symbols: Mapping[str, int]

    @classmethod
    def of_bench(cls, bench: Workbench) -> _ReadStarts:
        return cls(frozenset[int]().union(*(operand.starts for operand in bench.operands)), bench.addresses)

    def are_in_later_stages(self, copy: PlacedCopy, away: int) -> bool:
        """Return whether descriptors read a box and boxes after it, but none that begins `away` bytes later."""
        begin = evaluate_linear(copy.to, self.symbols)
        if begin is None or begin not in self.starts or begin + away in self.starts:
            return False
        return any(begin + copy.count <= read < begin + 8 * copy.count for read in self.starts)

    def are_in_other_stages(self, copy: PlacedCopy) -> bool:
        """Return whether descriptors read a box, and two behind it in the same stride."""
        begin = evaluate_linear(copy.to, self.symbols)
        return begin is not None and all(begin + n * copy.count in self.starts for n in range(3))


def _make_same_stage_pitfall(copy: PlacedCopy) -> Pitfall:
    return Pitfall(
        "copies_overlap",
        "Every iteration copies to the same bytes, but on the mbarrier of another stage, and the next stages are read:"
        " the destination must advance with the stage.",
        copy.argument or copy.event.at,
    )


def _have_other_barriers(first: TileCopy, later: TileCopy) -> bool:
    """Return whether two copies arrive on different mbarriers of one array."""
    first_barrier, later_barrier = first.barrier, later.barrier
    return (
        "None" not in (first_barrier, later_barrier)
        and "" not in (first_barrier, later_barrier)
        and first_barrier != later_barrier
        and first_barrier.split(" ")[0] == later_barrier.split(" ")[0]
    )


def _is_awaited(text: KernelText, copy: PlacedCopy, later: PlacedCopy) -> bool:
    """Return whether the code between two copies may wait for the barrier of the first."""
    between = range(copy.event.order + 1, later.event.order)
    for call in text.code.bodiless_calls:
        if call.order in between and _may_wait(call):
            return True
    waits = (run for run in text.code.asm_runs if run.order in between and _may_wait(run))
    values = (str(value) for run in waits for _, value, _ in run.inputs if value is not None)
    return copy.copy.barrier in values or any(skipped.order in between for skipped in text.code.skipped)


def _is_of_stage(copy: PlacedCopy, other: PlacedCopy) -> bool:
    """Return whether copies of two calls fill the same stage: both arrive on one mbarrier."""
    same = copy.event.loops == other.event.loops and copy.event.arms == other.event.arms
    return same and copy.event.at != other.event.at and copy.copy.barrier == other.copy.barrier


def _is_next_turn(first: KernelEvent, later: KernelEvent) -> bool:
    """Return whether two runs of a call differ by one iteration of one loop and take the same branches."""
    if [arm for _, arm in first.arms] != [arm for _, arm in later.arms]:
        return False
    pairs = list(zip(first.loops, later.loops, strict=False))
    return len(first.loops) == len(later.loops) and sum(a != b for a, b in pairs) == 1


def _make_pitfall(first: PlacedCopy, later: PlacedCopy, away: int, what: str, span: Span | None) -> Pitfall:
    shared = min(first.count - away, later.count) if away > 0 else min(later.count + away, first.count)
    side = f"{abs(away):,} bytes {'after' if away > 0 else 'before'} the start of" if away else "at the start of"
    message = (
        f"This copy of {later.count:,} bytes begins {side} {what} ({first.count:,} bytes): {shared:,} bytes overlap,"
        " so one copy overwrites data of the other."
    )
    return Pitfall("copies_overlap", message, later.event.at if span is None else span)


def _find_base(text: KernelText, copy: PlacedCopy) -> Span | None:
    """Find the sum that places the buffer of a copy after another buffer; else the destination of the copy."""
    if copy.argument is None:
        return None
    destination = text.blank[slice(*copy.argument)]
    match = re.match(
        r"(?:\(\s*(?:u?int\d*_t|unsigned|int)\s*\)|static_cast\s*<\w+>|__cvta_generic_to_shared|\w*smem\w*|[(&\s])*",
        destination,
    )
    name = re.match(r"([A-Za-z_]\w*)\s*(?:[+\[)]|$)", destination[match.end() if match else 0 :])
    value_span = name and find_given_value(text.blank, name[1], copy.argument, list(copy.event.calls))
    return value_span if value_span and "+" in text.blank[slice(*value_span)] else copy.argument


def _place_copy(text: KernelText, event: KernelEvent) -> PlacedCopy | None:
    """Return a copy with its place and size; None if one is open."""
    copy = read_copy(event, text.blank) if event.kind == "bulk" else None
    argument: Span | None = None
    if copy is None and event.kind == "unknown" and isinstance(event.run, BodilessCall):
        copy, argument = read_call_copy(text, event, event.run)
    elif copy is not None and isinstance(event.run, AsmRun):
        argument = _find_destination(text, event, copy)
    if copy is None or copy.to is None:
        return None
    tensor_map = find_named_map(copy.maps, text.maps) if copy.count is None else None
    count = (count_box_bytes(tensor_map) if tensor_map is not None else copy.count) or 0
    return PlacedCopy(copy, copy.to, count, argument) if count > 0 else None


def _find_destination(text: KernelText, event: KernelEvent, copy: TileCopy) -> Span | None:
    """Find the expression of a PTX copy's destination in the kernel; None if not found."""
    assert isinstance(event.run, AsmRun)
    at = next((span for _, value, span in event.run.inputs if value is not None and value.plain == copy.to), None)
    for called, call in reversed(event.calls):
        if at is None or event.at[0] <= at[0] < event.at[1] or _COMPUTED.search(text.blank[slice(*at)]):
            break
        function = find_enclosing_function(text.blank, at[0])
        if function is None or function.name != called:
            return at if function is not None and function.kernel else None
        if function.kernel:
            break
        at = find_given_argument(text.blank, at, call)
    return at


def _find_buffer(value: object) -> LinearExpression | None:
    """Return the address of an argument; None if it is unknown, of a barrier, or different between threads."""
    address = get_integer(value) if isinstance(value, Pointer | SymbolicInt) else None
    line = address.plain if address is not None else None
    names = {name for name, _ in line.terms} if line is not None else set()
    return line if names and not any(_BARRIER.search(name) or "Idx" in name for name in names) else None


def read_call_copy(text: KernelText, event: KernelEvent, call: BodilessCall) -> tuple[TileCopy | None, Span | None]:
    """Return the copy that a call of a bodiless function makes, by its name and arguments: a tensor map, one shared
    address, and integers as coordinates in order.
    """
    values = list(call.term.arguments)
    maps = {name for value in values for name in list_map_names(value)}
    if not is_load_name(call.term.head) or not maps:
        return None, None
    for n, value in enumerate(values):
        line = None if _is_tensor_map(value) else _find_buffer(value)
        if line is None:
            continue
        copied_maps = frozenset(maps - {name for name, _ in line.terms})
        if n and not any(tensor_map.has_name_in(copied_maps) for tensor_map in text.maps):
            return None, None
        at = tuple(
            coordinate for coordinate in values if isinstance(coordinate, SymbolicInt) and coordinate is not value
        )
        return TileCopy(event, line, "", copied_maps, at), find_argument_span(text.blank, call.term.span, n)
    return None, None


def _is_tensor_map(value: object) -> bool:
    """Return whether a value is the address of a tensor map that the host's code has made."""
    kind = value.array.typed if isinstance(value, Pointer) and value.array is not None else None
    return kind is not None and kind.name == "CUtensorMap"


def _may_wait(record: AsmRun | BodilessCall | SkippedCode) -> bool:
    """Return whether code may wait for a copy."""
    if isinstance(record, BodilessCall):
        return _may_call_wait(record.term.head)
    return isinstance(record, SkippedCode) or _has_wait(record.text)


@lru_cache(maxsize=256)
def _may_call_wait(head: str) -> bool:
    return bool(_MAY_WAIT.search(head)) or not (is_load_name(head) or _QUIET.search(head))


@lru_cache(maxsize=256)
def _has_wait(code: str) -> bool:
    return _WAITS.search(join_strings(code)) is not None
