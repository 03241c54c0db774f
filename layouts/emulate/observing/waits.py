"""Describe what the threads of a deadlock wait for, and the state of all barriers at the end of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lanescope.emulate.instructions.clusters import get_cluster_barrier
from lanescope.emulate.machine import Machine
from lanescope.emulate.state.block import Block, Group, NamedBarrier
from lanescope.emulate.state.mbarrier_state import TESTED, Arrival, Mbarrier, list_mbarriers
from lanescope.emulate.text.program import Statement
from lanescope.inputs import capitalize_sentence, format_count, join_words
from lanescope.ptx.threads import WARP

MOST_NAMED = 6
MOST_BARRIERS = 256
MOST_ARRAY = 512  # largest variable that counts as an array of mbarriers


def find_deadlock(machine: Machine) -> None:
    """Report what each waiting group of threads waits for: one finding per waiting line."""
    reported: set[int] = set()
    for group in sorted(machine.groups, key=_rank_wait):
        statement = find_waiting_statement(group)
        sentences = [
            f"{capitalize_sentence(name_threads(group))} of CTA {format_block(group.block)} {_describe_wait(group)}"
        ]
        if group.block.linear_index not in reported:  # once per CTA: the following findings describe the others
            reported.add(group.block.linear_index)
            sentences += _describe_others(machine, group)
        machine.report("deadlock", ". ".join(sentences), statement)


def _rank_wait(group: Group) -> tuple[bool, int, int]:
    """Return the sort key of a wait: first come waits at an mbarrier whose phase somebody has begun."""
    begun, wait = False, group.wait
    if wait is not None and wait.kind == "mbarrier":
        barrier = list_mbarriers(group.run.blocks[wait.facts["rank"]]).get(wait.facts["mbarrier"])
        begun = barrier is not None and bool(barrier.arrivals)
    return not begun, group.block.linear_index, group.first


def find_waiting_statement(group: Group) -> Statement:
    """Return the statement at which a group waits.

    The program counter is already past one that counts as executed.
    """
    statements = group.frame.code.function.statements
    behind = group.wait is not None and group.wait.kind != "convergence"
    return statements[max(0, group.pc - behind)]


def format_block(block: Block) -> str:
    """Return a block's index as text."""
    return f"({','.join(map(str, block.index))})"


def name_threads(group: Group) -> str:
    """Return the threads of a group in words: complete warps, or lanes."""
    return name_ids(group.block, group.ids.tolist())


def name_ids(block: Block, ids: list[int]) -> str:
    """Return threads, given by linear indices, in words: complete warps, and lanes of the others."""
    warps: dict[int, list[int]] = {}
    for thread in ids:
        warps.setdefault(thread // WARP, []).append(thread % WARP)
    size = {warp: min(WARP, block.thread_count - warp * WARP) for warp in warps}
    complete = [warp for warp, lanes in warps.items() if len(lanes) == size[warp]]
    words = [_name_warps(complete)] if complete else []
    rest = [(warp, lanes) for warp, lanes in warps.items() if len(lanes) < size[warp]]
    for warp, lanes in rest[:MOST_NAMED]:
        words.append(f"{'lane' if len(lanes) == 1 else 'lanes'} {_format_ranges(lanes)} of warp {warp}")
    if len(rest) > MOST_NAMED:
        words.append(f"lanes of {len(rest) - MOST_NAMED} more warps")
    return join_words(words)


def _format_ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in parts)


def _describe_wait(group: Group) -> str:
    wait = group.wait
    alone = group.count == 1 or (len(group.warps) == 1 and group.count == WARP)
    verb = "waits" if alone else "wait"
    if wait is None:
        rank, offset, phase = group.block.state.get(TESTED, {}).get(group.first, (0, -1, 0))
        owner = group.run.blocks[rank]
        tested = list_mbarriers(owner).get(offset)
        if tested is not None and tested.phase == phase:
            often = f"{'tests' if alone else 'test'} again and again"
            return f"{often} for the end of {describe_mbarrier(owner, tested)}"
        return f"{'polls' if alone else 'poll'} a value that no thread changes any more"
    if wait.kind == "mbarrier":
        block = group.run.blocks[wait.facts["rank"]]
        barrier = list_mbarriers(block).get(wait.facts["mbarrier"])
        if barrier is not None:
            return f"{verb} for the end of {describe_mbarrier(block, barrier)}"
    if wait.kind == "barrier":
        number = wait.facts["barrier"]
        return f"{verb} at {_describe_named(group.block, number, group.block.barriers[number])}"
    if wait.kind == "cluster_barrier":
        return f"{verb} for {_describe_cluster(group.block)}"
    if wait.kind == "convergence":
        return f"{verb} for {wait.what} to execute the same instruction"
    return f"{verb} for {wait.what}"


def describe_mbarrier(block: Block, barrier: Mbarrier) -> str:
    """Return the state of an mbarrier's phase in words: what is outstanding, who arrived."""
    name = name_shared(block, barrier.address)
    text = f"phase {barrier.phase} (parity {barrier.parity}) of the mbarrier at {barrier.address:#x}"
    text += f", {name}" if name else ""
    text += f", initialized in line {barrier.statement.line} for {format_count(barrier.expected, 'arrival')}"
    missing = [f"{barrier.pending} of {format_count(barrier.expected, 'arrival')}"] if barrier.pending else []
    if barrier.tx > 0:
        expected = sum(arrival.expected_bytes for arrival in barrier.arrivals)
        missing.append(f"{barrier.tx:,} of {expected:,} bytes" if expected >= barrier.tx else f"{barrier.tx:,} bytes")
    verb = "is" if len(missing) == 1 and missing[0].startswith("1 of") else "are"
    text += f". {capitalize_sentence(join_words(missing))} {verb} outstanding" if missing else ""
    if barrier.tx < 0:
        text += f". {-barrier.tx:,} more bytes arrived than expect_tx specifies"
    arrived = [_describe_arrival(block, arrival) for arrival in barrier.arrivals]
    if arrived:
        text += f". In this phase: {'; '.join(arrived[:MOST_NAMED])}"
    elif barrier.phase:
        text += ". Nobody arrived in this phase"
    else:
        text += ". Nobody ever arrived"
    return text


def _describe_arrival(block: Block, arrival: Arrival) -> str:
    origin = block.run.blocks[arrival.rank]
    who = name_ids(origin, list(arrival.threads)) if arrival.threads else "a copy"
    if origin is not block:
        who += f" of CTA {format_block(origin)}"
    did = []
    if arrival.count:
        did.append(format_count(arrival.count, "arrival"))
    if arrival.expected_bytes:
        did.append(f"{arrival.expected_bytes:,} bytes expected")
    if arrival.completed_bytes:
        did.append(f"{arrival.completed_bytes:,} bytes completed")
    return f"{join_words(did)} by {who} in {format_place(arrival.statement)}"


def format_place(statement: Statement) -> str:
    """Return the PTX line of a statement, and the source line if known."""
    return f"line {statement.line}" + (f" ({statement.place.brief})" if statement.place else "")


def name_shared(block: Block, address: int) -> str:
    """Return the shared variable that is, or contains, an mbarrier; "" if none starts before it."""
    offset = address & ((1 << 24) - 1)
    variables = block.run.machine.program.shared_offsets
    before = [(at, name) for name, at in variables.items() if at <= offset]
    if not before:
        return ""
    at, variable = max(before)
    size, name = block.run.machine.program.module.variables[variable].size, strip_scope(variable)
    if 8 < size <= MOST_ARRAY:
        return f"{name}[{(offset - at) // 8}]"
    return name if at == offset else f"{name} + {offset - at}"


def strip_scope(name: str) -> str:
    """Return a variable's name without its function, demangled.

    >>> strip_scope("gemm::_ZZ4gemmE4full")
    'full'
    """
    local_name = name.rpartition("::")[2]
    mangled = re.search(r"E(\d+)(\D\w*)$", local_name) if local_name.startswith("_ZZ") else None
    return mangled[2][: int(mangled[1])] if mangled else local_name


def _describe_named(block: Block, number: int, barrier: NamedBarrier) -> str:
    expected = barrier.expected or int(block.live.sum())
    text = f"barrier {number}, phase {barrier.phase}: {barrier.arrived} of {expected} threads arrived"
    arrived = {warp for _, warps in barrier.groups for warp in warps}
    where = [f"{_name_warps(warps)} in {format_place(statement)}" for statement, warps in barrier.groups]
    if where:
        text += f": {'; '.join(where[:MOST_NAMED])}"
    absent = [warp for warp in range(block.padded // WARP) if warp not in arrived]
    if absent:
        text += f". {capitalize_sentence(_name_warps(absent))} did not arrive"
    return text


def _describe_cluster(block: Block) -> str:
    barrier = get_cluster_barrier(block)
    text = f"phase {barrier.phase} of the cluster's barrier"
    for member in block.run.blocks:
        absent = [
            thread
            for thread in range(member.thread_count)
            if member.live[thread] and not barrier.arrived[member.rank][thread]
        ]
        if absent:
            text += f". {capitalize_sentence(name_ids(member, absent))} of CTA {format_block(member)} did not arrive"
    return text


def _name_warps(warps: Iterable[int]) -> str:
    numbers = list(warps)
    return f"{'warp' if len(numbers) == 1 else 'warps'} {_format_ranges(numbers)}"


def _describe_others(machine: Machine, group: Group) -> Iterator[str]:
    """Yield a sentence about where each other group of the block is, and one about exited threads."""
    block = group.block
    others = [candidate for candidate in machine.groups if candidate.block is block and candidate is not group]
    for other in others[:MOST_NAMED]:
        verb = "is" if other.count == 1 or (len(other.warps) == 1 and other.count == WARP) else "are"
        yield f"{capitalize_sentence(name_threads(other))} {verb} at {format_place(find_waiting_statement(other))}"
    gone = [thread for thread in range(block.thread_count) if not block.live[thread]]
    if gone:
        yield f"{capitalize_sentence(name_ids(block, gone))} exited"


def describe_barriers(machine: Machine) -> list[dict[str, Any]]:
    """Return the state of mbarriers and named barriers: phase, arrivals, bytes, and who arrived in this phase.

    Of the blocks that are still running; if there is none, of the first cluster that ran.
    """
    blocks = [block for cluster in machine.clusters for block in cluster.blocks]
    listed = [block for block in blocks if block.live.any()] or [
        block for cluster in machine.clusters[:1] for block in cluster.blocks
    ]
    rows = (row for block in listed for row in (*_list_mbarriers(block), *_list_named(block)))
    return list(islice(rows, MOST_BARRIERS))


def _list_mbarriers(block: Block) -> Iterator[dict[str, Any]]:
    for barrier in list_mbarriers(block).values():
        yield {
            "kind": "mbarrier",
            "block": list(block.index),
            "address": barrier.address,
            "name": name_shared(block, barrier.address),
            "line": barrier.statement.line,
            "phase": barrier.phase,
            "expected": barrier.expected,
            "pending": barrier.pending,
            "bytes": barrier.tx,
            "arrivals": [
                {
                    "line": arrival.statement.line,
                    "place": str(arrival.statement.place or ""),
                    "rank": arrival.rank,
                    "threads": name_ids(block.run.blocks[arrival.rank], list(arrival.threads))
                    if arrival.threads
                    else "",
                    "count": arrival.count,
                    "expected_bytes": arrival.expected_bytes,
                    "completed_bytes": arrival.completed_bytes,
                }
                for arrival in barrier.arrivals
            ],
        }


def _list_named(block: Block) -> Iterator[dict[str, Any]]:
    for number, barrier in block.barriers.items():
        yield {
            "kind": "barrier",
            "block": list(block.index),
            "number": number,
            "phase": barrier.phase,
            "arrived": barrier.arrived,
            "expected": barrier.expected,
            "arrivals": [
                {"line": statement.line, "place": str(statement.place or ""), "warps": list(warps)}
                for statement, warps in barrier.groups
            ],
        }
