"""PTX in device code: moves to shared memory and registers, and products that read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.inline_ptx import PtxInstruction, list_statements, parse_immediate
from lanescope.reader.code.tree_statements import Assembly
from lanescope.reader.threads.matrix_reads import read_descriptors, read_tensor_descriptors
from lanescope.reader.threads.numbers import (
    LONG,
    UINT,
    ULONG,
    ThreadNumber,
    add_numbers,
    apply_operator,
    convert_number,
    make_number,
)
from lanescope.reader.threads.places import find_place
from lanescope.reader.threads.program import Scope, split_operands
from lanescope.reader.threads.records import LoadedRegister, MatrixLoad, MmaUse, RegisterUse
from lanescope.reader.threads.sites import trace_site
from lanescope.reader.threads.storage import (
    DataBytes,
    LocalMemory,
    Pointer,
    join_data,
    make_open_data,
    spread_coefficient,
)
from lanescope.reader.threads.types import SizedType
from lanescope.reader.threads.values import fit_data, load_place, store_place

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

MOST_PRODUCTS = 2000
_WIDTH = re.compile(r"\.[bufs](\d+)\b")


class _AsmCode:
    """One asm statement: the values of its operands, and of the registers that it declares."""

    def __init__(self, run: KernelRunner, assembly: Assembly, scope: Scope) -> None:
        self.run, self.assembly, self.scope = run, assembly, scope
        self.names = {name: n for n, name in enumerate(assembly.names) if name}
        self.places: list[Any] = []
        self.values: list[Any] = []
        self.registers: dict[str, Any] = {}
        for kind, expression in assembly.operands:
            out = kind.startswith(("=", "+"))
            place = find_place(run, expression, scope) if out else None
            self.places.append(place)
            if kind.startswith("="):
                self.values.append(None)
            elif out:
                self.values.append(load_place(run, place, expression.span) if isinstance(place, Pointer) else None)
            else:
                self.values.append(run.evaluate(expression, scope))
        self.written: set[int] = set()

    def find_number(self, token: str) -> int | None:
        """Return the number of an operand, None for another token."""
        token = token.strip()
        if re.fullmatch(r"%\d+", token):
            n = int(token[1:])
            return n if n < len(self.values) else None
        found = re.fullmatch(r"%\[(\w+)\]", token)
        return self.names.get(found[1]) if found else None

    def get_value(self, token: str) -> Any:
        """Return the value of an operand."""
        token = token.strip()
        n = self.find_number(token)
        if n is not None:
            return self.values[n]
        immediate = parse_immediate(token)
        return self.registers.get(token) if immediate is None else make_number(immediate, LONG)

    def get_address(self, token: str) -> Any:
        """Return the address in brackets, with the offset added."""
        inner = token.strip().removeprefix("[").removesuffix("]")
        base, _, offset = inner.partition("+")
        value = self.get_value(base)
        added = self.get_value(offset) if offset.strip() else None
        if isinstance(value, Pointer):
            moved = add_numbers(value.offset, added) if added is not None else value.offset
            return value.move(moved)
        if isinstance(value, ThreadNumber):
            return add_numbers(convert_number(value, LONG), added) if offset.strip() else convert_number(value, LONG)
        return None

    def put_value(self, token: str, value: Any) -> None:
        """Write a value to an operand or to a register of the statement."""
        n = self.find_number(token)
        if n is None:
            self.registers[token.strip()] = value
            return
        self.values[n] = value
        self.written.add(n)

    def get_site(self, token: str, first: bool = False) -> tuple[int, int]:
        """Return the place of an operand's expression in the kernel's own function."""
        inner = token.strip().strip("[]").partition("+")[0]
        n = self.find_number(inner)
        if n is None:
            return self.assembly.span
        key = self.assembly.span, n, first, tuple(self.run.calls)
        if key not in self.run.sites:
            self.run.sites[key] = trace_site(self.run, self.assembly.operands[n][1], self.scope, first=first)
        return self.run.sites[key]

    def write_outputs(self) -> None:
        """Write the outputs; those that nothing computed become unknown."""
        for n, (kind, expression) in enumerate(self.assembly.operands):
            if kind.startswith(("=", "+")) and isinstance(self.places[n], Pointer):
                value = self.values[n] if n in self.written else None
                store_place(self.run, self.places[n], value, expression.span)


def run_assembly(run: KernelRunner, assembly: Assembly, scope: Scope) -> None:
    """Run an asm statement."""
    code = _AsmCode(run, assembly, scope)
    if assembly.code is None:
        run.shared.broken = run.shared.broken or "an asm statement that is not read"
    else:
        for statement in list_statements(assembly.code):
            if isinstance(statement, PtxInstruction) and not statement.opcode.startswith("."):
                _run_instruction(code, statement)
    code.write_outputs()


def _run_instruction(code: _AsmCode, instruction: PtxInstruction) -> None:
    operands = list(instruction.operands)
    opcode = re.sub(r"%(\d+)", lambda m: _format_known(code, int(m[1])), instruction.opcode)
    if instruction.guard:
        _forget_outputs(code, opcode.split(".")[0], operands)
        return
    for pattern, least, execute in _INSTRUCTIONS:
        if pattern.match(opcode) and len(operands) >= least:
            execute(code, opcode, operands)
            return


def _forget_outputs(code: _AsmCode, head: str, operands: list[str]) -> None:
    """Make the outputs of a predicated instruction unknown, since it is not known which threads execute it."""
    if head in ("st", "cp", "red", "stmatrix"):
        code.run.shared.broken = code.run.shared.broken or "a store under a predicate"
    else:
        for output in split_operands(operands[0].strip().strip("{}")) if operands else ():
            code.put_value(output, None)


def _forget_shared_memory(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    """Mark shared memory as incomplete: an instruction that is not evaluated writes it."""
    code.run.shared.broken = code.run.shared.broken or f"{opcode.split('.shared')[0]} writes it"


def _read_matrices(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    read_descriptors(code.run, code.assembly, opcode, operands, code.get_value, code.get_site)


def _read_tensor_matrices(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    read_tensor_descriptors(code.run, code.assembly, opcode, operands, code.get_value, code.get_site)


def _format_known(code: _AsmCode, n: int) -> str:
    value = code.values[n] if n < len(code.values) else None
    known = value.known if isinstance(value, ThreadNumber) else None
    return f"%{n}" if known is None else str(known)


def _run_arithmetic(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    head = opcode.split(".")[0]
    kind = ULONG if "64" in opcode else UINT
    values = [code.get_value(operand) for operand in operands[1:]]
    result: Any = None
    if head in ("mov", "cvt", "cvta") and len(values) == 1:
        result = values[0]
        if isinstance(result, Pointer) and result.space == "shared":
            result = result.offset
        if isinstance(result, ThreadNumber):
            result = convert_number(result, kind if head != "cvt" else ULONG)
    elif len(values) == 2 and all(isinstance(value, ThreadNumber) for value in values):
        op = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}.get(head)
        result = apply_operator(op, convert_number(values[0], kind), convert_number(values[1], kind)) if op else None
    for operand in operands[:1]:
        code.put_value(operand, result)


def _convert_to_places(code: _AsmCode, address: Any) -> Any:
    """Return the shared addresses of all threads, None if unknown."""
    if isinstance(address, Pointer):
        address = address.offset if address.space == "shared" else None
    value = address.const if isinstance(address, ThreadNumber) else None
    return None if value is None else spread_coefficient(value, code.run.threads)


def _load_matrices(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    outputs = split_operands(operands[0].strip().strip("{}"))
    address = _convert_to_places(code, code.get_address(operands[1])) if len(operands) > 1 else None
    if (
        address is None
        or "m8n8" not in opcode
        or "b16" not in opcode
        or (not run.mask.all() and not _has_complete_warps(run))
    ):
        for output in outputs:
            code.put_value(output, make_open_data(run.threads, 4))
        return
    arguments = run.mask & _gives_address(run, len(outputs))
    rows = run.shared.load_bytes(address, 16, arguments)
    writers = tuple(int(n) for n in np.unique(run.shared.writer[np.clip(address, 0, len(run.shared.writer) - 1)]))
    places = np.asarray(address)[arguments]
    aligned = not ((places - places[:1]) % 16).any()  # wherever the array begins
    site, calls = code.get_site(operands[1]), tuple(run.calls)
    step = code.get_site(operands[1], first=True)
    load = MatrixLoad(opcode, code.assembly.span, rows, site, calls, writers, aligned, np.asarray(address), step)
    for n, output in enumerate(outputs):
        data = gather_register(rows, n, ".trans" in opcode)
        code.put_value(output, LoadedRegister(data.record, data.thread, data.byte, load, n))


def _gives_address(run: KernelRunner, count: int) -> Any:
    return np.arange(run.threads) % 32 < 8 * count


def _has_complete_warps(run: KernelRunner) -> bool:
    warps = np.array_split(run.mask, max(run.threads // 32, 1))
    return all(bool(warp.all()) or not warp.any() for warp in warps)


def gather_register(rows: DataBytes, number: int, turned: bool) -> DataBytes:
    """Return the contents of register `number` of ldmatrix.b16, given the 16 bytes at every lane's address.

    Matrix `number` has its rows at the addresses of lanes 8·number to 8·number + 7 of the warp; lane l gets elements
    2(l mod 4) and + 1 of row l div 4, with .trans of column l div 4 (PTX ISA 9.1, 9.7.14.5.15).
    """
    lane = np.arange(rows.record.shape[0])
    base = lane // 32 * 32 + 8 * number
    group, quad = lane % 32 // 4, lane % 4
    parts = []
    for half in range(2):
        row = base + (2 * quad + half if turned else group)
        column = group if turned else 2 * quad + half
        row = np.minimum(row, len(lane) - 1)
        for byte in range(2):
            at = 2 * column + byte
            parts.append(DataBytes(*(getattr(rows, n)[row, at][:, None] for n in ("record", "thread", "byte"))))
    return join_data(parts)


def _run_mma(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    if len(run.products) < MOST_PRODUCTS:
        a, b = (
            tuple(_make_use(code, register) for register in split_operands(text.strip("{} "))) for text in operands[1:3]
        )
        result = _find_register(code, split_operands(operands[0].strip("{} "))[:1])
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
                tuple(_list_scale_ids(code, opcode, operands)),
            )
        )
    for register in split_operands(operands[0].strip("{} ")):
        code.put_value(register, make_open_data(run.threads, 4))


def _list_scale_ids(
    code: _AsmCode, opcode: str, operands: Sequence[str]
) -> Iterator[tuple[int | None, tuple[int, int]]]:
    """Yield (value, place) of byte-id and thread-id of A and of B, in a block-scaled mma."""
    pairs = (split_operands(operands[n].strip("{} ")) for n in (-3, -1)) if len(operands) == 8 else ()
    for token in (operand for pair in pairs if "block_scale" in opcode for operand in pair):
        value = code.get_value(token)
        known = value.known if isinstance(value, ThreadNumber) else None
        site = code.get_site(token)
        first = parse_immediate(code.run.text[slice(*site)])
        if first is not None and first != known:  # what a loop begins with
            site = code.run.calls[-1] if code.run.calls else code.assembly.span
        yield known, site


def _find_register(code: _AsmCode, tokens: Sequence[str]) -> tuple[LocalMemory, int] | None:
    """Return the local memory that an output is in, and its offset; None if unknown."""
    n = code.find_number(tokens[0]) if tokens else None
    place = code.places[n] if n is not None else None
    if not isinstance(place, Pointer) or place.offset is None or not isinstance(place.array, LocalMemory):
        return None
    offset = place.offset.known
    return None if offset is None else (place.array, offset)


def _make_use(code: _AsmCode, token: str) -> Any:
    value = code.get_value(token)
    if isinstance(value, LoadedRegister):
        return RegisterUse(value, value.load, value.number)
    return RegisterUse(value if isinstance(value, DataBytes) and value.size == 4 else None)


def _run_async_copy(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    source = code.get_address(operands[1])
    size = code.get_value(operands[2])
    count = size.known if isinstance(size, ThreadNumber) else None
    target = code.get_address(operands[0])
    if isinstance(target, Pointer):
        target = target.offset if target.space == "shared" else None
    if count not in (4, 8, 16):
        run.shared.broken = run.shared.broken or "cp.async of a size that is not known"
        return
    known = isinstance(source, Pointer) and source.space == "global"
    data = run.load_global(source.array, source.offset, count) if known else make_open_data(run.threads, count)
    run.store_shared(target, data, code.get_site(operands[0]))


def _parse_shape(opcode: str) -> tuple[int, int]:
    """Return the number of registers of a load or store, and their bytes."""
    found = _WIDTH.findall(opcode)
    vector = re.search(r"\.v(\d)", opcode)
    return int(vector[1]) if vector else 1, int(found[-1]) // 8 if found else 4


def _run_store(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    count, size = _parse_shape(opcode)
    kind = SizedType("", size)
    registers = split_operands(operands[1].strip("{} ")) if len(operands) > 1 else []
    address = code.get_address(operands[0])
    if isinstance(address, Pointer):
        address = address.offset if address.space == "shared" else None
    if len(registers) != count:
        run.shared.broken = run.shared.broken or "a store that is not read"
        return
    data = join_data([fit_data(run, code.get_value(register), kind) for register in registers])
    run.store_shared(address, data, code.get_site(operands[0]))


def _run_load(code: _AsmCode, opcode: str, operands: list[str]) -> None:
    run = code.run
    count, size = _parse_shape(opcode)
    registers = split_operands(operands[0].strip("{} "))
    address = code.get_address(operands[1]) if len(operands) > 1 else None
    data: DataBytes | None = None
    if isinstance(address, Pointer) and address.space == "global" and "global" in opcode:
        data = run.load_global(address.array, address.offset, count * size)
    else:
        places = _convert_to_places(code, address)
        if places is not None and "shared" in opcode:
            data = run.shared.load_bytes(places, count * size, run.mask)
    for n, register in enumerate(registers):
        code.put_value(register, data.cut_bytes(n * size, size) if data is not None and n < count else None)


# what an opcode is like, and the operands that it has at least
_INSTRUCTIONS: tuple[tuple[re.Pattern[str], int, Callable[[_AsmCode, str, list[str]], None]], ...] = (
    (re.compile(r"ldmatrix\."), 0, _load_matrices),
    (re.compile(r"mma\."), 4, _run_mma),
    (re.compile(r"wgmma\.mma_async\."), 0, _read_matrices),
    (re.compile(r"tcgen05\.mma\."), 0, _read_tensor_matrices),
    (re.compile(r"cp\.async\.c"), 3, _run_async_copy),
    (re.compile(r"st(?=\.|$)(?=.*shared)(?!.*async)"), 0, _run_store),
    (re.compile(r"ld(?=\.|$)(?=.*(?:shared|global))"), 0, _run_load),
    (re.compile(r"(?:mov|cvta?|add|sub|mul|mad|and|x?or|sh[lr]|setp)(?=\.|$)"), 0, _run_arithmetic),
    (re.compile(r".*(?:bulk|st\.async|stmatrix|red\.|atom\.|multimem|ld_matrix)"), 0, _forget_shared_memory),
)
