"""Names of instructions' atoms in CUTLASS 4 (include/cute/arch)."""

from __future__ import annotations

from collections.abc import Callable

from lanescope.ptx.instruction import Instruction, OpcodeWords
from lanescope.ptx.table import mma, movement, wgmma

_TYPES = {"s32": "S32", "s8": "S8", "u8": "U8", "s4": "S4", "u4": "U4", "b1": "U1"}
_FLOAT8 = ("e4m3", "e5m2")
_ROUNDINGS = frozenset({"rn", "rz", "rm", "rp"})
_TURNED = {"row": "T", "col": "N"}
# type of A → beginning of the names of mma.sync's atoms
_PREFIXES = {
    **dict.fromkeys(("bf16", "f16", "tf32", "f64", "s8", "u8", "s4", "u4", "b1"), "SM80"),
    **dict.fromkeys(_FLOAT8, "SM89"),
}


def get_atom_name(instruction: Instruction) -> str:
    """Return CUTLASS's name of an instruction's atom, "" if there is none."""
    spell = _SPELLED.get(instruction.family.opcode)
    return spell(instruction, set(instruction.modifiers)) if spell else ""


def _spell_types(instruction: Instruction) -> dict[str, str]:
    return {name: _TYPES.get(t, t.upper()) for name, t in instruction.types.items()}


def _name_group_atom(instruction: Instruction, mods: set[str]) -> str:
    s, types, a = instruction.sizes, _spell_types(instruction), instruction.types["a"]
    if a == "b1":
        return ""
    ending = "_SATURATE" if "satfinite" in mods else ""
    transposes = "" if a in ("f16", "bf16") else "_TN"
    return (
        f"SM90::GMMA::MMA_64x{s['n']}x{s['k']}_{types['d']}{types['a']}{types['b']}_SS{transposes}{ending} (A in"
        " registers: _RS)"
    )


def _name_matrix_atom(instruction: Instruction, mods: set[str]) -> str:
    if instruction.types["data"] != "b16":
        return ""
    x = instruction.counts["x"]
    sm, name = ("SM75", "LDSM") if instruction.family.loads else ("SM90", "STSM")
    return f"{sm}_U16x{2 * x}_{name}_T" if "trans" in mods else f"{sm}_U32x{x}_{name}_N"


def _name_warp_atom(instruction: Instruction, mods: set[str]) -> str:
    if not mods.isdisjoint(_ROUNDINGS) or any(m.startswith("kind::") for m in mods):
        return ""
    s, a, types = instruction.sizes, instruction.types["a"], _spell_types(instruction)
    name = f"{s['m']}x{s['n']}x{s['k']}_{''.join(types[operand] for operand in 'dabc')}"
    if a == "f16" and s["k"] == 4:
        same = instruction.types["d"] == instruction.types["c"]
        return f"SM70_{name}_{''.join(map(_TURNED.__getitem__, instruction.syntax.layouts))}" if same else ""
    if a not in _PREFIXES or (a in _FLOAT8 and s["k"] != 32):
        return ""
    prefix = "SM90::MMA" if a == "f64" and s["m"] == 16 else _PREFIXES[a]
    return f"{prefix}_{name}_TN{_name_ending(a, mods)}"


def _name_ending(a: str, mods: set[str]) -> str:
    if a == "b1":
        return "_XORPOPC" if "xor" in mods else "_ANDPOPC"
    return "_SATURATE" if "satfinite" in mods else ""


_SPELLED: dict[OpcodeWords, Callable[[Instruction, set[str]], str]] = {
    mma.OPCODE: _name_warp_atom,
    wgmma.DENSE_OPCODE: _name_group_atom,
    movement.LOAD: _name_matrix_atom,
    movement.STORE: _name_matrix_atom,
}
