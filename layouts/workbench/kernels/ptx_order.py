"""Find missing fences, groups and waits of wgmma in a PTX module.

All paths through a function are followed, its loops at least once. What is reported holds on each of these paths; a
call may do anything. Moves between registers, which compilers insert, are no use of a value. Registers of tcgen05.ld
are not followed: compilers move their uses before tcgen05.wait::ld, and ptxas knows that they depend on the load.
Rules: PTX ISA 9.1, 9.7.15.7.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from lanescope.deadline import check_deadline
from lanescope.reader.code.findings import Pitfall
from lanescope.reader.code.ptx import inline_ptx as ptx
from lanescope.reader.code.ptx.ptx_module import is_ptx_module
from lanescope.workbench.kernels.wgmma_groups import (
    describe_missing_commit,
    describe_missing_fence,
    describe_missing_wait,
    describe_short_wait,
)
from lanescope.workbench.results import Span

_ENTRY = re.compile(r"\.entry\b")
_LEAVING = ("ret", "exit", "trap")
_BRANCHES = (*_LEAVING, "bra", "brx")
_OLDEST = 8  # groups are told apart up to this one


@dataclass(frozen=True, slots=True)
class _Pending:
    """A register that a wgmma may still write.

    age: 0 for a wgmma in no group yet, 1 for one in the last group, and so on; wait: the last wgmma.wait_group since,
    with its number of groups.
    """

    age: int = 0
    wait: tuple[Span, int] | None = None


@dataclass(slots=True)
class _State:
    """What is certain on every path to an instruction, but for `fenced`: whether one of them has a wgmma.fence."""

    fenced: bool = False
    pending: dict[str, _Pending] = field(default_factory=dict)

    def join(self, other: _State) -> _State:
        both = [name for name in self.pending if name in other.pending]
        pending = {name: _join_pending(self.pending[name], other.pending[name]) for name in both}
        return _State(self.fenced or other.fenced, pending)

    def forget(self) -> None:
        """Take everything as done, after an instruction that may do anything."""
        self.fenced = True
        self.pending.clear()


def _join_pending(one: _Pending, two: _Pending) -> _Pending:
    """Return what is certain of a register on two paths."""
    return _Pending(max(one.age, two.age), one.wait if one.wait == two.wait else None)


@dataclass(slots=True)
class _Block:
    """Instructions that run one after the other. after: the numbers of the blocks that may follow."""

    body: list[ptx.PlacedStatement] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


def find_ptx_order_mistakes(text: str) -> list[Pitfall]:
    """Find the first mistake of each kind in the functions of a PTX module; none in another text."""
    if not is_ptx_module(text) or "wgmma.mma_async" not in text:
        return []
    statements = list(ptx.list_placed_statements(text))
    heads = [n for n, placed in enumerate(statements) if placed.head]
    found: list[Pitfall] = []
    for n, past in zip(heads, [*heads[1:], len(statements)], strict=True):
        head, body = statements[n], statements[n + 1 : past]
        if _is_complete(body):
            entry = _ENTRY.search(text, *head.span) is not None
            found += _FunctionOrder(head.head, body, entry).find_mistakes()
    return found


def _is_complete(body: Sequence[ptx.PlacedStatement]) -> bool:
    """Return whether a function is more than an excerpt: it has a fence, a group or a wait beside its products."""
    opcodes = [one.statement.opcode for one in body if isinstance(one.statement, ptx.PtxInstruction)]
    return any(opcode.startswith(("wgmma.fence", "wgmma.commit_group", "wgmma.wait_group")) for opcode in opcodes)


class _FunctionOrder:
    """The search in one function."""

    def __init__(self, name: str, body: Sequence[ptx.PlacedStatement], entry: bool) -> None:
        self.name = name
        self.entry = entry
        self.blocks = _split_blocks(body)
        self.ambiguous = _list_redeclared(body)
        self.found: dict[str, Pitfall] = {}

    def find_mistakes(self) -> list[Pitfall]:
        if self.blocks is None:
            return []
        blocks = self.blocks
        starts: dict[int, _State] = {0: _State(fenced=not self.entry)}
        waiting = [0]
        while waiting:
            check_deadline()
            number = waiting.pop()
            end = self._run_block(blocks[number], starts[number])
            for following in blocks[number].after:
                old = starts.get(following)
                new = end if old is None else old.join(end)
                if new != old:
                    starts[following] = new
                    waiting.append(following)
        for number in sorted(starts):
            self._run_block(blocks[number], starts[number], report=True)
        return list(self.found.values())

    def _run_block(self, block: _Block, start: _State, report: bool = False) -> _State:
        state = _State(start.fenced, dict(start.pending))
        for placed in block.body:
            instruction = placed.statement
            if not isinstance(instruction, ptx.PtxInstruction) or instruction.opcode.startswith("call"):
                state.forget()
            else:
                for mistake in self._run_instruction(state, instruction, placed.span):
                    if report:
                        self.found.setdefault(mistake.code, mistake)
        return state

    def _run_instruction(self, state: _State, instruction: ptx.PtxInstruction, at: Span) -> Iterator[Pitfall]:
        """Change the state as an instruction does; yield its mistakes."""
        opcode = instruction.opcode
        if opcode.startswith("wgmma.mma_async"):
            if not state.fenced:
                yield Pitfall("wgmma_fence_missing", describe_missing_fence(self.name), at)
            self._start_product(state, instruction)
        elif opcode.startswith("wgmma."):
            _follow_group(state, instruction, at)
        elif opcode.startswith("mov."):
            _move(state, instruction)
        else:
            yield from self._use(state, instruction, at)

    def _start_product(self, state: _State, instruction: ptx.PtxInstruction) -> None:
        """Note the accumulators of a wgmma; one with a guard may not be executed."""
        for name in ptx.list_registers(instruction.operands[0]) if instruction.operands else ():
            if instruction.guard is None and name not in self.ambiguous:
                state.pending[name] = _Pending()

    def _use(self, state: _State, instruction: ptx.PtxInstruction, at: Span) -> Iterator[Pitfall]:
        """Yield the use of a register that is still written."""
        stores = instruction.operands[:1] != () and instruction.operands[0].startswith("[")
        sources = instruction.operands if stores else instruction.operands[1:]
        read = [name for operand in sources for name in ptx.list_registers(operand) if name in state.pending]
        if read:
            yield _describe_use(state.pending[read[0]], read[0], at)
        for name in (*read, *ptx.list_targets(instruction)):
            state.pending.pop(name, None)


def _describe_use(pending: _Pending, name: str, at: Span) -> Pitfall:
    """Describe the mistake that a use of a register shows: a missing wait or group, or a wait for too few groups."""
    if pending.wait is None:
        return Pitfall("wgmma_wait_missing", describe_missing_wait(name), at)
    place, count = pending.wait
    if pending.age:
        return Pitfall("wgmma_wait_short", describe_short_wait(f"wgmma.wait_group {count}", count, name), place)
    why = f"so this wgmma.wait_group does not wait for them, and {name} is used then"
    return Pitfall("wgmma_commit_missing", describe_missing_commit(why), place)


def _follow_group(state: _State, instruction: ptx.PtxInstruction, at: Span) -> None:
    """Follow wgmma.fence, commit_group and wait_group; one with a guard as if it were executed."""
    opcode = instruction.opcode
    if opcode.startswith("wgmma.fence"):
        state.fenced = True
    elif opcode.startswith("wgmma.commit_group"):
        for name, one in state.pending.items():
            state.pending[name] = replace(one, age=min(one.age + 1, _OLDEST))
    elif opcode.startswith("wgmma.wait_group"):
        count = ptx.parse_immediate("".join(instruction.operands)) or 0
        left = {name: one for name, one in state.pending.items() if one.age <= count}
        state.pending = {name: replace(one, wait=(at, count)) for name, one in left.items()}


def _move(state: _State, instruction: ptx.PtxInstruction) -> None:
    """Give the targets of a move what is pending of its sources, which it may pack or unpack."""
    sources = [name for operand in instruction.operands[1:] for name in ptx.list_registers(operand)]
    pending = next((state.pending[name] for name in sources if name in state.pending), None)
    for name in ptx.list_targets(instruction):
        old = state.pending.pop(name, None)
        if pending is not None and instruction.guard is None:
            state.pending[name] = pending
        elif pending is not None and old is not None:
            state.pending[name] = _join_pending(old, pending)


def _split_blocks(body: Sequence[ptx.PlacedStatement]) -> list[_Block] | None:
    """Split a function at its labels and branches; None if where a branch leads is not known."""
    blocks = [_Block()]
    labels: dict[str, int] = {}
    jumps: list[tuple[int, str]] = []
    for placed in body:
        branch = _find_branch(placed.statement)
        if placed.label:
            _begin_block(blocks, True)
            labels[placed.label] = len(blocks) - 1
        elif branch is not None:
            if not branch.opcode.startswith(_LEAVING):
                jumps.append((len(blocks) - 1, "".join(branch.operands)))
            _begin_block(blocks, branch.guard is not None)
        elif not placed.shared and not isinstance(placed.statement, ptx.RegisterDeclaration | ptx.ScopeBrace):
            blocks[-1].body.append(placed)
    if not labels.keys() >= {label for _, label in jumps}:
        return None
    _link_blocks(blocks, [(n, labels[label]) for n, label in jumps])
    return blocks


def _find_branch(statement: ptx.Statement | None) -> ptx.PtxInstruction | None:
    """Return a statement that ends a block, None for another one."""
    instruction = statement if isinstance(statement, ptx.PtxInstruction) else None
    return instruction if instruction is not None and instruction.opcode.partition(".")[0] in _BRANCHES else None


def _link_blocks(blocks: list[_Block], edges: Sequence[tuple[int, int]]) -> None:
    """Add the branches from block to block; one past a loop is not taken: the loop has an iteration."""
    loops = [(first, last) for last, first in edges if first <= last]
    for n, target in edges:
        skips = any(n < first and last < target for first, last in loops)
        if not (skips and blocks[n].after):
            blocks[n].after.append(target)


def _begin_block(blocks: list[_Block], follows: bool) -> None:
    """Append a block. follows: whether the last one may go on to it."""
    if follows:
        blocks[-1].after.append(len(blocks))
    blocks.append(_Block())


def _list_redeclared(body: Sequence[ptx.PlacedStatement]) -> frozenset[str]:
    """List the names that several scopes of a function give to registers of their own."""
    counts: Counter[str] = Counter()
    for placed in body:
        if isinstance(placed.statement, ptx.RegisterDeclaration):
            counts.update(name for name, _ in placed.statement.types)
    return frozenset(name for name, count in counts.items() if count > 1)
