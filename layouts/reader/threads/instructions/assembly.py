"""PTX in device code: moves to shared memory and registers, and products that read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.ptx.async_copy import explain_copy_size
from lanescope.reader.code.ptx.inline_ptx import PtxInstruction, list_statements, parse_immediate
from lanescope.reader.code.syntax.tree_statements import Assembly
from lanescope.reader.threads.barriers.barrier_instructions import (
    follow_barrier,
    is_skipped,
    lose_product,
    require_statements,
)
from lanescope.reader.threads.barriers.barrier_trace import TraceLostError
from lanescope.reader.threads.barriers.order_events import follow_instruction
from lanescope.reader.threads.instructions.asm_code import AsmCode, Execute, InstructionRows
from lanescope.reader.threads.instructions.float_instructions import ELEMENTWISE
from lanescope.reader.threads.instructions.integer_instructions import INTEGER
from lanescope.reader.threads.instructions.matrix_loads import load_matrices
from lanescope.reader.threads.language.numbers import ThreadNumber
from lanescope.reader.threads.language.program import Scope, split_operands
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import fit_data
from lanescope.reader.threads.memory.matrix_reads import (
    note_allocation,
    note_register_product,
    read_descriptors,
    read_tensor_descriptors,
)
from lanescope.reader.threads.memory.records import MmaUse
from lanescope.reader.threads.memory.results import find_added, has_two, is_result, make_results, store_result
from lanescope.reader.threads.memory.shared_memory import SHARED_BYTES
from lanescope.reader.threads.memory.storage import (
    DataBytes,
    LocalMemory,
    Mask,
    Pointer,
    fill_up,
    join_data,
    make_open_data,
    spread_coefficient,
    spread_number,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_STORE = re.compile(r"cp\.async\.c[ag]|st\.")
_MOVE = re.compile(r"cp\.async\.c[ag]|(?:st|ld)\.")
_WIDTH = re.compile(r"\.[bufs](\d+)\b")


def run_assembly(run: KernelRunner, assembly: Assembly, scope: Scope) -> None:
    """Run an asm statement."""
    if is_skipped(run, assembly.code or "", assembly.span):
        return
    try:
        code = AsmCode(run, assembly, scope, run.barriers.list_later(assembly) if run.barriers is not None else ())
    except TraceLostError:
        if not lose_product(run, assembly.code or ""):
            raise
        return
    if assembly.code is None:
        run.shared.incomplete = run.shared.incomplete or "an asm statement that is not read"
        run.forget_order()
    else:
        found = _list_instructions(assembly.code)
        require_statements(run, assembly.code, [one.opcode for one in found])
        for statement in found:
            if not statement.opcode.startswith("."):
                _run_instruction(code, statement)
        if not found:
            code.keep_updated()
    code.write_outputs()


@lru_cache(maxsize=256)
def _list_instructions(code: str) -> tuple[PtxInstruction, ...]:
    return tuple(one for one in list_statements(code) if isinstance(one, PtxInstruction))


def _run_instruction(code: AsmCode, instruction: PtxInstruction) -> None:
    operands = list(instruction.operands)
    opcode, run = instruction.opcode, code.run
    if "%" in opcode:
        opcode = re.sub(r"%(\d+)", lambda m: _format_known(code, int(m[1])), opcode)
    if follow_barrier(code, opcode, instruction):
        return
    values = [code.get_value(operand) for operand in operands] if run.order is not None else []
    if follow_instruction(run, opcode, values, code.get_span(operands), bool(instruction.guard)):
        return
    if instruction.guard:
        _run_guarded(code, opcode, operands, instruction.guard)
    elif np.count_nonzero(run.mask):
        _execute_instruction(code, opcode, operands)


def _run_guarded(code: AsmCode, opcode: str, operands: list[str], guard: tuple[str, bool]) -> None:
    """Run an instruction under a predicate; an open one is assumed to be met by a move."""
    run, mask = code.run, code.run.mask
    met = _decide_guard(code, guard)
    run.undecided |= met is None
    if met is None and _is_padding(code, opcode, operands):
        return
    assumed = met is None and bool(_MOVE.match(opcode)) and code.assume_guard(guard)
    if not assumed and (met is None or (not _STORE.match(opcode) and bool((mask & ~met).any()))):
        _forget_outputs(code, opcode, operands)
        return
    run.assumed += assumed
    run.mask = mask if met is None else mask & met
    if run.mask.any():
        _execute_instruction(code, opcode, operands)
    run.mask = mask
    run.assumed -= assumed


def _execute_instruction(code: AsmCode, opcode: str, operands: list[str]) -> None:
    execute = _find_instruction(opcode, len(operands))
    if execute is not None:
        execute(code, opcode, operands)


@lru_cache(maxsize=1024)
def _find_instruction(opcode: str, operands: int) -> Execute | None:
    """Return what executes an opcode with a number of operands; None if nothing does."""
    fits = (execute for pattern, least, execute in _INSTRUCTIONS if operands >= least and pattern.match(opcode))
    return next(fits, None)


def _decide_guard(code: AsmCode, guard: tuple[str, bool]) -> Mask | None:
    """Return the threads whose predicate is true, None if unknown."""
    value = code.get_value(guard[0])
    if not isinstance(value, ThreadNumber) or value.const is None:
        return None
    met: Mask = spread_coefficient(value.const, code.run.threads) != 0
    return ~met if guard[1] else met


def _is_padding(code: AsmCode, opcode: str, operands: list[str]) -> bool:
    """Return whether an instruction stores zeros, as for elements out of range, which inner tiles do not have."""
    registers = split_operands(operands[1].strip("{} ")) if opcode.startswith("st.") and len(operands) > 1 else []
    values = [code.get_value(register) for register in registers]
    return bool(values) and all(isinstance(value, ThreadNumber) and value.known == 0 for value in values)


def _forget_outputs(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Make the outputs of a predicated instruction unknown, since it is not known which threads execute it."""
    head = opcode.split(".")[0]
    if head in ("st", "cp", "red", "stmatrix"):
        code.run.shared.incomplete = code.run.shared.incomplete or "a store under a predicate"
        code.run.run_otherwise(lambda: _execute_instruction(code, opcode, operands))
    else:
        for output in split_operands(operands[0].strip().strip("{}")) if operands else ():
            code.put_value(output, None)


def _forget_memory(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Mark shared memory as incomplete: an instruction that is not evaluated writes it."""
    code.run.shared.incomplete = code.run.shared.incomplete or f"{opcode.split('.shared')[0]} writes it"


def _note_bulk_copy(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Note where a bulk copy writes shared memory, or that it stores from it; what it copies is not followed here."""
    if re.search(r"\.global\.shared", opcode):
        code.run.open_outputs.add(code.get_site(operands[0]))
        return
    shared, into = code.run.shared, re.search(r"bulk\S*?\.shared\S*\.global", opcode)
    places = code.find_lanes(operands[0]) if into is not None else None
    shared.copied = shared.copied or f"{opcode.split('.shared')[0]} writes it"
    if places is not None:
        shared.boxes |= set(places[code.run.mask].tolist())
    elif into is not None:
        _forget_memory(code, opcode, operands)


def _note_expected(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Note the bytes that an mbarrier expects of bulk copies."""
    counts = code.find_lanes(operands[-1])
    shared = code.run.shared
    shared.expected = max(shared.expected, int(counts[code.run.mask].max())) if counts is not None else SHARED_BYTES


def _read_matrices(code: AsmCode, opcode: str, operands: list[str]) -> None:
    if code.run.barriers is None:
        read_descriptors(code, opcode, operands)
        note_register_product(code, opcode, operands)
    outputs = split_operands(operands[0].strip("{} ")) if operands else []
    for register, data in zip(
        outputs, make_results(code.run, opcode, code.assembly.span, None, len(outputs)), strict=True
    ):
        code.put_value(register, data)


def _format_known(code: AsmCode, n: int) -> str:
    value = code.values[n] if n < len(code.values) else None
    known = value.known if isinstance(value, ThreadNumber) else None
    return (code.find_string(n) or f"%{n}") if known is None else str(known)


def _convert_to_places(code: AsmCode, address: Any) -> Any:
    """Return the shared addresses of all threads, None if unknown."""
    if isinstance(address, Pointer):
        address = address.shared_address
    value = address.const if isinstance(address, ThreadNumber) else None
    return None if value is None else spread_coefficient(value, code.run.threads)


def _load_matrices(code: AsmCode, opcode: str, operands: list[str]) -> None:
    outputs = split_operands(operands[0].strip().strip("{}"))
    address = _convert_to_places(code, code.get_address(operands[1])) if len(operands) > 1 else None
    sites = [code.get_site(operands[1], first=first) for first in (False, True)] if address is not None else ()
    registers = load_matrices(code.run, opcode, address, len(outputs), (code.assembly.span, *sites))
    for output, register in zip(outputs, registers, strict=True):
        code.put_value(output, register)


def _run_mma(code: AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    added = split_operands(operands[3].strip("{} "))
    if not run.is_full:
        a, b = (tuple(map(code.use_register, split_operands(text.strip("{} ")))) for text in operands[1:3])
        result = _find_register(code, split_operands(operands[0].strip("{} "))[:1])
        unknown = [register for register in added if code.get_value(register) is None]
        run.products.append(
            MmaUse(
                opcode,
                code.assembly.span,
                a,
                b,
                tuple(run.calls),
                run.mask.copy(),
                tuple(run.turns),
                result,
                any(code.is_unset(register) for register in unknown),
                any(code.is_unset(register, partly=True) for register in unknown),
                start=code.describe_start(added),
                adds=find_added(run, code.get_value(added[0])) if added else None,
                broken=run.shared.broken,
                ids=tuple(_list_scale_ids(code, opcode, operands)),
                ends=tuple(run.ends),
            )
        )
        _note_product(code, added)
    outputs = split_operands(operands[0].strip("{} "))
    use = run.products[-1] if run.products and not run.is_full else None
    results = (
        make_results(run, opcode, code.assembly.span, use, len(outputs), [code.get_value(one) for one in added])
        if use is not None
        else []
    )
    for n, register in enumerate(outputs):
        code.put_value(register, results[n] if results else make_open_data(run.threads, 4))


def _note_product(code: AsmCode, added: Sequence[str]) -> None:
    """Note the last product in a run that follows mbarriers. added: the registers of C."""
    run = code.run
    if run.barriers is not None:
        run.barriers.note_warp_product(run, run.products[-1], code.get_value(added[0]) if added else None)


def _list_scale_ids(
    code: AsmCode, opcode: str, operands: Sequence[str]
) -> Iterator[tuple[int | None, tuple[int, int]]]:
    """Yield (value, place) of byte-id and thread-id of A and of B, in a block-scaled mma."""
    pairs = (split_operands(operands[n].strip("{} ")) for n in (-3, -1)) if len(operands) == 8 else ()
    for token in (operand for pair in pairs if "block_scale" in opcode for operand in pair):
        value = code.get_value(token)
        known = value.known if isinstance(value, ThreadNumber) else None
        site = code.get_site(token)
        first = parse_immediate(code.run.text[slice(*site)])
        if first is not None and first != known:  # what a loop begins with
            site = code.run.get_call(code.assembly.span)
        yield known, site


def _find_register(code: AsmCode, tokens: Sequence[str]) -> tuple[LocalMemory, int] | None:
    """Return the local memory that an output is in, and its offset; None if unknown."""
    n = code.find_number(tokens[0]) if tokens else None
    place = code.places[n] if n is not None else None
    if not isinstance(place, Pointer) or place.offset is None or not isinstance(place.array, LocalMemory):
        return None
    offset = place.offset.known
    return None if offset is None else (place.array, offset)


def _run_async_copy(code: AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    source = code.get_address(operands[1])
    size = code.get_value(operands[2])
    count = size.known if isinstance(size, ThreadNumber) else None
    target = code.get_shared_address(operands[0])
    refused = explain_copy_size(opcode, count) if count is not None and operands[2].startswith("%") else ""
    if refused:  # a number in the line itself is found without running it
        run.stop_at_error("ptxas_refuses", refused, code.get_site(operands[2]))
    if count not in (4, 8, 16):
        run.shared.incomplete = run.shared.incomplete or "cp.async of a size that is not known"
        return
    known = isinstance(source, Pointer) and source.space == "global"
    site = code.get_site(operands[1], first=True)
    data = run.load_global(source.array, source.offset, count, site) if known else make_open_data(run.threads, count)
    copied = spread_number(code.get_value(operands[3]), run.threads) if len(operands) > 3 else None
    data = fill_up(data, copied) if copied is not None else data
    run.store_shared(target, data, code.get_site(operands[0]), True, code.get_site(operands[0], first=True))


def _parse_shape(opcode: str) -> tuple[int, int]:
    """Return the number of registers of a load or store, and their bytes."""
    found = _WIDTH.findall(opcode)
    vector = re.search(r"\.v(\d)", opcode)
    return int(vector[1]) if vector else 1, int(found[-1]) // 8 if found else 4


def _run_store(code: AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    count, size = _parse_shape(opcode)
    kind = SizedType("", size)
    registers = split_operands(operands[1].strip("{} ")) if len(operands) > 1 else []
    address = code.get_shared_address(operands[0])
    if len(registers) != count:
        run.shared.incomplete = run.shared.incomplete or "a store that is not read"
        return
    data = join_data([fit_data(run, code.get_value(register), kind) for register in registers])
    run.store_shared(address, data, code.get_site(operands[0]))


def _run_global_store(code: AsmCode, opcode: str, operands: list[str]) -> None:
    """Record elements of D that st or red stores to global memory."""
    count, size = _parse_shape(opcode)
    registers = [code.get_value(token) for token in split_operands(operands[1].strip("{} "))]
    address = code.get_address(operands[0])
    if isinstance(address, Pointer) and address.space == "global" and (any(map(is_result, registers)) or code.run.tape):
        data = join_data([fit_data(code.run, value, SizedType("", size)) for value in registers])
        parts = 2 if has_two(code.run, registers[0]) else size
        kind = SizedType("", count * size, vector=parts if parts < count * size else 0)
        store_result(code.run, replace(address, type=kind, dims=()), data, code.get_site(operands[0]), opcode[0] == "r")
    elif not all(isinstance(value, ThreadNumber) for value in registers):
        code.run.lost_outputs = True


def _run_load(code: AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    count, size = _parse_shape(opcode)
    registers = split_operands(operands[0].strip("{} "))
    address = code.get_address(operands[1]) if len(operands) > 1 else None
    data: DataBytes | None = None
    if isinstance(address, Pointer) and address.space == "global" and "global" in opcode:
        data = run.load_global(address.array, address.offset, count * size)
    else:
        places = _convert_to_places(code, address)
        word = run.find_tensor_address(places) if places is not None and "shared" in opcode and count == 1 else None
        if word is not None:
            code.put_value(registers[0], word)
            return
        if places is not None and "shared" in opcode:
            data = run.load_shared(places, count * size, run.mask, code.get_site(operands[1]))
    for n, register in enumerate(registers):
        code.put_value(register, data.cut_bytes(n * size, size) if data is not None and n < count else None)


_INSTRUCTIONS: InstructionRows = (
    (re.compile(r"ldmatrix\."), 0, _load_matrices),
    (re.compile(r"mma\."), 4, _run_mma),
    (re.compile(r"wgmma\.mma_async\."), 0, _read_matrices),
    (re.compile(r"tcgen05\.mma\."), 0, read_tensor_descriptors),
    (re.compile(r"tcgen05\.alloc\."), 0, note_allocation),
    (re.compile(r"cp\.async\.c"), 3, _run_async_copy),
    (re.compile(r"st(?=\.|$)(?=.*shared)(?!.*async)"), 0, _run_store),
    (re.compile(r"(?:st|red)(?=\..*global)(?!.*(?:async|bulk))"), 2, _run_global_store),
    (re.compile(r"ld(?=\.|$)(?=.*(?:shared|global))"), 0, _run_load),
    *ELEMENTWISE,
    *INTEGER,
    (re.compile(r"cp\.(?:reduce\.)?async\.bulk(?!\.\w+_group|\.prefetch)"), 1, _note_bulk_copy),
    (re.compile(r"mbarrier\..*expect_tx"), 2, _note_expected),
    (
        re.compile(r"(?!.*(?:_group|\.prefetch)).*(?:bulk|st\.async|stmatrix|\b(?:red|atom)\.|multimem|ld_matrix)"),
        0,
        _forget_memory,
    ),
)
