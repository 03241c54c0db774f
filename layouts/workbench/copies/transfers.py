"""TMA copies of kernels: which map fills which buffer, and whether a barrier expects the bytes that they transfer.

Rules: PTX ISA 9.1, 9.7.13.15.5 (expect-tx, complete-tx) and 9.7.9.27 (cp.async.bulk, cp.async.bulk.tensor).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.reader.code.findings import AsmRun, BodilessCall, Pitfall
from lanescope.reader.code.maps.tma_rules import TensorMap, list_items
from lanescope.reader.code.running.loops import MOST_ITERATIONS
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt
from lanescope.reader.code.values import Address, Pointer
from lanescope.workbench.barriers.cutlass_calls import (
    classify_cutlass_call,
    count_receivers,
    find_barrier,
    find_bytes_argument,
    name_barrier,
    read_atom_call,
)
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.wrong_boxes import CopiedBox, describe_transfer, find_wrong_box, make_stray_pitfall
from lanescope.workbench.kernels.kernel_runs import KernelEvent, KernelRun, KernelText, is_bulk_store
from lanescope.workbench.repair.blamed_numbers import find_argument_span
from lanescope.workbench.results import Span
from lanescope.workbench.text.asm_operands import find_operand_argument, find_operand_number, join_strings
from lanescope.workbench.text.known_values import require_known

TITLES = {"expect_tx_bytes": "A barrier expects other bytes than its copies bring"}
_FIELD = r"(%\w+|%\[\w+\]|\d+)"
_TENSOR = re.compile(
    rf"cp\.async\.bulk\.tensor\.[1-5]d(?:\.cta_group::\d)?\.shared::\w+\.global[\w.:]*\s+\[\s*{_FIELD}\s*\]\s*,"
    rf"\s*\[\s*{_FIELD}\s*,\s*\{{([^}}]*)\}}\s*\]\s*,\s*\[\s*{_FIELD}\s*\]"
)
_PLAIN = re.compile(
    rf"cp\.async\.bulk\.shared::\w+\.global[\w.:]*\s+\[\s*{_FIELD}\s*\]\s*,\s*\[\s*{_FIELD}\s*\]\s*,\s*{_FIELD}\s*,"
    rf"\s*\[\s*{_FIELD}\s*\]"
)
_EXPECT = re.compile(
    rf"mbarrier(?:\.arrive)?\.expect_tx[\w.:]*\s+(?:(?:_|%\w+)\s*,\s*)?\[\s*{_FIELD}\s*\]\s*,\s*{_FIELD}"
)
_QUALIFIER = re.compile(r"::(%\w+|%\[\w+\])")
_MASK = re.compile(rf"\s*,\s*{_FIELD}")
_ELSEWHERE = re.compile(r"cta_group::2|mapa|shared::cluster\.b64|im2col")  # bytes of, or for, other CTAs
_OPEN_BOX = re.compile("im2col")  # the bytes of such a box are open
_NAMED_LOAD = re.compile(r"cp_async_bulk_tensor_[1-5]d_global_to_shared")
_PTX_LOAD_ARGUMENTS = 6  # of cuda::ptx::cp_async_bulk_tensor: two spaces, address, map, coordinates, mbarrier
_LONGEST = 80  # characters of an argument that names a map
CUT_TURNS = frozenset(MOST_ITERATIONS)  # a loop with this many iterations may have been cut
Loops = tuple[tuple[str, SymbolicInt], ...]


@dataclass(frozen=True, slots=True)
class TileCopy:
    """A copy into shared memory.

    to: its byte address, None if open; barrier: the key of the barrier that counts its bytes; maps: possible names of
    its map; at: its coordinates, innermost first, and where they are written; count: its bytes, None if the map
    determines them; times: how many of these boxes each CTA gets, since all CTAs execute a multicast; None if open.
    """

    event: KernelEvent
    to: LinearExpression | None
    barrier: str
    maps: frozenset[str]
    at: tuple[SymbolicInt | None, ...] = ()
    count: int | None = None
    written: tuple[Span, ...] = ()
    times: int | None = 1


@dataclass(frozen=True, slots=True)
class ExpectedBytes:
    """An expect-tx of a barrier. count: its bytes; span: where they are given."""

    event: KernelEvent
    barrier: str
    count: int | None
    span: Span


_Transfer = TypeVar("_Transfer", ExpectedBytes, TileCopy)


def find_transfer_mistakes(text: KernelText) -> list[Pitfall]:
    """Find barriers whose expected bytes differ from those that the copies transfer; each line once."""
    if not re.search(r"expect_tx|arrive_tx|expect_transaction|transaction_bytes", text.code.text):
        return []
    return text.check_runs(lambda run: _check_bytes(run, text))


def _check_bytes(kernel: KernelRun, text: KernelText) -> Iterator[Pitfall]:
    """Yield the first expect-tx of each barrier that never equals the bytes of its copies."""
    own = is_known(kernel)  # else bytes may be of, or for, other CTAs
    expected, copies = _read_transfers(kernel, text.blank) if own or is_known(kernel, _OPEN_BOX) else ([], [])
    groups: dict[tuple[str, str], list[ExpectedBytes]] = {}
    for transfer in expected:
        groups.setdefault((transfer.barrier, _key_loops(transfer.event.loops)), []).append(transfer)
    reported: set[Span] = set()
    for group in groups.values():
        brought = _find_brought(group[0], expected, copies)
        cut = _may_be_cut(brought, len(group[0].event.loops), text.code.unbounded_variables)
        arms = {one.event.arms for one in group} | {one.event.arms for one in brought}
        found = _judge_bytes(group, brought, copies, text, own) if brought and not cut and len(arms) == 1 else None
        if found is not None and group[0].span not in reported:
            reported.add(group[0].span)
            yield found


def _judge_bytes(
    group: Sequence[ExpectedBytes],
    brought: Sequence[TileCopy],
    copies: Sequence[TileCopy],
    text: KernelText,
    own: bool,
) -> Pitfall | None:
    """Return the finding of a barrier that expects other bytes than its copies bring. own: whether these are all."""
    sizes = require_known(_count_bytes(copy, text.maps) for copy in brought)
    counts = require_known(transfer.count for transfer in group)
    if sizes is None or counts is None or sum(sizes) == sum(counts):
        return None
    wrong = _find_box(brought, sizes, sum(counts), copies, text)
    if wrong is not None or not own:
        return wrong
    stray = _find_stray_copy(group[0], sum(counts) - sum(sizes), copies, text.maps)
    if stray is not None:
        return make_stray_pitfall(stray.barrier, stray.event.at, text.blank)
    return Pitfall("expect_tx_bytes", describe_transfer(sum(counts), sizes), group[0].span)


def _find_box(
    brought: Sequence[TileCopy], sizes: Sequence[int], expected: int, copies: Sequence[TileCopy], text: KernelText
) -> Pitfall | None:
    """Return the finding of a box of a wrong size; None if a multicast may have too few receivers instead."""
    if sum(sizes) < expected and "multicast" in text.code.text.lower():
        return None
    pairs = zip(brought, sizes, strict=True)
    boxes = [CopiedBox(find_named_map(one.maps, text.maps), size, one.to) for one, size in pairs]
    return find_wrong_box(boxes, expected, [copy.to for copy in copies], text.blank)


def _read_transfers(kernel: KernelRun, blank: str) -> tuple[list[ExpectedBytes], list[TileCopy]]:
    """Return every expect-tx and every copy of a kernel; nothing if one of them is unknown."""
    expected = [read_expected(event, blank) for event in kernel.events if event.kind == "expect"]
    copies = require_known(list_copies(kernel, blank)) or []
    return [_drop_address(one) for one in require_known(expected) or []], [_drop_address(one) for one in copies]


def _drop_address(one: _Transfer) -> _Transfer:
    """Give a barrier one name, also where a member function of its class takes its address: `&full.state`."""
    return replace(one, barrier=one.barrier.removeprefix("&"))


def _find_brought(
    expected: ExpectedBytes, all_expected: Sequence[ExpectedBytes], copies: Sequence[TileCopy]
) -> list[TileCopy]:
    """Return the copies of a barrier in the loops around an expect-tx, except those of a nested expect-tx."""
    loops_around = expected.event.loops
    nested = [transfer.event.loops for transfer in all_expected if transfer.barrier == expected.barrier]
    inner = [loops for loops in nested if len(loops) > len(loops_around)]  # whose copies are their own
    return [
        copy
        for copy in copies
        if copy.barrier == expected.barrier
        and _is_inside(copy, loops_around)
        and not any(_is_inside(copy, loops) for loops in inner)
    ]


def _find_stray_copy(
    expected: ExpectedBytes, lacking: int, copies: Sequence[TileCopy], maps: Sequence[TensorMap]
) -> TileCopy | None:
    """Find the one copy whose bytes an expect-tx lacks and that arrives on another barrier of the same array."""
    array = expected.barrier.split(" ")[0]
    beside = [
        copy
        for copy in copies
        if _is_inside(copy, expected.event.loops)
        and copy.barrier != expected.barrier
        and copy.barrier.split(" ")[0] == array
        and _count_bytes(copy, maps) == lacking
    ]
    named = all(part.isidentifier() for part in array.split("."))
    return beside[0] if len(beside) == 1 and named else None


def is_known(kernel: KernelRun, open_forms: re.Pattern[str] = _ELSEWHERE) -> bool:
    """Return whether all copies of a kernel are known. open_forms: PTX that leaves it open; by default what
    counts bytes of, or for, other CTAs.
    """
    return kernel.complete and not any(
        event.kind == "unknown" or open_forms.search(_read_form(event.run)) for event in kernel.events
    )


def _read_form(run: object) -> str:
    """Return the PTX of an asm statement with numbers substituted in its opcodes (cta_group::%5); "" for other
    statements.
    """
    if not isinstance(run, AsmRun):
        return ""

    def fill(match: re.Match[str]) -> str:
        number = find_operand_number(run, match[1])
        return match[0] if number is None else f"::{number}"

    return _QUALIFIER.sub(fill, join_strings(run.text))


def find_coordinate(text: KernelText, copy: TileCopy, number: int) -> Span:
    """Return where a kernel's own lines give a coordinate of a copy; the copy if that is not known."""
    known = number < len(copy.written)
    return text.narrow_event(copy.event, copy.written[number], "") if known else copy.event.at


# reading events -------------------------------------------------------------------------------------------------------


def read_expected(event: KernelEvent, blank: str) -> ExpectedBytes | None:
    """Read an expect-tx: of PTX, of libcu++ or of CUTLASS. blank: the text without comments."""
    run = event.run
    if event.kind != "expect":
        return None
    if isinstance(run, AsmRun):
        match = _EXPECT.search(join_strings(run.text))
        if match is None:
            return None
        barrier, _, _ = find_operand_argument(run, match[1], 0)
        value, span, _ = find_operand_argument(run, match[2], 0)
        return ExpectedBytes(event, _get_name(barrier), value.known if value is not None else None, span)
    if isinstance(run, BodilessCall) and classify_cutlass_call(run) == "expect":
        return _read_cutlass_expect(event, run, blank)
    if isinstance(run, BodilessCall) and len(run.term.arguments) > 1:
        barrier_at = 0 if run.term.head != "mbarrier_arrive_expect_tx" else -2
        value = get_integer(run.term.arguments[-1])
        known = value.known if value is not None else None
        span = find_argument_span(blank, run.term.span, len(run.term.arguments) - 1) or run.term.span
        return ExpectedBytes(event, _get_name(run.term.arguments[barrier_at]), known, span)
    return None


def list_copies(kernel: KernelRun, blank: str) -> list[TileCopy | None]:
    """List the copies of a kernel into shared memory, None for one that is not known; blank: see read_copy."""
    return [read_copy(event, blank) for event in kernel.events if event.kind == "bulk" and not is_bulk_store(event)]


def read_copy(event: KernelEvent, blank: str) -> TileCopy | None:
    """Parse a copy into shared memory in PTX, CUTLASS or libcu++; None for anything else.

    blank: the text without comments, whose words may name the map.
    """
    run = event.run
    if isinstance(run, AsmRun):
        return _read_ptx_copy(event, run, blank)
    if not isinstance(run, BodilessCall):
        return None
    if classify_cutlass_call(run) == "bulk":
        return _read_cutlass_copy(event, run, blank)
    if _NAMED_LOAD.fullmatch(run.term.head) and len(run.term.arguments) >= 4:
        to, tensor_map, *places, barrier = run.term.arguments
        names = list_argument_names(run, tensor_map, 1, blank)
        at = tuple(get_integer(place) for place in places)
        return TileCopy(event, _get_address(to), _get_name(barrier), names, at)
    if run.term.head == "cp_async_bulk_tensor" and len(run.term.arguments) == _PTX_LOAD_ARGUMENTS:
        to, tensor_map, where, barrier = run.term.arguments[2:]
        names = list_argument_names(run, tensor_map, 3, blank)
        at = tuple(get_integer(item) for item in list_items(where) or ())
        return TileCopy(event, _get_address(to), _get_name(barrier), names, at) if at else None
    return None


def _read_ptx_copy(event: KernelEvent, run: AsmRun, blank: str) -> TileCopy | None:
    """Read cp.async.bulk or cp.async.bulk.tensor into shared memory; None for another statement."""
    text = _read_form(run)
    if tensor := _TENSOR.search(text):
        (to, _, _), (_, written, _), (barrier, _, _) = (find_operand_argument(run, tensor[n], 0) for n in (1, 2, 4))
        found = [find_operand_argument(run, coordinate.strip(), 0) for coordinate in tensor[3].split(",")]
        at, spans = tuple(value for value, _, _ in found), tuple(span for _, span, _ in found)
        names = list_names(run, tensor[2]) | _list_words(blank, written)
        times = _count_multicast(run, text, tensor.end())
        return TileCopy(event, _get_address(to), _get_name(barrier), names, at, written=spans, times=times)
    if plain := _PLAIN.search(text):
        to, barrier = (find_operand_argument(run, plain[n], 0)[0] for n in (1, 4))
        count = find_operand_number(run, plain[3])
        known = -1 if count is None else count
        return TileCopy(event, _get_address(to), _get_name(barrier), frozenset(), (), known)
    return None


def _count_multicast(run: AsmRun, text: str, past: int) -> int | None:
    """Return how many boxes each CTA gets of a copy of PTX. past: the end of its barrier operand."""
    if ".multicast" not in text:
        return 1
    match = _MASK.match(text, past)
    mask = find_operand_number(run, match[1]) if match else None
    return mask.bit_count() if mask is not None and mask > 0 else None


def _read_cutlass_expect(event: KernelEvent, call: BodilessCall, blank: str) -> ExpectedBytes:
    at = find_bytes_argument(call)
    value = get_integer(call.term.arguments[at]) if at is not None else None
    span = find_argument_span(blank, call.term.span, at) if at is not None else None
    return ExpectedBytes(
        event, _get_name(find_barrier(call)), value.known if value is not None else None, span or call.term.span
    )


def _read_cutlass_copy(event: KernelEvent, call: BodilessCall, blank: str) -> TileCopy:
    atom, arguments = read_atom_call(call), call.term.arguments
    if atom is None or atom.paired:
        return TileCopy(event, None, "", frozenset(), (), -1)
    spans = [find_argument_span(blank, call.term.span, n) for n in atom.coordinates]
    return TileCopy(
        event,
        _get_address(arguments[atom.to]),
        _get_name(name_barrier(arguments[atom.barrier])),
        list_argument_names(call, arguments[0], 0, blank),
        tuple(get_integer(arguments[n]) for n in atom.coordinates),
        written=tuple(span or call.term.span for span in spans),
        times=1 if atom.mask is None else count_receivers(arguments[atom.mask]),
    )


def _count_bytes(copy: TileCopy, maps: Sequence[TensorMap]) -> int | None:
    if copy.count is not None:
        return copy.count if copy.count >= 0 else None
    tensor_map = find_named_map(copy.maps, maps)
    if tensor_map is None or tensor_map.element_bits not in (8, 16, 32, 64) or copy.times is None:
        return None
    known = len(tensor_map.box) == len(copy.at)
    return copy.times * count_box_bytes(tensor_map) or None if known else None


def count_box_bytes(tensor_map: TensorMap) -> int:
    """Return the bytes of a tensor map's box, 0 if they are open."""
    sizes = require_known(tensor_map.box)
    return prod(sizes) * (tensor_map.element_bits or 0) // 8 if sizes else 0


def list_names(run: AsmRun, argument: str) -> frozenset[str]:
    """Return the names of the symbols in an operand of an asm statement, and of what they hold."""
    value = find_operand_argument(run, argument, 0)[0]
    symbols = {name for piece in value.pieces for name, _ in piece.source.terms} if value is not None else set()
    places: Mapping[str, tuple[str, ...]] = dict(run.places)
    return frozenset(name for symbol in symbols for name in (symbol, *places.get(symbol, ())))


def _list_words(blank: str, at: Span) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", blank[slice(*at)])) if at[1] - at[0] < _LONGEST else set()


def _list_value_names(value: object) -> frozenset[str]:
    place = value.place if isinstance(value, Address) else None
    names = {getattr(place, "name", ""), str(getattr(getattr(place, "value", None), "text", ""))}
    if isinstance(value, Pointer):
        names |= {name for name, _ in value.base.terms}
    return frozenset(filter(None, names))


def list_argument_names(call: BodilessCall, value: object, number: int, blank: str) -> frozenset[str]:
    """Return the names of an argument of a call, and the words that it is written with."""
    written = find_argument_span(blank, call.term.span, number)
    return _list_value_names(value) | (_list_words(blank, written) if written is not None else set())


def _get_address(value: object) -> LinearExpression | None:
    """Return the address that an argument or an operand is; None if it is open."""
    integer = get_integer(value) if isinstance(value, Pointer | SymbolicInt) else None
    return integer.plain if integer is not None else None


def _get_name(value: object) -> str:
    """Return a key that identifies a barrier."""
    integer = get_integer(value) if value is not None and not isinstance(value, str) else None
    return str(integer.plain) if integer is not None and integer.plain is not None else str(value)


def _key_loops(loops: Loops) -> str:
    return ", ".join(f"{name} = {value}" for name, value in loops)


def _is_inside(copy: TileCopy, outer: Loops) -> bool:
    return _key_loops(copy.event.loops[: len(outer)]) == _key_loops(outer)


def _may_be_cut(copies: Sequence[TileCopy], depth: int, endless: frozenset[str]) -> bool:
    """Return whether a loop around the copies may have more iterations than were followed."""
    turns: dict[str, set[str]] = {}
    for copy in copies:
        for name, value in copy.event.loops[depth:]:
            turns.setdefault(name, set()).add(str(value))
    return any(name in endless or len(values) in CUT_TURNS for name, values in turns.items())
