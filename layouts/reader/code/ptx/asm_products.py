"""Products of an asm statement that take registers of the statement itself, or that follow another.

A statement may build its descriptors (`mov.b64 db, {lo, hi}`) and multiply several times; each product becomes
a statement of its own, with the values of those registers as further operands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lanescope.reader.code.ptx import inline_ptx as ptx
from lanescope.reader.code.ptx.ptx_evaluation import AsmOperand, RegisterFile

_PRODUCT = re.compile(r"tcgen05\.mma|wgmma\.mma_async")
_OWN = re.compile(r"\.reg\s+\.[bus](?:32|64)\b")
_OPERAND = re.compile(r"%\d+|%\[\w+\]|-?\d\w*|\{.*|\[.*")
_LATEST = 4  # of the operands behind D: descriptors, the instruction descriptor, metadata of a sparse product
MOST_PRODUCTS = 32  # of one statement


@dataclass(frozen=True, slots=True)
class AsmProduct:
    """One product. text: its PTX, in which the operands after those of the statement are `values`."""

    text: str
    values: tuple[tuple[str, Any], ...]  # (constraint, value) of each further operand


def list_products(
    code: str, operands: Sequence[AsmOperand], shared: Callable[[Any], Any] = lambda value: value
) -> Iterator[AsmProduct]:
    """Yield the products that a statement's own text does not show: all but the first, and those on its own registers.

    shared: a pointer → its address in the shared window.

    >>> code = "{ .reg .b64 d; mov.b64 d, {%0, 5}; tcgen05.mma.cta_group::1.kind::f16 [%1], d, d, %1, 1; }"
    >>> [(p.text, len(p.values)) for p in list_products(code, [AsmOperand("r"), AsmOperand("r")])]
    [('"tcgen05.mma.cta_group::1.kind::f16 [%1], %2, %3, %1, 1;"', 2)]
    """
    match = _PRODUCT.search(code)
    if match is None or not (_OWN.search(code) or _PRODUCT.search(code, match.end())):
        return
    registers = RegisterFile(operands, shared)
    count = 0
    for statement in ptx.parse_ptx(code) or ():
        if isinstance(statement, ptx.PtxInstruction) and _PRODUCT.match(statement.opcode):
            product = _make_product(statement, registers)
            if (count or product.values) and count < MOST_PRODUCTS:
                yield product
            count += 1
        if not registers.run_statement(statement):
            return


def _make_product(instruction: ptx.PtxInstruction, registers: RegisterFile) -> AsmProduct:
    """Write a product with operand numbers in place of the statement's own registers."""
    texts, values = list(instruction.operands), list[tuple[str, Any]]()
    for n, text in enumerate(texts[: _LATEST + 1]):
        register = None if n == 0 or _OPERAND.fullmatch(text) else registers.find_register(text)
        if register is not None and registers.bits[register] in (32, 64):
            texts[n] = f"%{len(registers.operand_registers) + len(values)}"
            values.append(("l" if registers.bits[register] == 64 else "r", registers.contents[register]))
    return AsmProduct(f'"{instruction.opcode} {", ".join(texts)};"', tuple(values))
