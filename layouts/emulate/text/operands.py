"""Parse operands: registers, numbers, addresses, vectors, symbols, and a body's names. PTX ISA 9.1, chapter 6."""

from __future__ import annotations

import re

from lanescope.emulate.text.program import (
    AddressOperand,
    Discarded,
    Immediate,
    ListOperand,
    NegatedOperand,
    Operand,
    PairOperand,
    Register,
    SpecialRegister,
    Symbol,
    VectorOperand,
)
from lanescope.emulate.text.tokens import TokenStream, negate, parse_number
from lanescope.inputs import quote_value

_SPECIAL = re.compile(
    r"%(?:(?:n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)(?:\.[xyz])?|laneid|n?warpid|n?smid|gridid|clock(?:64|_hi)?"
    r"|globaltimer(?:_lo|_hi)?|lanemask_\w+|cluster_n?ctarank|is_explicit_cluster|(?:dynamic|total|aggr)_smem_size"
    r"|reserved_smem_offset_\w+|envreg\d+|pm\d+(?:_64)?|current_graph_exec|can_cluster_launch_control)$"
)
_COMPONENTS = {".x", ".y", ".z", ".w"}
WARP_SIZE = Immediate(32)


class Scope:
    """The names of one block of a function's body: registers, and the internal names of labels and variables."""

    def __init__(self, outer: Scope | None = None) -> None:
        self.outer = outer
        self.registers: dict[str, Register] = {}
        self.renamed: dict[str, str] = {}

    def find(self, name: str) -> Register | None:
        """Return the register of that name in the innermost block; None if there is none."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.registers:
                return scope.registers[name]
            scope = scope.outer
        return None

    def rename(self, name: str) -> str:
        """Return the name under which the function or module has a label or variable."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.renamed:
                return scope.renamed[name]
            scope = scope.outer
        return name


def parse_operand(stream: TokenStream, scope: Scope) -> Operand:
    """Return one operand of an instruction."""
    if stream.accept("{"):
        return VectorOperand(_parse_list(stream, "}", scope))
    if stream.accept("("):
        return ListOperand(_parse_list(stream, ")", scope))
    if stream.accept("["):
        return _parse_address(stream, scope)
    if stream.accept("!"):
        register = parse_plain(stream, scope)
        if not isinstance(register, Register):
            raise stream.refuse("Only a predicate is inverted")
        return NegatedOperand(register)
    first = parse_plain(stream, scope)
    if stream.accept("|"):
        return PairOperand(first, parse_plain(stream, scope))
    return first


def _parse_list(stream: TokenStream, end: str, scope: Scope) -> tuple[Operand, ...]:
    items = []
    while not stream.accept(end):
        items.append(parse_operand(stream, scope))
        stream.accept(",")
    return tuple(items)


def _parse_address(stream: TokenStream, scope: Scope) -> AddressOperand:
    base = parse_plain(stream, scope)
    offset = stream.accept_offset()
    rest = []
    while stream.accept(","):
        rest.append(parse_operand(stream, scope))
    stream.expect("]")
    return AddressOperand(base, offset, tuple(rest))


def parse_plain(stream: TokenStream, scope: Scope) -> Operand:
    """Return a register, a number, a symbol or `_`."""
    token = stream.take()
    if token.text == "-" and token.kind == "mark":
        number = parse_plain(stream, scope)
        if not isinstance(number, Immediate):
            raise stream.refuse("Only a number has a sign")
        return negate(number)
    if token.kind == "number":
        return parse_number(token)
    if token.kind != "name":
        raise stream.refuse(f"{quote_value(token.text)} is not an operand")
    if token.text == "_":
        return Discarded()
    return _find_name(stream, scope, token.text)


def _find_name(stream: TokenStream, scope: Scope, name: str) -> Operand:
    """Return the register or symbol of a name; a symbol may be followed by an offset."""
    if stream.token.text in _COMPONENTS:
        name += stream.take().text
    register = scope.find(name)
    if register is not None:
        return register
    if name.startswith("%"):
        if _SPECIAL.match(name):
            return SpecialRegister(name)
        vector = tuple(found for letter in "xyzw" if (found := scope.find(f"{name}.{letter}")))
        if vector:
            return VectorOperand(vector)
        raise stream.refuse(f"Register {name} is not declared")
    if name == "WARP_SZ":
        return WARP_SIZE
    offset = stream.accept_offset() if stream.following.kind == "number" else 0
    return Symbol(scope.rename(name), offset)
