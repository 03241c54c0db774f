"""Control flow and barriers of threads: branches, calls, exit, bar, barrier. PTX ISA 9.1, 9.7.12 and 9.7.13.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.emulate.code import Action, Compiler, UnknownInstructionError, control, instruction
from lanescope.emulate.state.block import Call, Group, NotConvergedError
from lanescope.emulate.state.memory import FaultError
from lanescope.emulate.text.program import (
    ListOperand,
    Operand,
    Register,
    RemainingOperands,
    Statement,
    Symbol,
    require_symbol,
)
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.threads import WARP

Array = NDArray[Any]
_U32, _U64 = TYPES["u32"], TYPES["u64"]
_LOCAL_ALIGN = 64  # of a function's variables in local memory


@control("bra")
def build_branch(compiler: Compiler, statement: Statement) -> Action:
    label = statement.operand(0)
    if not isinstance(label, Symbol) or label.name not in compiler.function.labels:
        raise UnknownInstructionError(statement, f"{statement.opcode} does not branch to a label of the function")
    target = compiler.function.labels[label.name]

    def jump(group: Group) -> None:
        group.pc = target

    return jump


@control("brx.idx")
def build_indexed_branch(compiler: Compiler, statement: Statement) -> Action:
    index, table = statement.take(2)
    if not isinstance(table, Symbol) or table.name not in compiler.function.tables:
        raise UnknownInstructionError(statement, f"{statement.opcode} has no .branchtargets")
    targets = [compiler.function.labels[name] for name in compiler.function.tables[table.name]]
    read = compiler.read(index, _U32)

    def branch(group: Group) -> None:
        values = np.broadcast_to(read(group), (group.count,))
        if int(values.max()) >= len(targets):
            raise FaultError(
                "bad_branch", f"The index of brx.idx is {int(values.max())}, but there are {len(targets)} targets."
            )
        distinct = np.unique(values)
        for value in distinct[1:]:
            group.run.machine.split(group, np.broadcast_to(read(group), (group.count,)) == value, targets[int(value)])
        group.pc = targets[int(distinct[0])]

    return branch


@control("exit")
def build_exit(compiler: Compiler, statement: Statement) -> Action:
    return lambda group: group.run.machine.end(group)


@control("ret")
def build_return(compiler: Compiler, statement: Statement) -> Action:
    """Build ret: return to the caller; in a kernel, end the threads."""

    def leave(group: Group) -> None:
        if not group.stack:
            group.run.machine.end(group)
            return
        call = group.stack[-1]
        _copy_results(group, call)
        group.frame, group.pc, group.stack = call.frame, call.pc, group.stack[:-1]
        group.run.machine.switch = True

    return leave


@control("trap", "brkpt")
def build_trap(compiler: Compiler, statement: Statement) -> Action:
    def trap(group: Group) -> None:
        raise FaultError("trap", f"The kernel executes {statement.words[0]}.")

    return trap


@control("call")
def build_call(compiler: Compiler, statement: Statement) -> Action:
    operands = RemainingOperands(statement.operands)
    results: tuple[Operand, ...] = ()
    if isinstance(operands.first, ListOperand):
        results = operands.first.items
        operands.pop(0)
    target = operands.pop(0)
    arguments = operands[0].items if operands and isinstance(operands[0], ListOperand) else ()
    names = [argument.name if isinstance(argument, Symbol) else "" for argument in arguments]
    result_names = [result.name if isinstance(result, Symbol) else "" for result in results]
    program = compiler.program
    find_name = _name_target(compiler, target)

    def call(group: Group) -> None:
        name = find_name(group)
        if name in BUILT_IN:
            BUILT_IN[name](group, names, result_names)
            group.pc += 1
            return
        function = program.module.functions.get(name)
        if function is None or not function.statements:
            raise UnknownInstructionError(
                statement, f"call of {name or 'an address that is not a function'}, whose body is not in the text"
            )
        code = program.get_code(name)
        caller = group.frame
        local_base = -(-(caller.local_base + caller.code.local_bytes) // _LOCAL_ALIGN) * _LOCAL_ALIGN
        frame = group.block.get_frame(code, len(group.stack) + 1, local_base)
        for argument, parameter in zip(names, function.parameters, strict=False):
            at, offset = caller.code.offsets[argument], code.offsets[parameter.name]
            frame.parameters[group.threads, offset : offset + parameter.size] = caller.parameters[
                group.threads, at : at + parameter.size
            ]
        group.stack = (*group.stack, Call(caller, group.pc + 1, statement))
        group.frame, group.pc = frame, 0
        group.run.machine.switch = True

    return call


def _name_target(compiler: Compiler, target: Operand) -> Callable[[Group], str]:
    """Return what finds the name of the called function; threads that call another one through a register leave."""
    if not isinstance(target, Register):
        name = require_symbol(target).name
        return lambda group: name
    read, program = compiler.read(target, _U64), compiler.program

    def find_name(group: Group) -> str:
        addresses = read(group)
        chosen = addresses == addresses[0]
        if not chosen.all():
            group.run.machine.split(group, ~chosen, group.pc)
        return program.find_function(int(addresses[0]))

    return find_name


def _copy_results(group: Group, call: Call) -> None:
    first = call.statement.operand(0)
    if not isinstance(first, ListOperand):
        return
    code = group.frame.code
    for operand, result in zip(first.items, code.function.results, strict=False):
        if isinstance(operand, Symbol):
            at, offset = call.frame.code.offsets[operand.name], code.offsets[result.name]
            call.frame.parameters[group.threads, at : at + result.size] = group.frame.parameters[
                group.threads, offset : offset + result.size
            ]


def _ignore_print(group: Group, arguments: list[str], results: list[str]) -> None:
    """Ignore vprintf; its result, which nobody reads, is the number of arguments."""


def _fail_assertion(group: Group, arguments: list[str], results: list[str]) -> None:
    raise FaultError("assertion", "An assert of the kernel failed.")


BUILT_IN = {"vprintf": _ignore_print, "__assertfail": _fail_assertion, "__assert_fail": _fail_assertion}


@instruction("bar.warp.sync")
def build_warp_barrier(compiler: Compiler, statement: Statement) -> Action:
    """Build bar.warp.sync: threads of the mask wait for each other, each at any statement."""
    read = compiler.read(statement.operand(0), _U32)

    def meet(group: Group) -> None:
        wait_for_members(group, read(group), same_statement=False)
        group.block.synced[group.ids] = group.run.machine.steps

    return meet


def wait_for_members(group: Group, mask: Array, same_statement: bool = True) -> None:
    """Continue once all live threads of a membermask are in the group.

    Else raise NotConvergedError: the machine suspends those warps at the statement and executes it again when the
    others have arrived, so call this first. same_statement: whether the others must arrive at this statement.
    """
    if group.count == np.count_nonzero(group.block.live):
        return
    ids = group.ids
    present = np.zeros(group.block.padded, bool)
    present[ids] = True
    absent = group.block.live & ~present
    if not absent.any():
        return
    bits = (absent.reshape(-1, WARP) * (np.uint64(1) << np.arange(WARP, dtype=np.uint64))).sum(axis=1, dtype=np.uint64)
    masks = np.broadcast_to(mask, (len(ids),)).astype(np.uint64) & bits[ids // WARP]
    if not masks.any():
        return
    missing = np.flatnonzero(absent & np.isin(np.arange(len(present)) // WARP, ids[masks != 0] // WARP))
    missing = np.array([lane for lane in missing if _is_named(int(lane), ids, masks)], np.int64)
    if not same_statement and _meet_elsewhere(group, missing):
        return
    raise NotConvergedError(ids[masks != 0], missing)


def _is_named(thread: int, ids: NDArray[np.int64], masks: Array) -> bool:
    mask = masks[ids // WARP == thread // WARP]
    return bool((mask >> np.uint64(thread % WARP) & np.uint64(1)).any())


def _meet_elsewhere(group: Group, missing: NDArray[np.int64]) -> bool:
    """Release the missing threads if all of them wait at another bar.warp.sync; return whether they did."""
    missing_ids = set(missing.tolist())
    others = [
        other
        for other in group.run.machine.groups
        if other.block is group.block
        and other.wait is not None
        and other.wait.kind == "convergence"
        and other.statement.opcode == "bar.warp.sync"
        and missing_ids & set(other.ids.tolist())
    ]
    if not missing_ids <= {thread for other in others for thread in other.ids.tolist()}:
        return False
    for other in others:
        other.wait = None
        other.pc += 1
    return True


@instruction("nanosleep")
def build_sleep(compiler: Compiler, statement: Statement) -> Action:
    def sleep(group: Group) -> None:
        group.run.machine.note_poll(group, None)

    return sleep


@instruction(
    "setmaxnreg",
    "griddepcontrol",
    "prefetch",
    "prefetchu",
    "discard",
    "applypriority",
    "pmevent",
    "createpolicy",
)
def build_nothing(compiler: Compiler, statement: Statement) -> Action:
    """Build a no-op, for hints and register counts."""
    targets = [
        compiler.write(result, _U64) for result in statement.operands[:1] if statement.words[0] == "createpolicy"
    ]

    def act(group: Group) -> None:
        for write in targets:
            write(group, np.zeros((), np.uint64))

    return act
