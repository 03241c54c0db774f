"""Names of CUTLASS's atoms, CUTLASS 4: include/cute/arch. Where no atom exists the name is empty."""

from __future__ import annotations

from collections.abc import Callable

from lanescope.ptx.instruction import Instruction, Opcode
from lanescope.ptx.table import mma, movement, wgmma

_TYPES = {"s32": "S32", "s8": "S8", "u8": "U8", "s4": "S4", "u4": "U4", "b1": "U1"}


def atom(instruction: Instruction) -> str:
    """The atom's name as CUTLASS spells it, "" where it has none."""
    spell = _SPELLED.get(instruction.family.opcode)
    return spell(instruction, set(instruction.modifiers)) if spell else ""


def _types(instruction: Instruction) -> dict[str, str]:
    return {name: _TYPES.get(t, t.upper()) for name, t in instruction.types.items()}


def _group(instruction: Instruction, mods: set[str]) -> str:
    s, types, a = instruction.sizes, _types(instruction), instruction.types["a"]
    if a == "b1":
        return ""
    ending = "_SATURATE" if "satfinite" in mods else ""
    transposes = "" if a in ("f16", "bf16") else "_TN"
    return (
        f"SM90::GMMA::MMA_64x{s['n']}x{s['k']}_{types['d']}{types['a']}{types['b']}_SS{transposes}{ending} (A in"
        " registers: _RS)"
    )


def _matrices(instruction: Instruction, mods: set[str]) -> str:
    if instruction.types["data"] != "b16":
        return ""
    x = instruction.counts["x"]
    sm, name = ("SM75", "LDSM") if instruction.family.loads else ("SM90", "STSM")
    return f"{sm}_U16x{2 * x}_{name}_T" if "trans" in mods else f"{sm}_U32x{x}_{name}_N"


def _warp(instruction: Instruction, mods: set[str]) -> str:
    if any(m.startswith("kind::") or m in ("rn", "rz", "rm", "rp") for m in mods):
        return ""
    s, a, types = instruction.sizes, instruction.types["a"], _types(instruction)
    shape = f"{s['m']}x{s['n']}x{s['k']}"
    spelled = "".join(types[name] for name in "dabc")
    if a == "f16" and s["k"] == 4:
        if instruction.types["d"] != instruction.types["c"]:
            return ""
        turned = "".join("T" if side == "row" else "N" for side in instruction.syntax.layouts)
        return f"SM70_{shape}_{spelled}_{turned}"
    if a == "b1":
        return f"SM80_{shape}_{spelled}_TN_{'XOR' if 'xor' in mods else 'AND'}POPC"
    if a in ("e4m3", "e5m2"):
        return f"SM89_{shape}_{spelled}_TN" if s["k"] == 32 else ""
    if a == "f64" and s["m"] == 16:
        return f"SM90::MMA_{shape}_{spelled}_TN"
    if a == "bf16" or a in ("f16", "tf32", "f64") or a in ("s8", "u8", "s4", "u4"):
        return f"SM80_{shape}_{spelled}_TN{'_SATURATE' if 'satfinite' in mods else ''}"
    return ""


_SPELLED: dict[Opcode, Callable[[Instruction, set[str]], str]] = {
    mma.OPCODE: _warp,
    wgmma.DENSE_OPCODE: _group,
    movement.LOAD: _matrices,
    movement.STORE: _matrices,
}
