"""What each thread of a kernel does with mbarriers, in the order of its program.

The trace is exact or lost: an address, a count, a parity or a condition that is not known ends the run. A wait that
the code repeats until it succeeds is one wait. Rules: PTX ISA 9.1, 9.7.13.15 (mbarrier), 9.7.13.1 (barriers).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code import tree
from lanescope.reader.code.inline_ptx import PtxInstruction, normalize_register, parse_immediate
from lanescope.reader.threads.barrier_bytes import BarrierBytes, BoxCopy
from lanescope.reader.threads.clusters import EVERYONE, WINDOW, list_targets, map_address
from lanescope.reader.threads.numbers import LONG, ThreadNumber, make_number, select_numbers
from lanescope.reader.threads.shared_fills import SharedFills
from lanescope.reader.threads.storage import DataBytes, Ints, Mask, Pointer, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.code.tree_statements import Assembly
    from lanescope.reader.threads.asm_code import AsmCode
    from lanescope.reader.threads.runner import KernelRunner

Span = tuple[int, int]
WARP = 32
MOST_EVENTS = 4000
MOST_TURNS = 4000
_TRY = re.compile(r"mbarrier\.(?:try|test)_wait\.")
_ARRIVE = re.compile(r"mbarrier\.arrive\.(?!drop|noComplete)|mbarrier\.arrive$|cp\.async\.mbarrier\.arrive\.noinc")
_COMMIT = re.compile(r"tcgen05\.commit\..*mbarrier::arrive::one")
_COPY = re.compile(r"cp\.async\.bulk\..*mbarrier::complete_tx")
_SILENT = re.compile(  # without an effect on a phase, but for the bytes that it expects
    r"mbarrier\.(?:expect_tx|complete_tx|inval|pending_count)|cp\.async\.mbarrier\.arrive\.(?!noinc)"
)
_ELSEWHERE = re.compile(r"(?:st|red)\.async|clusterlaunchcontrol")  # without a place in this model
_OF_CLUSTER = re.compile(
    r"multicast|cta_group::[2%]|mapa|barrier\.cluster|\.cluster\.aligned"
)  # of, or for, other CTAs
_BLOCK = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(sync|arrive|red)\b")
_JOINT = re.compile(r"\.sync\b")
_PRODUCT = re.compile(r"\b(?:wgmma\.mma_async|mma\.sync|tcgen05\.mma)\b")
_FOLLOWED = re.compile(r"mbarrier\.\w|tcgen05\.commit|\belect\.|\bbar(?:rier)?\.|\bmapa\b")
_WORD = re.compile(r"[A-Za-z_]\w*")


class TraceLostError(Exception):
    """Something with an unknown effect on mbarriers was executed."""


@dataclass(frozen=True, slots=True, eq=False)
class BarrierEvent:
    """One operation of some threads.

    kind: init, arrive, copy (whose bytes arrive), wait, await (for the phase of an arrival), product, wgmma (each one,
    in a run that follows tiles), block (a barrier of threads), pass (an arrival at one that does not wait), join (a
    wait after a pass), expect (of bytes, in a cluster) or warp; places: the mbarrier of every thread, or the number of
    the barrier; values: its count, its parity or the number of its arrival, -1 for all threads; site: the expression of
    that in the text itself, and origin that in a library; call: where the helper is called; commits: whether it arrives
    when products have ended.
    """

    kind: str
    mask: Mask
    places: Ints
    values: Ints
    site: Span
    call: Span
    commits: bool = False
    origin: Span = (0, 0)

    def is_same_wait(self, other: BarrierEvent) -> bool:
        """Return whether two waits are for the same phase, of the same threads."""
        mine, theirs = (np.where(one.mask, 2 * one.places + one.values, -1) for one in (self, other))
        return bool((mine == theirs).all())


@dataclass(slots=True)
class BarrierTrace:
    """The operations of a kernel's threads, in the order in which they were run.

    peeked: the last try_wait, until the code is seen to repeat it; doubt: whether some threads may have left;
    of_cluster: whether it ends at an instruction of a cluster whose shape is open; beyond: the mask of a multicast for
    a block that the cluster lacks.
    """

    events: list[BarrierEvent] = field(default_factory=list)
    peeked: BarrierEvent | None = None
    doubt: bool = False
    fills: SharedFills = field(default_factory=SharedFills)
    bytes: BarrierBytes = field(default_factory=BarrierBytes)
    of_cluster: bool = False
    beyond: Span | None = None

    def add(self, run: KernelRunner, event: BarrierEvent) -> None:
        """Add an operation; TraceLostError if it may not be executed."""
        known = self.peeked is not None and event.kind == "wait" and event.is_same_wait(self.peeked)
        early = self.peeked is not None and not known  # a try_wait whose result decides something else
        if self.doubt or early or (run.assumed and not known) or len(self.events) >= MOST_EVENTS:
            raise TraceLostError
        self.peeked = None
        if event.kind in ("block", "wait", "await", "join"):
            self.fills.meet_threads()
        self.events.append(event)

    def peek(self, event: BarrierEvent) -> None:
        """Note a try_wait; TraceLostError if the result of one for another phase is still to be used."""
        if self.peeked is not None and not event.is_same_wait(self.peeked):
            raise TraceLostError
        self.peeked = event

    def meet_warps(self, run: KernelRunner) -> None:
        """Note that the running threads of each warp meet; twice in a row is once."""
        if self.events and not (self.events[-1].kind == "warp" and (self.events[-1].mask == run.mask).all()):
            nothing = np.zeros(run.threads, np.int64)
            at = run.find_own_place(run.calls[-1]) if run.calls else (0, 0)
            self.events.append(BarrierEvent("warp", run.mask.copy(), nothing, nothing, at, at))

    def note_product(self, run: KernelRunner, site: Span, at: Span | None = None) -> None:
        """Note that the running threads multiply, by default where the kernel's own lines lead to it."""
        self.meet_warps(run)
        at = at or (run.calls[0] if run.calls else site)
        if not any(event.kind == "product" and event.call == at for event in self.events):
            nothing = np.zeros(run.threads, np.int64)
            self.events.append(BarrierEvent("product", run.mask.copy(), nothing, nothing, at, at))

    def follow_loop(self, run: KernelRunner, inside: Mask | None) -> Mask:
        """Return the threads that run another iteration; a loop whose end depends on a wait ends after it."""
        if inside is not None:
            if run.turns[-1] > MOST_TURNS:
                raise TraceLostError
            return inside
        self._confirm_wait(run)
        return run.nobody

    def follow_choice(self, run: KernelRunner, condition: tree.Expression | None, leaves: bool) -> Mask | None:
        """Return the threads that take a branch whose condition is open; None if they are open, too."""
        if leaves and self.peeked is not None and not isinstance(condition, tree.Unary):
            self._confirm_wait(run)
            return run.mask.copy()
        self.doubt |= leaves
        return None

    def _confirm_wait(self, run: KernelRunner) -> None:
        if self.peeked is None:
            raise TraceLostError
        self.add(run, self.peeked)

    @property
    def skips_products(self) -> bool:
        """Whether products are only noted, and bytes not followed."""
        return True

    def list_later(self, assembly: Assembly) -> Collection[int]:
        """Return the numbers of the operands of an asm statement that are loaded only if something needs them."""
        return ()

    def follow_copy(self, code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask) -> None:
        """Follow a copy whose bytes arrive on an mbarrier: the last event. mask: the threads that issue it."""

    def follow_move(self, code: AsmCode, opcode: str, operands: Sequence[str], mask: Mask) -> bool:
        """Follow an instruction without mbarriers; return whether nothing is left to do for it."""
        return False

    def note_store(self, places: Ints, data: DataBytes, mask: Mask, site: Span) -> None:
        """Note a store of running threads to shared memory."""

    def replace_bytes(self, data: DataBytes, places: Ints, mask: Mask, site: Span) -> DataBytes:
        """Return loaded bytes of shared memory as each thread finds them. site: of the load."""
        return data

    def note_fence(self) -> None:
        """Note a fence of the async proxy."""
        self.fills.note_fence()

    @property
    def ended(self) -> bool:
        """Whether nothing is left open at the end of a run."""
        return self.peeked is None


# instructions ---------------------------------------------------------------------------------------------------------


def is_skipped(run: KernelRunner, code: str, site: Span) -> bool:
    """Return whether an asm statement does nothing but a product, for which the threads of a warp meet."""
    if run.barriers is None or not run.barriers.skips_products or not _only_multiplies(code):
        return False
    run.barriers.note_product(run, site)
    return True


@lru_cache(maxsize=256)
def _only_multiplies(code: str) -> bool:
    """Return whether an asm statement has a product, and nothing of mbarriers."""
    return _PRODUCT.search(code) is not None and _FOLLOWED.search(code) is None


def follow_barrier(code: AsmCode, opcode: str, instruction: PtxInstruction) -> bool:
    """Follow an instruction; return whether nothing is left to do for it."""
    run, operands = code.run, instruction.operands
    trace = run.barriers
    if trace is None:
        return False
    if _ELSEWHERE.search(opcode) or (run.cluster is None and _OF_CLUSTER.search(opcode)):
        trace.of_cluster = run.cluster is None
        raise TraceLostError
    if opcode.startswith("mapa."):
        _map_address(code, operands)
        return True
    if opcode.startswith(("elect.", "selp.")) or (opcode.startswith("mov.") and instruction.guard):
        _run_choice(code, opcode, instruction)
        return True
    kind = _classify(opcode)
    if not kind:
        return _follow_other(code, opcode, instruction)
    mask = _find_mask(code, instruction)
    if mask.any():
        outer, run.mask = run.mask, mask
        _add_event(code, kind, opcode, operands)
        if kind == "copy" or "_tx" in opcode:
            _note_bytes(code, opcode, instruction)
        run.mask = outer
    if kind == "wait":
        _put(code, operands[0].split("|")[0], make_number(1) if _repeats(code) else None)
    return True


def _follow_other(code: AsmCode, opcode: str, instruction: PtxInstruction) -> bool:
    """Follow an instruction that adds no event; return whether nothing is left to do for it."""
    trace = code.run.barriers
    assert trace is not None
    if "_tx" in opcode:
        if "expect_tx" in opcode:
            _expect_bytes(code, opcode, instruction.operands, _find_mask(code, instruction))
        _note_bytes(code, opcode, instruction)
    if _JOINT.search(opcode):
        trace.meet_warps(code.run)
    _follow_groups(code, opcode)
    silent = opcode.startswith("bra") or bool(_SILENT.match(opcode))
    return silent or trace.follow_move(code, opcode, instruction.operands, _find_mask(code, instruction))


def _follow_groups(code: AsmCode, opcode: str) -> None:
    """Follow a proxy fence, or the commit of or the wait for a group of bulk copies to global memory."""
    run = code.run
    assert run.barriers is not None
    trace, at = run.barriers, run.find_own_place(run.calls[-1] if run.calls else code.assembly.span)
    if opcode.startswith("fence.proxy.async"):
        trace.note_fence()
    elif opcode.startswith("cp.async.bulk.commit_group"):
        trace.fills.commit_group(at)
    elif opcode.startswith("cp.async.bulk.wait_group"):
        trace.fills.wait_groups(run, at)


def _add_event(code: AsmCode, kind: str, opcode: str, operands: tuple[str, ...]) -> None:
    """Add the event of an instruction, which the running threads execute."""
    run, trace = code.run, code.run.barriers
    assert trace is not None
    event = _make_event(code, kind, opcode, operands)
    if "expect_tx" in opcode:
        _expect_bytes(code, opcode, operands)
    if kind == "wait" and not _repeats(code):
        trace.peek(event)
    elif "multicast" in opcode:
        for mask, places in _list_targets(code, opcode, event.mask, operands):
            trace.add(run, replace(event, mask=mask, places=places))
    else:
        trace.add(run, event)
    if kind == "copy":
        trace.follow_copy(code, opcode, operands, run.mask)


def _expect_bytes(code: AsmCode, opcode: str, operands: tuple[str, ...], mask: Mask | None = None) -> None:
    """Note in the trace of a cluster that a phase expects bytes: copies of other blocks may bring them."""
    run, trace = code.run, code.run.barriers
    if run.cluster is not None and trace is not None:
        event = replace(_make_event(code, "expect", opcode, operands), values=np.ones(run.threads, np.int64))
        trace.add(run, event if mask is None else replace(event, mask=mask))


def _list_targets(code: AsmCode, opcode: str, mask: Mask, operands: Sequence[str]) -> Iterator[tuple[Mask, Ints]]:
    """Yield the threads of a multicast and its mbarriers in each block that they signal."""
    token = _find_mask_operand(operands)
    place, masks, run = operands[operands.index(token) - 1], _read_lanes(code, token), code.run
    if run.barriers is not None and run.cluster is not None and (masks[mask] >> prod(run.cluster.shape)).any():
        run.barriers.beyond = code.get_site(token)
    return list_targets(opcode, mask, masks, _read_lanes(code, place))


def _find_mask_operand(operands: Sequence[str]) -> str:
    """Return the mask of a multicast: the operand after the mbarrier."""
    at = max(n for n, operand in enumerate(operands) if operand.startswith("["))
    if len(operands) <= at + 1 or operands[at + 1].startswith("{"):
        raise TraceLostError
    return operands[at + 1]


def require_statements(run: KernelRunner, code: str, opcodes: Sequence[str]) -> None:
    """Raise TraceLostError if an asm statement has mbarrier operations that were not parsed as instructions."""
    if run.barriers is not None and len(_FOLLOWED.findall(code)) > sum(len(_FOLLOWED.findall(o)) for o in opcodes):
        raise TraceLostError


def _classify(opcode: str) -> str:
    """Return the kind of an instruction's event; "" if it has none."""
    if opcode.startswith("mbarrier.init"):
        return "init"
    if _TRY.match(opcode):
        return "wait"
    if _ARRIVE.match(opcode) or _COMMIT.match(opcode):
        return "arrive"
    if _COPY.match(opcode):
        return "copy"
    if opcode.startswith("barrier.cluster."):
        return "pass" if ".arrive" in opcode else "join"
    if block := _BLOCK.match(opcode):
        return "pass" if block[1] == "arrive" else "block"
    if "mbarrier" in opcode and not _SILENT.match(opcode) and not opcode.startswith("fence."):
        raise TraceLostError
    return ""


def _repeats(code: AsmCode) -> bool:
    """Return whether an asm statement repeats its wait until that succeeds."""
    return re.search(r"\bbra\b", code.assembly.code or "") is not None


def _find_mask(code: AsmCode, instruction: PtxInstruction) -> Mask:
    """Return the threads that execute an instruction."""
    if not instruction.guard:
        return code.run.mask.copy()
    met = _read_lanes(code, instruction.guard[0]) != 0
    running: Mask = code.run.mask & (~met if instruction.guard[1] else met)
    return running


def _make_event(code: AsmCode, kind: str, opcode: str, operands: tuple[str, ...]) -> BarrierEvent:
    run = code.run
    call = run.find_own_place(run.calls[-1] if run.calls else code.assembly.span)
    if kind in ("block", "pass", "join"):
        return _make_thread_barrier(code, kind, opcode, operands, call)
    at = [n for n, operand in enumerate(operands) if operand.startswith("[")]
    if not at or (kind == "wait" and ".parity" not in opcode):
        raise TraceLostError
    places = _read_lanes(code, operands[at[-1]])
    counted = kind in ("init", "wait", "arrive") and not opcode.startswith("tcgen05.commit")
    given = operands[at[-1] + 1] if len(operands) > at[-1] + 1 and counted else ""
    values = _read_lanes(code, given) if given and "expect_tx" not in opcode else np.ones(run.threads, np.int64)
    origin = _find_count_site(code, kind, given) if given else call
    commits = opcode.startswith("tcgen05.commit")
    return BarrierEvent(kind, run.mask.copy(), places, values, run.find_own_place(origin), call, commits, origin)


def _make_thread_barrier(code: AsmCode, kind: str, opcode: str, operands: tuple[str, ...], call: Span) -> BarrierEvent:
    """Return the event of a barrier of threads: of the block, or of the cluster."""
    run = code.run
    everyone = np.full(run.threads, -1, np.int64)
    if opcode.startswith("barrier.cluster."):
        return BarrierEvent(kind, run.mask.copy(), everyone * 0 + EVERYONE, everyone, call, call)
    places = _read_lanes(code, operands[0]) if operands else everyone * 0
    values = _read_lanes(code, operands[1]) if len(operands) > 1 and ".red" not in opcode else everyone
    return BarrierEvent(kind, run.mask.copy(), places, values, call, call)


def _find_count_site(code: AsmCode, kind: str, token: str) -> Span:
    """Return the place of a count or parity; the call of a wait for a variable that begins with a number, or of an
    initialization that computes its count from several arguments.
    """
    site, own = code.get_site(token), code.assembly.span
    if kind == "init" and code.run.calls and own[0] <= site[0] < own[1]:
        return code.run.calls[-1]
    if kind != "wait" or parse_immediate(code.run.text[slice(*site)].strip()) is None:
        return site
    return code.run.calls[-1] if code.run.calls else code.assembly.span


def _note_bytes(code: AsmCode, opcode: str, instruction: PtxInstruction) -> None:
    """Note the bytes of an expect_tx; those of other instructions are not known."""
    run, operands = code.run, instruction.operands
    places = _read_lanes(code, [operand for operand in operands if operand.startswith("[")][-1])
    values = _find_lanes(code, operands[-1]) if "expect_tx" in opcode else None
    call = run.find_own_place(run.calls[-1] if run.calls else code.assembly.span)
    mask = _find_mask(code, instruction)
    if run.barriers is None:
        return
    if run.cluster is None or not opcode.startswith("cp.async.bulk"):
        run.barriers.bytes.note_expected(mask, places, values, call)
        return
    site = code.get_site(operands[1].strip().strip("[]").partition(",")[0])
    names = frozenset(_WORD.findall(run.text[slice(*site)]))
    tensor, multicast = opcode.startswith("cp.async.bulk.tensor"), "multicast" in opcode
    size = _find_lanes(code, operands[2]) if not tensor else None
    first = int(mask.argmax())
    box = BoxCopy(names, int(_read_lanes(code, operands[0])[first]) & WINDOW, run.cluster.rank)
    if multicast:
        token = _find_mask_operand(operands)
        box = replace(box, mask=code.get_site(token), blocks=int(_read_lanes(code, token)[first]).bit_count())
    for lanes, at in _list_targets(code, opcode, mask, operands) if multicast else [(mask, places)]:
        if tensor:
            run.barriers.bytes.note_boxes(lanes, at, box, call)
        else:
            run.barriers.bytes.note_copied(lanes, at, size, call)


def _map_address(code: AsmCode, operands: Sequence[str]) -> None:
    """Run mapa: the address, or the generic pointer, of a variable in the shared memory of another block."""
    value = code.get_value(operands[1])
    address = make_number(map_address(_read_lanes(code, operands[1]), _read_lanes(code, operands[2])), LONG)
    _put(code, operands[0], value.move(address) if isinstance(value, Pointer) else address)


def _find_lanes(code: AsmCode, token: str) -> Ints | None:
    """Return the value of an operand in every thread, None if it is not known."""
    value = code.get_value(token)
    known = isinstance(value, ThreadNumber) and value.const is not None
    return spread_coefficient(value.const, code.run.threads) if known else None


def _read_lanes(code: AsmCode, token: str) -> Ints:
    """Return the value of an operand in every thread; TraceLostError if it is not known."""
    run = code.run
    value: Any = code.get_address(token) if token.startswith("[") else code.get_value(token)
    if value is None:
        value = code.registers.get(normalize_register(token))
    if isinstance(value, Pointer):
        value = value.shared_address
    if not isinstance(value, ThreadNumber) or value.const is None:
        raise TraceLostError
    return spread_coefficient(value.const, run.threads)


def _run_choice(code: AsmCode, opcode: str, instruction: PtxInstruction) -> None:
    """Run elect.sync, selp, or mov under a predicate."""
    run, operands = code.run, instruction.operands
    if opcode.startswith("elect."):
        chosen = np.zeros(run.threads, np.int64)
        for warp in range(0, run.threads, WARP):
            lanes = np.flatnonzero(run.mask[warp : warp + WARP])
            chosen[warp + lanes[:1]] = 1
        first, _, predicate = operands[0].partition("|")
        _put(code, predicate, make_number(chosen))
        _put(code, first, None)
        if run.barriers is not None:
            run.barriers.meet_warps(run)
        return
    if opcode.startswith("selp."):
        condition, yes, no = operands[3], code.get_value(operands[1]), code.get_value(operands[2])
    else:
        condition, yes, no = instruction.guard[0] if instruction.guard else "", *map(code.get_value, operands[1::-1])
        if instruction.guard and instruction.guard[1]:
            yes, no = no, yes
    known = code.get_value(condition)
    known = code.registers.get(normalize_register(condition)) if known is None else known
    if isinstance(known, ThreadNumber) and known.const is not None:
        met = spread_coefficient(known.const, run.threads) != 0
        _put(code, operands[0], select_numbers(met, yes, no) if _are_numbers(yes, no) else None)
    else:
        _put(code, operands[0], None)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, ThreadNumber) for value in values)


def _put(code: AsmCode, token: str, value: Any) -> None:
    """Write a register, also under the name that guards use."""
    if token.strip() not in ("", "_"):
        code.put_value(token, value)
        if code.find_number(token) is None:
            code.registers[normalize_register(token.strip())] = value
