"""An asm statement as it is run: the values and places of its operands, and its registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from struct import unpack
from typing import TYPE_CHECKING, Any

import numpy as np

from lanescope.reader.code.ptx.inline_ptx import PtxInstruction, normalize_register, parse_immediate
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.tree_statements import Assembly
from lanescope.reader.threads.instructions.matrix_loads import make_use
from lanescope.reader.threads.instructions.special_registers import read_register
from lanescope.reader.threads.language.names import evaluate_template
from lanescope.reader.threads.language.numbers import LONG, ThreadNumber, add_numbers, convert_number, make_uniform
from lanescope.reader.threads.language.places import evaluate_operand, find_place
from lanescope.reader.threads.language.program import Scope
from lanescope.reader.threads.language.sites import list_sites, trace_site
from lanescope.reader.threads.language.types import SizedType
from lanescope.reader.threads.language.values import load_place, store_place
from lanescope.reader.threads.memory.records import RegisterUse
from lanescope.reader.threads.memory.results import describe_start, is_result
from lanescope.reader.threads.memory.storage import (
    CONSTANT,
    ZERO,
    Ints,
    LocalMemory,
    Mask,
    Pointer,
    ReadBytes,
    spread_number,
)

if TYPE_CHECKING:
    from lanescope.reader.threads.runner import KernelRunner

_LITERALS = {"true": 1, "false": 0}
_FLOAT = re.compile(r"0[fF][0-9a-fA-F]{1,8}|0[dD][0-9a-fA-F]{1,16}")
_parse_number = lru_cache(maxsize=1024)(parse_immediate)


def _decode_real(token: str) -> float:
    """Return the number of an immediate such as 0f3F800000."""
    kind, digits = token[1].lower(), token[2:]
    return float(unpack(">f" if kind == "f" else ">d", bytes.fromhex(digits.zfill(8 if kind == "f" else 16)))[0])


@lru_cache(maxsize=1024)
def _parse_operand(token: str) -> tuple[int | None, str]:
    """Return (the number of %0, the name of %[name]) of a token of PTX; (None, "") for another one."""
    found = re.fullmatch(r"\s*%(?:(\d+)|\[(\w+)\])\s*", token)
    return (int(found[1]) if found and found[1] else None, found[2] or "" if found else "")


class AsmCode:
    """One asm statement: the values of its operands, and of the registers that it declares.

    later: the numbers of operands that are loaded only if something needs them.
    """

    def __init__(
        self, run: KernelRunner, assembly: Assembly, scope: Scope, later: Collection[int] = frozenset()
    ) -> None:
        self.run, self.assembly, self.scope = run, assembly, scope
        self.names = {name: n for n, name in enumerate(assembly.names) if name}
        self.places: list[Any] = [None] * len(assembly.operands)
        self.values: list[Any] = [None] * len(assembly.operands)
        self.registers: dict[str, Any] = {}
        self.left = frozenset(later)
        self._load_operands(set(range(len(assembly.operands))) - self.left)
        self.written: set[int] = set()
        self.guards: dict[str, bool] = {}

    def _load_operands(self, numbers: Collection[int]) -> None:
        for n in sorted(numbers):
            kind, expression = self.assembly.operands[n]
            out = kind.startswith(("=", "+"))
            place = self.places[n] = find_place(self.run, expression, self.scope) if out else None
            if not out:
                self.values[n] = evaluate_operand(self.run, expression, self.scope)
            elif not kind.startswith("="):
                self.values[n] = load_place(self.run, place, expression.span) if isinstance(place, Pointer) else None

    def load_rest(self) -> None:
        """Load the operands that were left for later."""
        self._load_operands(self.left)
        self.left = frozenset()

    def find_number(self, token: str) -> int | None:
        """Return the number of an operand, None for another token."""
        number, name = _parse_operand(token)
        if number is not None:
            return number if number < len(self.values) else None
        return self.names.get(name)

    def get_value(self, token: str) -> Any:
        """Return the value of an operand."""
        token = token.strip()
        n = self.find_number(token)
        if n is not None:
            return self.values[n]
        immediate = _parse_number(token)
        if immediate is not None:
            return make_uniform(immediate, LONG)
        if _FLOAT.fullmatch(token):
            constant = CONSTANT if token[2:].strip("0") else ZERO
            return self.run.make_real(constant, _decode_real(token))
        return self.registers.get(token) or read_register(self.run, token)

    def find_string(self, number: int) -> str:
        """Return the string of an operand "C"(NAME), or "C"(Name<type>::value) that a specialization of a struct gives,
        "" if none does (CUDA's Inline PTX Assembly, "Constraints").
        """
        if number >= len(self.assembly.operands) or self.assembly.operands[number][0] != "C":
            return ""
        node = self.assembly.operands[number][1]
        given = evaluate_template(self.run, node, self.scope)
        if isinstance(given, str):
            return given
        owner, templates = node.path[-2] if isinstance(node, tree.Name) and len(node.path) > 1 else ("", None)
        kind = evaluate_template(self.run, templates[0], self.scope) if templates and len(templates) == 1 else None
        if not isinstance(kind, SizedType):
            return ""
        form = rf'\b{owner}\s*<\s*(?:\w+::)*{re.escape(kind.name)}\s*>\s*\{{[^{{}}]*?"([^"]*)"'
        found = set(re.findall(form, self.run.text))
        return found.pop() if len(found) == 1 else ""

    def use_register(self, token: str) -> RegisterUse:
        """Return the use of a register of A or B by a product."""
        value = self.get_value(token)
        use = make_use(self.run, value, value is None and self.is_unset(token))
        stored = self.find_store(token) if is_result(value) or isinstance(value, ReadBytes) else (0, 0)
        return RegisterUse(use.data, use.load, use.number, use.unset, self.get_site(token), stored)

    def is_unset(self, token: str, partly: bool = False) -> bool:
        """Return whether an operand is a variable that nothing has written; partly: of which it has not all bytes."""
        n = self.find_number(token)
        place = find_place(self.run, self.assembly.operands[n][1], self.scope) if n is not None else None
        if not isinstance(place, Pointer) or not isinstance(place.array, LocalMemory) or place.offset is None:
            return False
        offset = None if place.array.valued else place.offset.known
        find = place.array.is_partly_unset if partly else place.array.is_unset
        return offset is not None and find(offset, place.type.size)

    def describe_start(self, tokens: Sequence[str]) -> str:
        """Describe what registers of C hold, if they are neither 0 nor D of one product; "" if they are."""
        values = [self._find_start(token) for token in tokens]
        unset = any(value is None and self.is_unset(token) for value, token in zip(values, tokens, strict=True))
        return describe_start(self.run, values, unset)

    def _find_start(self, token: str) -> Any:
        """Return the value of a register of C; ZERO if all of its bytes in local memory are 0."""
        value = self.get_value(token)
        n = self.find_number(token) if value is None else None
        place = find_place(self.run, self.assembly.operands[n][1], self.scope) if n is not None else None
        if not isinstance(place, Pointer) or not isinstance(place.array, LocalMemory) or place.offset is None:
            return value
        offset = place.offset.known
        return ZERO if offset is not None and place.array.is_zero(offset, place.type.size) else None

    def get_address(self, token: str) -> Any:
        """Return the address in brackets, with the offset added."""
        inner = token.strip().removeprefix("[").removesuffix("]")
        base, _, offset = inner.partition("+")
        value = self.get_value(base)
        added = self.get_value(offset) if offset.strip() else None
        if isinstance(value, Pointer):
            return value.move(add_numbers(value.offset, added)) if offset.strip() else value
        if isinstance(value, ThreadNumber):
            return add_numbers(convert_number(value, LONG), added) if offset.strip() else convert_number(value, LONG)
        return None

    def find_lanes(self, token: str) -> Ints | None:
        """Return the value or address of an operand in every thread; None if it is not known."""
        token = token.strip()
        if token in _LITERALS:
            return np.full(self.run.threads, _LITERALS[token], np.int64)
        value: Any = self.get_address(token) if token.startswith("[") else self.get_value(token)
        if value is None:
            value = self.registers.get(normalize_register(token))
        return spread_number(value, self.run.threads)

    def find_mask(self, instruction: PtxInstruction) -> Mask | None:
        """Return the threads that execute an instruction; None if that is not known."""
        if not instruction.guard:
            return self.run.mask.copy()
        met = self.find_lanes(instruction.guard[0])
        if met is None:
            return None
        mask: Mask = self.run.mask & ((met == 0) if instruction.guard[1] else (met != 0))
        return mask

    def get_shared_address(self, token: str) -> Any:
        """Return the address of shared memory in brackets, None if it is unknown or of another memory."""
        address = self.get_address(token)
        return address.shared_address if isinstance(address, Pointer) else address

    def put_value(self, token: str, value: Any) -> None:
        """Write a value to an operand or to a register of the statement."""
        n = self.find_number(token)
        if n is None:
            self.registers[token.strip()] = value
            return
        self.values[n] = value
        self.written.add(n)

    def assume_guard(self, guard: tuple[str, bool]) -> bool:
        """Assume the first guard of an open predicate to be true: it is a bound that inner tiles keep. Return whether
        this guard is then true, too.
        """
        return self.guards.setdefault(guard[0], guard[1]) == guard[1]

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

    def find_call(self, *tokens: str) -> tuple[int, int]:
        """Return the outermost call that passes an operand on to this statement, else the innermost one."""
        numbers = (self.find_number(token.strip().strip("[]")) for token in tokens)
        nodes = [self.assembly.operands[n][1] for n in numbers if n is not None]
        sites = [site for node in nodes for site in list_sites(self.run, node, self.scope)]
        passing = (call for call in self.run.calls if any(call[0] <= at and end <= call[1] for at, end in sites))
        return next(passing, self.run.get_call(self.assembly.span))

    def find_store(self, token: str) -> tuple[int, int]:
        """Return the expression that was stored last in the local variable of an operand; (0, 0) if it is not known."""
        n = self.find_number(token)
        place = find_place(self.run, self.assembly.operands[n][1], self.scope) if n is not None else None
        if not isinstance(place, Pointer) or not isinstance(place.array, LocalMemory) or place.offset is None:
            return 0, 0
        offset = place.offset.known
        return place.array.sites.get(offset, (0, 0)) if offset is not None else (0, 0)

    def get_span(self, operands: list[str]) -> tuple[int, int]:
        """Return the place of a statement's only operand: the call that passes it, if it is a parameter."""
        n = self.find_number(operands[0]) if len(operands) == 1 else None
        node = self.assembly.operands[n][1] if n is not None else None
        if isinstance(node, tree.Name) and self.run.calls:
            return self.run.calls[-1]
        return node.span if node is not None else self.assembly.span

    def keep_updated(self) -> None:
        """Leave the operands that are read and written as they are: without an instruction, as in a fence of the
        compiler, nothing changes them.
        """
        self.written |= {n for n, (kind, _) in enumerate(self.assembly.operands) if kind.startswith("+")}

    def write_outputs(self) -> None:
        """Write the outputs; those that nothing computed become unknown."""
        for n, (kind, expression) in enumerate(self.assembly.operands):
            if n not in self.left and kind.startswith(("=", "+")) and isinstance(self.places[n], Pointer):
                value = self.values[n] if n in self.written else None
                store_place(self.run, self.places[n], value, expression.span)


Execute = Callable[[AsmCode, str, list[str]], None]  # an opcode with its operands
InstructionRows = tuple[tuple[re.Pattern[str], int, Execute], ...]  # what opcodes are like, the fewest operands, …
