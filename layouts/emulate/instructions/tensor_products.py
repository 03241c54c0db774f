"""tcgen05.mma and tcgen05.commit. PTX ISA 9.1, 9.7.16.10 and 9.7.16.12.

From the documentation; tcgen05 was not run on hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.product import TensorProduct, multiply
from lanescope.blackwell.tmem import LANES
from lanescope.blackwell.umma import SCALE_VECTORS, MmaOpcode, find_scale_vector, parse_mma_opcode
from lanescope.emulate.code import Action, Compiler, Reader, UnknownInstructionError, instruction
from lanescope.emulate.instructions.async_work import Issuer
from lanescope.emulate.instructions.mbarriers import arrive_on
from lanescope.emulate.instructions.tensor_memory import KIND, check_cells, get_pair, get_tensor_memory, submit
from lanescope.emulate.state.block import Group
from lanescope.emulate.state.mbarrier_state import split_addresses
from lanescope.emulate.state.memory import RANK_SHIFT, FaultError
from lanescope.emulate.text.program import (
    AddressOperand,
    Immediate,
    NegatedOperand,
    Operand,
    Register,
    RemainingOperands,
    Statement,
    VectorOperand,
)
from lanescope.errors import LayoutError
from lanescope.ptx.register_types import TYPES
from lanescope.ptx.table.kinds import PAIR

Array = NDArray[Any]
_U32, _U64 = TYPES["u32"], TYPES["u64"]
# words that change the result and are not emulated; `fill` and `discard` only control the collector's contents
_OPEN = ("ashift", "use", "lastuse")


@dataclass(frozen=True, slots=True)
class _ProductOperands:
    """The operands of a tcgen05.mma as readers. a: (reader, whether it is an address in tensor memory)."""

    d: Callable[[Group], Array]
    a: tuple[Callable[[Group], Array], bool]
    b: Reader
    idesc: Reader
    beside: dict[str, Callable[[Group], Array]]  # metadata and scale factors in tensor memory
    disabled: Callable[[Group], Array] | None
    enable: Reader
    scale_d: int


@instruction("tcgen05.mma")
def build_product(compiler: Compiler, statement: Statement) -> Action:
    """Build tcgen05.mma: each thread of the group issues one product."""
    if any(word.rpartition("::")[2] in _OPEN for word in statement.words):
        raise UnknownInstructionError(statement)
    try:
        opcode = parse_mma_opcode(statement.opcode)
    except LayoutError as error:
        raise UnknownInstructionError(statement, error.message) from None
    operands = _read_operands(compiler, statement, opcode)
    vector = _find_scale_vector(statement, opcode)

    def issue(group: Group) -> None:
        for number in range(group.count):
            _issue(group.select(np.array([number])), opcode, operands, vector)

    return issue


def _find_scale_vector(statement: Statement, opcode: MmaOpcode) -> str:
    if len(opcode.kind.scaled) > 1 and not statement.find_word(tuple(SCALE_VECTORS)):
        raise UnknownInstructionError(statement, f"{statement.opcode} names no scale vector")
    return find_scale_vector(statement.opcode, opcode.kind)


def _read_operands(compiler: Compiler, statement: Statement, opcode: MmaOpcode) -> _ProductOperands:
    rest = RemainingOperands(statement.operands)

    def take_address() -> Callable[[Group], Array]:
        return compiler.read_address(rest.pop(0))

    d = take_address()
    in_tensor = isinstance(rest.first, AddressOperand)
    a = (take_address(), True) if in_tensor else (compiler.read(rest.pop(0), _U64), False)
    b = compiler.read(rest.pop(0), _U64)
    beside = {"metadata": take_address()} if opcode.sparse else {}
    word = compiler.read(rest.pop(0), _U32)
    if opcode.kind.scaled:
        beside |= {"scale_a": take_address(), "scale_b": take_address()}
    disabled = compiler.read_all(rest.pop(0), _U32) if rest and isinstance(rest[0], VectorOperand) else None
    enable = compiler.read(rest.pop(0), TYPES["pred"]) if rest and _is_predicate(rest[0]) else None
    scale = rest.pop(0) if rest and isinstance(rest[0], Immediate) else Immediate(0)
    if enable is None or rest or not isinstance(scale, Immediate):
        raise UnknownInstructionError(statement, f"{statement.opcode} with these operands")
    return _ProductOperands(d, a, b, word, beside, disabled, enable, int(scale.value))


def _is_predicate(operand: Operand) -> bool:
    if isinstance(operand, Register):
        return operand.type.kind == "pred"
    return isinstance(operand, NegatedOperand)


def _issue(group: Group, opcode: MmaOpcode, operands: _ProductOperands, vector: str) -> None:
    def value(read: Callable[[Group], Array]) -> int:
        return int(np.asarray(read(group)).flat[0])

    word = IdescWord(value(operands.idesc), opcode.kind, group.run.machine.program.module.target)
    read_a, in_tensor = operands.a
    at = {"d": value(operands.d)} | {name: value(read) for name, read in operands.beside.items()}
    if in_tensor:
        at["a"] = value(read_a)
    product = TensorProduct(word, opcode.form, None if in_tensor else value(read_a), value(operands.b), at, vector)
    blocks = get_pair(group.block) if opcode.form == PAIR else [group.block]
    if len(blocks) != product.ctas:
        raise FaultError("no_pair", "cta_group::2 needs a cluster with an even number of CTAs.")
    keep = _read_disabled(group, operands, product.ctas)
    accumulate = bool(np.asarray(operands.enable(group)).flat[0])
    for block in blocks:
        check_cells(group, get_tensor_memory(block), at["d"], 1, "D of tcgen05.mma")

    def run() -> None:
        memory = np.stack([get_tensor_memory(block).cells for block in blocks])
        try:
            multiply(
                product,
                memory,
                [block.shared.data for block in blocks],
                {},
                base=blocks[0].shared.base,
                accumulate=accumulate,
                scale_d=operands.scale_d,
                keep=keep,
            )
        except LayoutError as error:
            raise FaultError("bad_product", f"{opcode.ptx}: {error.message}") from None
        except IndexError:
            raise FaultError("out_of_bounds", f"{opcode.ptx} reads past the CTA's shared memory.") from None
        for number, block in enumerate(blocks):
            get_tensor_memory(block).cells[:] = memory[number]

    group.run.machine.log("tensor_product", group, d=at["d"], ctas=product.ctas)
    submit(group, run)


def _read_disabled(group: Group, operands: _ProductOperands, ctas: int) -> Array | None:
    if operands.disabled is None:
        return None
    words = operands.disabled(group)[0]
    bits = (words[:, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(-1) != 0
    if len(bits) != LANES * ctas:
        raise FaultError("bad_operand", f"disable-output-lane has {len(words)} registers.")
    lanes: Array = bits.reshape(ctas, LANES)
    return lanes


@instruction("tcgen05.commit")
def build_commit(compiler: Compiler, statement: Statement) -> Action:
    """Build tcgen05.commit: one arrival on an mbarrier when everything the thread issued before has completed."""
    multicast = statement.has("multicast::cluster")
    space = "shared::cluster" if statement.has("shared::cluster") else ""
    read = compiler.read_address(statement.operand(0))
    mask_of = compiler.read(statement.operand(1), TYPES["u16"]) if multicast else None

    def commit(group: Group) -> None:
        machine, block = group.run.machine, group.block
        issuer = Issuer(group)
        addresses = read(group).copy()
        masks = np.broadcast_to(mask_of(group), (group.count,)) if mask_of else np.zeros(group.count, np.uint16)

        def run() -> None:
            machine.settle_all(lambda work: work.kind == KIND and work.block is block and work.run is not run)
            for number, address in enumerate(addresses):
                places = [int(address)]
                if multicast:
                    rest = int(address) & ~(15 << RANK_SHIFT)
                    places = [rest | rank << RANK_SHIFT for rank in range(16) if int(masks[number]) >> rank & 1]
                for place in places:
                    thread = issuer.select(np.array([number]))
                    for owner, offset, _ in split_addresses(thread, space, np.array([place])):
                        arrive_on(thread, owner, offset, thread.ids, np.ones(1, np.int64))

        submit(group, run)

    return commit
