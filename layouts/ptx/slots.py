"""The operands of a PTX line in their order: kind, registers and their type. PTX ISA 9.1, 9.7.14 to 9.7.16."""

from __future__ import annotations

from dataclasses import dataclass

from lanescope.ptx.instruction import Instruction, InstructionVerb, Operand, OperandPlace
from lanescope.ptx.role import TmemIssue


@dataclass(frozen=True, slots=True)
class OperandSlot:
    """One operand of the PTX line.

    kind: "vector", "register", "address", "immediate" or "predicate"; type: the PTX type of its registers; written:
    whether the instruction writes it; what: a short description; value: the example of an immediate.
    """

    name: str
    kind: str
    registers: int
    type: str
    written: bool
    what: str
    value: str = ""

    @property
    def text(self) -> str:
        if self.kind == "vector":
            return "{" + ", ".join(f"{self.name}{n}" for n in range(self.registers)) + "}"
        return {"address": f"[{self.name}]", "immediate": self.value}.get(self.kind, self.name)

    @property
    def immediates(self) -> tuple[tuple[str, str], ...]:
        """The (name, example) of every number in an immediate: one, or the byte-id and thread-id of a scale factor."""
        if self.value.startswith("{"):
            names = (f"{part}_{self.name[-1]}" for part in ("byte_id", "thread_id"))
            return tuple(zip(names, self.value.strip("{}").split(", "), strict=True))
        return ((self.name, self.value),)


def list_slots(instruction: Instruction, a_from: str = "registers") -> list[OperandSlot]:
    """Return the operands in PTX's order; a_from "shared" selects wgmma's form with a descriptor for A."""
    family = instruction.family
    if family.memory is not None:
        letter, *reduced = instruction.operands
        vector, (address, *rest) = _make_vector_slot(instruction, letter, family.loads, "r"), _MEMORY[family.memory]
        half = [_make_half_slot(instruction.operands[letter])] if "halves" in instruction.sizes else []
        vectors = [vector, *(_make_result_slot(instruction, name) for name in reduced)]
        return [*vectors, address, *half, *rest] if family.loads else [address, *half, *vectors, *rest]
    if family.issue:
        return _list_tmem_slots(family.issue, a_from if a_from in family.forms else family.forms[0])
    if family.verb in _TENSOR:
        return list(_TENSOR[family.verb])
    if family.moves:
        return [
            OperandSlot("d", "register", 1, "b32", True, "transpose"),
            OperandSlot("a", "register", 1, "b32", False, "source"),
        ]
    if family.by_descriptor:
        return _list_wgmma_slots(instruction, a_from)
    slots = [_make_vector_slot(instruction, letter, letter == "d") for letter in "dabc"]
    if instruction.operands["a"].sparsity:
        slots += [
            OperandSlot("e", "register", 1, "b32", False, "sparsity metadata"),
            OperandSlot("f", "immediate", 0, "", written=False, what="sparsity selector", value="0"),
        ]
    for scale in instruction.scales.values():
        letter = scale.name[-1]
        slots += [
            OperandSlot(f"scale_{letter}_data", "register", 1, "b32", False, "four scale bytes"),
            OperandSlot(
                f"ids_{letter}",
                "immediate",
                0,
                "",
                written=False,
                what=f"{{byte-id-{letter}, thread-id-{letter}}}",
                value="{0, 0}",
            ),
        ]
    return slots


def _make_vector_slot(instruction: Instruction, letter: str, written: bool, name: str = "") -> OperandSlot:
    op = instruction.operands[letter]
    return OperandSlot(
        name or letter,
        "vector",
        op.registers,
        op.element.register_type,
        written,
        f"{letter.upper()}, {op.values} × {op.element.name} per thread",
    )


def _list_tmem_slots(issue: TmemIssue, a_from: str) -> list[OperandSlot]:
    """Return the slots of tcgen05.mma, without the optional ones."""

    def make_address_slot(name: str, what: str) -> OperandSlot:
        return OperandSlot(name, "address", 1, "b32", False, f"{what} in tensor memory")  # ptxas takes no .u32 here

    a = (
        make_address_slot("a_tmem", "A")
        if a_from == "tensor"
        else OperandSlot("a_desc", "register", 1, "b64", False, "matrix descriptor of A")
    )
    return [
        make_address_slot("d_tmem", "D"),
        a,
        OperandSlot("b_desc", "register", 1, "b64", False, "matrix descriptor of B"),
        *([make_address_slot("meta_tmem", "sparsity metadata")] if issue.sparse else ()),
        OperandSlot("idesc", "register", 1, "b32", False, "instruction descriptor: M, N, types, majors"),
        *(
            [
                make_address_slot("scale_a_tmem", "A's scale factors"),
                make_address_slot("scale_b_tmem", "B's scale factors"),
            ]
            if issue.factors
            else ()
        ),
        OperandSlot("enable_input_d", "predicate", 1, "pred", False, "false: D = A·B, true: D = A·B + D"),
    ]


def _make_result_slot(instruction: Instruction, name: str) -> OperandSlot:
    """Return the slot of the register that receives a thread's reduction (tcgen05.ld.red)."""
    kind = instruction.operands[name].element.register_type
    return OperandSlot(name, "register", 1, kind, True, "this thread's reduction")


def _make_half_slot(op: Operand) -> OperandSlot:
    """Return the slot of the immediate offset from the first to the second half of the columns."""
    width = str(op.col_count // 2)
    return OperandSlot(
        "half_split", "immediate", 0, "", written=False, what="columns from the address to the second half", value=width
    )


# The address slot of loads and stores, and the slots that follow the registers.
_MEMORY = {
    OperandPlace.ROWS: (
        OperandSlot("p", "address", 1, "u32", False, "this lane's row in shared memory, 16-byte aligned"),
    ),
    OperandPlace.MATRIX: (
        OperandSlot("p", "address", 1, "u64", False, "first element"),
        OperandSlot("stride", "register", 1, "u32", False, "elements from a row (column) to the next; optional"),
    ),
    OperandPlace.TENSOR: (
        OperandSlot("taddr", "address", 1, "u32", False, "first lane (bits 16 to 31) and column of tensor memory"),
    ),
}


_TADDR = _MEMORY[OperandPlace.TENSOR][0]
# Instructions without registers: the address in tensor memory, and the descriptor of a source in shared memory.
_TENSOR = {
    InstructionVerb.COPY: (
        _TADDR,
        OperandSlot("s_desc", "register", 1, "b64", False, "matrix descriptor of the source"),
    ),
    InstructionVerb.SHIFT: (_TADDR,),
}


def reads_mn_major(instruction: Instruction) -> bool:
    """Return whether a wgmma has imm-trans-a and imm-trans-b: only those with 16-bit elements do."""
    return instruction.types["a"] in ("f16", "bf16")


def _list_wgmma_slots(instruction: Instruction, a_from: str) -> list[OperandSlot]:
    floating = instruction.types["d"] != "s32"
    from_shared = a_from == "shared"
    slots = [_make_vector_slot(instruction, "d", True)]
    slots += (
        [OperandSlot("a_desc", "register", 1, "b64", False, "matrix descriptor of A")]
        if from_shared
        else [_make_vector_slot(instruction, "a", False)]
    )
    slots += [OperandSlot("b_desc", "register", 1, "b64", False, "matrix descriptor of B")]
    if instruction.operands["a"].sparsity:
        slots += [
            OperandSlot("e", "register", 1, "b32", False, "sparsity metadata"),
            OperandSlot("f", "immediate", 0, "", written=False, what="sparsity selector", value="0"),
        ]
    slots += [OperandSlot("scale_d", "predicate", 1, "pred", False, "false: D = A·B, true: D = A·B + D")]
    if floating:
        slots += [
            OperandSlot(
                f"imm_scale_{x}", "immediate", 0, "", written=False, what=f"1, or -1 to negate {x.upper()}", value="1"
            )
            for x in "ab"
        ]
    if reads_mn_major(instruction):
        letters = "ab" if from_shared else "b"
        slots += [
            OperandSlot(
                f"imm_trans_{x}",
                "immediate",
                0,
                "",
                written=False,
                what=f"0: {x.upper()} K-major, 1: MN-major",
                value="0",
            )
            for x in letters
        ]
    return slots
