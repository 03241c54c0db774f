"""The instructions of mbarriers, barriers of threads and copies, as operations of a trace.

Rules: PTX ISA 9.1, 9.7.13.15 (mbarrier), 9.7.13.1 (barriers), 9.7.9.25 (bulk copies).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.ptx.threads import WARP
from lanescope.reader.code.ptx.inline_ptx import PtxInstruction, normalize_register, parse_immediate
from lanescope.reader.threads.barriers.barrier_bytes import BoxCopy
from lanescope.reader.threads.barriers.barrier_trace import BarrierEvent, TraceLostError, require_known
from lanescope.reader.threads.barriers.clusters import EVERYONE, WINDOW, list_targets, map_address
from lanescope.reader.threads.barriers.tensor_trace import follow_tensor
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, make_number, select_numbers
from lanescope.reader.threads.memory.storage import Ints, Mask, Pointer, Span, spread_coefficient

if TYPE_CHECKING:
    from lanescope.reader.threads.instructions.asm_code import AsmCode
    from lanescope.reader.threads.runner import KernelRunner

_TRY = re.compile(r"mbarrier\.(?:try|test)_wait\.")
_ARRIVE = re.compile(r"mbarrier\.arrive\.(?!drop|noComplete)|mbarrier\.arrive$|cp\.async\.mbarrier\.arrive\.noinc")
_COMMIT = re.compile(r"tcgen05\.commit\..*mbarrier::arrive::one")
_COPY = re.compile(r"cp\.async\.bulk\..*mbarrier::complete_tx")
_SHAPED = re.compile(r"gather4|im2col")  # copies of other bytes than a box has
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


def is_skipped(run: KernelRunner, code: str, site: Span) -> bool:
    """Return whether an asm statement does nothing but a product, for which the threads of a warp meet; one in tensor
    memory is followed.
    """
    if run.barriers is None or not run.barriers.skips_products or not _only_multiplies(code):
        return False
    run.barriers.note_product(run, site)
    run.barriers.asynchronous.inline = True
    return "tcgen05." not in code or run.barriers.tensor.lost


def lose_product(run: KernelRunner, code: str) -> bool:
    """Give up following tensor memory at a product whose operands need an unknown call; False for other statements."""
    if run.barriers is None or not _only_multiplies(code):
        return False
    run.barriers.tensor.lost = True
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
        raise TraceLostError("clusters of CTAs are not followed")
    if opcode.startswith("mapa."):
        _map_address(code, operands)
        return True
    if opcode.startswith(("elect.", "selp.")) or (opcode.startswith("mov.") and instruction.guard):
        _run_choice(code, opcode, instruction)
        return True
    kind = _classify(opcode)
    if not kind:
        return _follow_other(code, opcode, instruction)
    mask = require_known(code.find_mask(instruction))
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
            _expect_bytes(code, opcode, instruction.operands, require_known(code.find_mask(instruction)))
        _note_bytes(code, opcode, instruction)
    if _JOINT.search(opcode):
        trace.meet_warps(code.run)
    if opcode.startswith("tcgen05."):
        _follow_tensor(code, opcode, instruction)
        return True
    _follow_groups(code, opcode)
    silent = opcode.startswith("bra") or bool(_SILENT.match(opcode))
    return silent or trace.follow_move(code, opcode, instruction.operands, require_known(code.find_mask(instruction)))


def _follow_tensor(code: AsmCode, opcode: str, instruction: PtxInstruction) -> None:
    trace = code.run.barriers
    assert trace is not None
    before = len(trace.tensor.events)
    follow_tensor(code, opcode, instruction)
    if trace.tensor.lost and not trace.skips_products:
        raise TraceLostError
    for event in trace.tensor.events[before:]:
        trace.follow_tensor(code, event, instruction.operands)


def _follow_groups(code: AsmCode, opcode: str) -> None:
    """Follow a proxy fence, or the commit of or the wait for a group of bulk copies to global memory."""
    run = code.run
    assert run.barriers is not None
    trace, at = run.barriers, run.find_own_place(run.get_call(code.assembly.span))
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
        for rank, mask, places in _list_targets(code, opcode, event.mask, operands):
            trace.add(run, replace(event, mask=mask, places=places))
            if kind == "copy":
                trace.follow_copy(code, opcode, operands, mask, rank)
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


def _list_targets(code: AsmCode, opcode: str, mask: Mask, operands: Sequence[str]) -> Iterator[tuple[int, Mask, Ints]]:
    """Yield each block that a multicast is for, with the threads and the mbarriers that they signal."""
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
    if run.barriers is not None and not _has_all(code, tuple(opcodes)):
        raise TraceLostError


@lru_cache(maxsize=256)
def _has_all(code: str, opcodes: tuple[str, ...]) -> bool:
    return len(_FOLLOWED.findall(code)) <= sum(len(_FOLLOWED.findall(opcode)) for opcode in opcodes)


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


def _make_event(code: AsmCode, kind: str, opcode: str, operands: tuple[str, ...]) -> BarrierEvent:
    run = code.run
    at = [n for n, operand in enumerate(operands) if operand.startswith("[")]
    call = code.find_call(*operands[at[-1] :][:2]) if kind == "wait" and at else run.get_call(code.assembly.span)
    call = run.find_own_place(call)
    if kind in ("block", "pass", "join"):
        return _make_thread_barrier(code, kind, opcode, operands, call)
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
    return code.find_call(token)


def _note_bytes(code: AsmCode, opcode: str, instruction: PtxInstruction) -> None:
    """Note the bytes of an expect_tx; those of other instructions are not known."""
    run, operands = code.run, instruction.operands
    places = _read_lanes(code, [operand for operand in operands if operand.startswith("[")][-1])
    values = code.find_lanes(operands[-1]) if "expect_tx" in opcode else None
    call = run.find_own_place(run.get_call(code.assembly.span))
    mask = require_known(code.find_mask(instruction))
    if run.barriers is None:
        return
    tensor, multicast = opcode.startswith("cp.async.bulk.tensor"), "multicast" in opcode
    shaped = tensor and _SHAPED.search(opcode)
    if shaped or (multicast and run.cluster is None) or not opcode.startswith("cp.async.bulk"):
        run.barriers.bytes.note_expected(mask, places, values, call)
        return
    site = code.get_site(operands[1].strip().strip("[]").partition(",")[0])
    names = frozenset(_WORD.findall(run.text[slice(*site)]))
    size = code.find_lanes(operands[2]) if not tensor else None
    first = int(mask.argmax())
    rank = run.cluster.rank if run.cluster is not None else 0
    box = BoxCopy(names, int(_read_lanes(code, operands[0])[first]) & WINDOW, rank)
    if multicast:
        token = _find_mask_operand(operands)
        box = replace(box, mask=code.get_site(token), blocks=int(_read_lanes(code, token)[first]).bit_count())
    for _, lanes, at in _list_targets(code, opcode, mask, operands) if multicast else [(rank, mask, places)]:
        if tensor:
            run.barriers.bytes.note_boxes(lanes, at, box, call)
        else:
            run.barriers.bytes.note_copied(lanes, at, size, call)


def _map_address(code: AsmCode, operands: Sequence[str]) -> None:
    """Run mapa: the address, or the generic pointer, of a variable in the shared memory of another block."""
    value = code.get_value(operands[1])
    address = make_number(map_address(_read_lanes(code, operands[1]), _read_lanes(code, operands[2])), LONG)
    _put(code, operands[0], value.move(address) if isinstance(value, Pointer) else address)


def _read_lanes(code: AsmCode, token: str) -> Ints:
    """Return the value of an operand in every thread; TraceLostError if it is not known."""
    return require_known(code.find_lanes(token))


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
