"""Write a launch template: values that an entry's parameters and directives determine, and placeholders for the rest.

A 64-bit parameter counts as a pointer if its value becomes an address by moves and sums alone, as nvcc and Triton
compute one; as the address of a tensor map if a bulk tensor instruction takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod

from lanescope.emulate.launching.kernel import find_entry
from lanescope.emulate.state.tensor_maps import MAP_BYTES
from lanescope.emulate.text.program import (
    AddressOperand,
    Function,
    Module,
    Operand,
    Register,
    Statement,
    Symbol,
    VectorOperand,
)
from lanescope.ptx.register_types import TYPES

_SUMS = {"mov": (1,), "cvta": (1,), "add": (1, 2), "sub": (1,), "mad": (3,), "selp": (1, 2), "cvt": (1,)}
_MAP_TAKERS = (
    "cp.async.bulk.tensor",
    "cp.reduce.async.bulk.tensor",
    "cp.async.bulk.prefetch.tensor",
    "prefetch",
    "fence",
)
_RANKS = {f"{n}d": n for n in range(1, 6)}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def write_launch_template(module: Module, part: str = "") -> str:
    """Return a launch in TOML to edit.

    part: of the entry's name. LayoutError unless exactly one entry matches.
    """
    entry = find_entry(module, part)
    lines = [f'kernel = "{entry.name}"'] if len(module.entries) > 1 else []
    lines += _write_extents(entry)
    if any(variable.space == "shared" and not variable.size for variable in module.variables.values()):
        lines.append("shared = 49152  # set: bytes of dynamic shared memory")
    arguments = list(_list_arguments(entry))
    lines.append("args = [")
    lines += [f"    {argument.value},  # {argument.note}" for argument in arguments]
    lines.append("]")
    dims = _find_rank(entry)
    for argument in arguments:
        if argument.buffer:
            lines += ["", *_write_buffer(argument.buffer, dims if argument.map else 2)]
        if argument.map:
            lines += ["", *_write_map(argument.map, argument.buffer, dims, _is_im2col(entry))]
    return "\n".join(lines) + "\n"


def _write_extents(entry: Function) -> Iterator[str]:
    """Yield the lines of grid, block and cluster, with the values that the directives fix."""
    limits = entry.limits
    cluster = list(limits.get("reqnctapercluster", ()))
    yield f"grid = {cluster or [1]}  # set: blocks along x, y and z"
    if "reqntid" in limits:
        yield f"block = {list(limits['reqntid'])}  # .reqntid"
    elif "maxntid" in limits:
        yield f"block = {list(limits['maxntid'])}  # .maxntid: at most"
    else:
        yield "block = [128]  # set: not in the PTX"
    if cluster:
        yield f"cluster = {cluster}  # .reqnctapercluster"
    elif "explicitcluster" in limits or "maxclusterrank" in limits:
        most = limits.get("maxclusterrank", (0,))[0]
        yield "cluster = [1]  # set: " + (f".maxclusterrank, at most {most} blocks" if most else ".explicitcluster")


@dataclass(frozen=True, slots=True)
class _Argument:
    """One argument as TOML. note: a comment; buffer, map: names of the tables that it refers to, "" for none."""

    value: str
    note: str
    buffer: str = ""
    map: str = ""


def _list_arguments(entry: Function) -> Iterator[_Argument]:
    uses = _find_uses(entry)
    buffers = maps = 0
    for parameter in entry.parameters:
        row = TYPES[parameter.type]
        name = f"{parameter.name}: "
        use = uses.get(parameter.name, "")
        if parameter.size == MAP_BYTES or (use == "map" and parameter.size == 8):
            buffer, map_name = _name_buffer(buffers), f"map{maps}"
            buffers, maps = buffers + 1, maps + 1
            by_value = parameter.size == MAP_BYTES
            value, note = (
                (f'"{map_name}"', "a tensor map by value") if by_value else (f'"&{map_name}"', "a tensor map's address")
            )
            yield _Argument(value, name + note, buffer, map_name)
        elif parameter.size != row.bytes:
            yield _Argument(f'{{hex = "{"00" * parameter.size}"}}', f"{name}set: a struct of {parameter.size} bytes")
        elif row.bits == 64 and row.kind != "f" and use == "pointer":
            buffer = _name_buffer(buffers)
            buffers += 1
            yield _Argument(f'"{buffer}"', f"{name}.{row.name}, a pointer", buffer)
        else:
            value = "1.0" if row.kind == "f" else "0" if row.bits == 64 else "1"
            more = ", a number or a buffer" if row.bits == 64 and row.kind != "f" else ""
            yield _Argument(value, f"{name}set: .{row.name}{more}")


def _name_buffer(number: int) -> str:
    return _LETTERS[number] if number < len(_LETTERS) else f"P{number}"


def _write_buffer(name: str, rank: int) -> list[str]:
    return [
        f"[buffer.{name}]",
        f"shape = {_list_sizes(rank)[::-1]}  # set",
        'type = "f32"  # set: bf16, f16, e4m3, u32, …',
        f'fill = "random"  # or a number, or "identify"; or file = "{name}.npy" in place of shape and fill',
        f'# output = "{name}-after.npy"',
    ]


def _write_map(name: str, buffer: str, rank: int, im2col: bool) -> list[str]:
    dims = _list_sizes(rank)
    strides = [4 * prod(dims[:n]) for n in range(1, rank)]
    lines = [
        f"[tensor_map.{name}]",
        f'buffer = "{buffer}"',
        f"dims = {dims}  # set: elements, innermost first",
        f"strides = {strides}  # set: bytes, without the innermost",
    ]
    if im2col:
        corner = [0] * (rank - 2)
        lines += ['mode = "im2col"', f"pixel_lower = {corner}  # set", f"pixel_upper = {corner}  # set"]
        lines += ["channels = 32  # set", "pixels = 64  # set"]
    else:
        lines.append(f"box = {[32, *[8] * (rank - 1)]}  # set: elements")
    return [*lines, 'swizzle = "128B"  # set: none, 32B, 64B, 128B']


def _list_sizes(rank: int) -> list[int]:
    """Return placeholder sizes, innermost first."""
    return [64, 64] if rank == 2 else [64, *[8] * (rank - 1)]


def _find_rank(entry: Function) -> int:
    """Return the rank of the tensor maps if all instructions agree on it, else 2."""
    ranks = {
        _RANKS[word]
        for statement in entry.statements
        if "tensor" in statement.words
        for word in statement.words
        if word in _RANKS
    }
    return ranks.pop() if len(ranks) == 1 else 2


def _is_im2col(entry: Function) -> bool:
    return (
        any(word.startswith("im2col") for statement in entry.statements for word in statement.words)
        and _find_rank(entry) > 2
    )


def _find_uses(entry: Function) -> dict[str, str]:
    """Return parameter name → "map" or "pointer"."""
    names = {parameter.name for parameter in entry.parameters}
    origins: dict[int, set[str]] = {}  # slot of a register → the parameters that it is a sum of
    changed = True
    while changed:
        changed = False
        for statement in entry.statements:
            target, sources = _find_origins(statement, origins, names)
            for register in target:
                known = origins.setdefault(register.slot, set())
                changed |= not sources <= known
                known |= sources
    uses: dict[str, str] = {}
    for statement in entry.statements:
        if statement.words[:2] == ("ld", "param"):
            continue
        takes_map = statement.opcode.startswith(_MAP_TAKERS)
        for operand in statement.operands:
            if isinstance(operand, AddressOperand) and isinstance(operand.base, Register):
                is_map = takes_map and (bool(operand.rest) or "tensormap" in statement.opcode)
                for name in origins.get(operand.base.slot, ()):
                    uses[name] = "map" if is_map or uses.get(name) == "map" else "pointer"
    return uses


def _find_origins(
    statement: Statement, origins: dict[int, set[str]], names: set[str]
) -> tuple[Iterable[Register], set[str]]:
    """Return the registers that a statement writes, and the parameters whose values they are sums of."""
    operands = statement.operands
    if statement.words[:2] == ("ld", "param") and len(operands) == 2:
        address = operands[1]
        symbol = address.base if isinstance(address, AddressOperand) else None
        return _list_registers(operands[0]), {symbol.name} & names if isinstance(symbol, Symbol) else set()
    places = _SUMS.get(statement.words[0], ())
    sources: set[str] = set()
    for place in places:
        source = operands[place] if place < len(operands) else None
        if isinstance(source, Register):
            sources |= origins.get(source.slot, set())
    return (_list_registers(operands[0]) if sources else ()), sources


def _list_registers(operand: Operand) -> list[Register]:
    items = operand.items if isinstance(operand, VectorOperand) else (operand,)
    return [item for item in items if isinstance(item, Register)]
