"""Run code that computes the places of each lane's values, for all threads at once.

The code is `row = …; col = …;`, or a loop that moves a fragment between registers and memory. It is parsed by
layouts/reader/code and computed with NumPy for 128 threads. Only what coordinates need is supported: integers,
branches, loops of known length. A name that the text does not define is known if it can mean only one thing (lane,
groupID, threadIdx.x, warp). Any other name is assumed to be the same in all threads and gets two trial values (the
first axis of every array); a result that differs between the trials is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lanescope.cxx.integers import COMPARED, EXACT
from lanescope.errors import LayoutError
from lanescope.ptx.threads import WARPGROUP
from lanescope.reader.code.syntax import tree
from lanescope.reader.code.syntax.cxx import parse_cxx
from lanescope.reader.code.syntax.source import make_plain_source
from lanescope.reader.code.syntax.tree_statements import Block, ExpressionStatement, If, Loop
from lanescope.reader.formula.lane_places import (
    FragmentMove,
    Place,
    Values,
    find_pointee,
    is_open,
    is_uniform,
    make_open_error,
    pair_registers,
    spell_array,
    spell_member,
)

MOST_STEPS, MOST_STORES = 20_000, 4096
_FIRST, _STEP = (
    (1009, 4099),
    (16, 640),
)  # trial value n of unknown names: _FIRST + n · _STEP, so both even and odd

_LANE = np.arange(WARPGROUP, dtype=np.int64)[None, :, None]
_KNOWN: dict[str, Values] = {
    **dict.fromkeys(("lane", "laneid", "laneidx"), _LANE % 32),
    "groupid": _LANE % 32 // 4,
    **dict.fromkeys(("threadidingroup", "tidingroup"), _LANE % 4),
    **dict.fromkeys(("warp", "warpid", "warpidx"), _LANE // 32),
    **dict.fromkeys(("tid", "threadid", "threadidx.x", "tidx"), _LANE),
}
_OF_THREADS = frozenset("row col column rowid colid quad quadid quadpair laneinquad lanegroup".split())
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **EXACT,
    **COMPARED,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "&&": lambda a, b: (a != 0) & (b != 0),
    "||": lambda a, b: (a != 0) | (b != 0),
}
_UNSIGNED = frozenset(("/", "%", ">>", "<", "<=", ">", ">="))  # operators that depend on the sign of their type
_PAIRS = re.compile(
    r"make_(?:float|half|int|uint|double|bfloat16)(\d)|__floats2(?:half|bfloat16)(2)(?:_rn)?|__halves2half(2)"
)


@dataclass
class LaneCode:
    """The result of a text: its variables in the order of their last assignment, and the values that it moves.

    loose: undefined names, assumed to be the same in all threads; unread: names whose values cannot be evaluated, and
    why; arrays: the types of the elements of declared arrays; pointers: the places that declared ones point to.
    """

    names: dict[str, Values] = field(default_factory=dict)
    moves: list[FragmentMove] = field(default_factory=list)
    loose: dict[str, Values] = field(default_factory=dict)
    memory: str = ""
    registers: str = ""
    unread: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, str] = field(default_factory=dict)
    pointers: dict[str, Place] = field(default_factory=dict)
    steps: int = 0


def parse_lane_code(text: str) -> tuple[tree.Statement, ...]:
    """Parse a text into statements, without preprocessor lines."""
    return parse_cxx(make_plain_source(re.sub(r"^[ \t]*#.*$", "", text, flags=re.M)))


def run_lane_code(statements: Sequence[tree.Statement], index: Mapping[str, Values]) -> LaneCode:
    """Run statements; index: values of names such as i.

    Raises LayoutError `open_formula` if the result is unknown.
    """
    code = LaneCode(dict(index))
    runner = _Runner(code)
    for statement in statements:
        runner.run(statement)
    return code


def _normalize_name(name: str) -> str:
    return name.replace("_", "").lower()


class _Runner:
    """Interpreter that runs statements for all threads at once."""

    def __init__(self, code: LaneCode) -> None:
        self.code = code

    def run(self, statement: tree.Statement | None) -> None:
        self.code.steps += 1
        if self.code.steps > MOST_STEPS:
            raise make_open_error("the text has too many steps")
        match statement:
            case None:
                return
            case tree.DeferredBody():
                self.run(statement.make())
            case tree.Function():
                self.run(statement.body)
            case Block():
                for part in statement.body:
                    self.run(part)
            case tree.Declaration():
                self._declare(statement)
            case ExpressionStatement(value=tree.Assignment() as assignment):
                self._run_assignment(assignment)
            case ExpressionStatement(value=tree.Unary(value=tree.Assignment() as assignment)):
                self._run_assignment(assignment)
            case ExpressionStatement():
                return  # a call: __syncthreads() and the like move no values
            case If():
                self._run_branch(statement)
            case Loop(late=False):
                self._run_loop(statement)
            case _:
                raise make_open_error("a statement is incomplete or not supported")

    def _declare(self, statement: tree.Declaration) -> None:
        if statement.type is not None and (statement.type.dims or statement.type.pointers):
            self.code.arrays[statement.name] = statement.type.name
            if isinstance(statement.value, tree.Binary) and (pointed := self._find_offset(statement.value)):
                self.code.pointers[statement.name] = pointed
                return
        if statement.value is not None:
            self._assign_name(statement.name, statement.value)

    def _find_offset(self, pointer: tree.Expression) -> Place | None:
        """Return the array and the index that a pointer is computed from, `As + row * 64`; None for others."""
        if isinstance(pointer, tree.Binary) and pointer.op == "+":
            base = self._find_offset(pointer.left)
            return base and (base[0], (base[1][0] + self.evaluate(pointer.right),))
        name = spell_array(pointer)
        return self.code.pointers.get(name, (name, (np.zeros((1, 1, 1), dtype=np.int64),))) if name else None

    def _run_branch(self, statement: If) -> None:
        self.run(statement.start)
        condition = self.evaluate(statement.condition)
        truth = condition != 0
        if is_open(condition):
            if statement.no is not None or any(self._list_assigned(statement.yes)):
                raise make_open_error("a branch depends on a name that the text leaves open")
            self.run(statement.yes)  # a guard at the matrix's edge does not change the places
        elif truth.all():
            self.run(statement.yes)
        elif not truth.any():
            self.run(statement.no)
        else:
            self._merge_branches(truth, statement)

    def _merge_branches(self, truth: NDArray[np.bool_], statement: If) -> None:
        """Run both sides of a divergent branch and merge their assignments per thread."""
        before, moved = dict(self.code.names), len(self.code.moves)
        self.run(statement.yes)
        yes = self.code.names
        self.code.names = dict(before)
        self.run(statement.no)
        if len(self.code.moves) != moved:
            raise make_open_error("only some lanes move a value")
        no = self.code.names
        for name in yes.keys() & no.keys():
            if yes[name] is not no[name]:
                no[name] = np.where(truth, yes[name], no[name])
        for name in yes.keys() ^ no.keys():
            no.pop(name, None)

    def _run_loop(self, statement: Loop) -> None:
        self.run(statement.start)
        while True:
            if statement.condition is not None:
                truth = self.evaluate(statement.condition) != 0
                if is_open(truth) or truth.any() != truth.all():
                    raise make_open_error("a loop’s end is open")
                if not truth.any():
                    return
            self.run(statement.body)
            step = statement.step.value if isinstance(statement.step, tree.Unary) else statement.step
            if isinstance(step, tree.Assignment):
                self._run_assignment(step)
            self.code.steps += 1
            if self.code.steps > MOST_STEPS:
                raise make_open_error("a loop does not end")

    def _list_assigned(self, statement: tree.Statement) -> Iterator[str]:
        """Yield the names that a statement assigns."""
        match statement:
            case Block():
                for part in statement.body:
                    yield from self._list_assigned(part)
            case tree.Declaration():
                yield statement.name
            case ExpressionStatement(value=tree.Assignment(target=tree.Name() as name)):
                yield name.last
            case If() | Loop():
                yield "?"

    # assignments ------------------------------------------------------------------------------------------------------

    def _run_assignment(self, assignment: tree.Assignment) -> None:
        target, value = assignment.target, assignment.value
        if isinstance(target, tree.Name):
            if assignment.op:
                value = tree.Binary(assignment.op, target, value)
            self._assign_name(target.last, value)
        elif assignment.op in ("", "+"):
            self._run_move(target, value)

    def _assign_name(self, name: str, value: tree.Expression) -> None:
        try:
            self.code.names[name] = self.evaluate(value)
            self.code.unread.pop(name, None)
        except LayoutError as error:  # a pointer or a float matters only if a coordinate uses it
            self.code.names.pop(name, None)
            self.code.unread[name] = error.message.partition(": ")[2].rstrip(".")

    def _run_move(self, target: tree.Expression, value: tree.Expression) -> None:
        """Record a value that moves between a register array and memory."""
        places = [place for place in (self._find_place(target), *self._find_values(value)) if place]
        if len(places) < 2:
            return
        uniform = [all(is_uniform(axis) for axis in place[1]) for place in places]
        first, *rest = places
        if uniform[0] and len(rest) == 1 and not uniform[1]:
            registers, memory = [first], rest[0]
        elif not uniform[0] and all(uniform[1:]):
            registers, memory = rest, first
        else:
            raise make_open_error("it is not clear which array is in registers and which in memory")
        if len(self.code.moves) + len(registers) > MOST_STORES:
            raise make_open_error("the text has too many stores")
        names = memory[0], registers[0][0]
        if self.code.moves and names != (self.code.memory, self.code.registers):
            raise make_open_error(f"it moves {self.code.registers} and {names[1]}; paste one of them")
        self.code.memory, self.code.registers = names
        pointers = (value, target) if memory is rest[0] else (target, value)
        self.code.moves += pair_registers(registers, memory[1], *map(find_pointee, pointers))

    def _find_values(self, expression: tree.Expression) -> list[Place | None]:
        """Return the array elements in a value: one, or those of make_float2(d[0], d[1])."""
        match expression:
            case tree.Index() | tree.Member():
                return [self._find_place(expression)]
            case tree.Unary(op="*", value=tree.Cast(value=tree.Binary())):
                return [self._find_place(expression)]
            case tree.Cast() | tree.Unary():
                return self._find_values(expression.value)
            case tree.Binary():
                return [*self._find_values(expression.left), *self._find_values(expression.right)]
            case tree.Call(function=tree.Name() as function):
                parts = [found for argument in expression.arguments for found in self._find_values(argument)]
                pairs = _PAIRS.fullmatch(function.last)
                if len(parts) > 1 and not (pairs and int(next(filter(None, pairs.groups()))) == len(parts)):
                    raise make_open_error(f"{function.last} has several arguments")
                return parts
        return []

    def _find_place(self, expression: tree.Expression) -> Place | None:
        """Return the array and indices of `d[i]`, `C[r][c]`, `C(r, c)`, `*(C + n)`, `frag.x[i]`; None otherwise."""
        match expression:
            case tree.Index():
                indices = tuple(map(self.evaluate, expression.indices))
                if isinstance(expression.value, tree.Cast) and not any(index.any() for index in indices):
                    return self._find_pointed(expression.value)
                inner = self._find_place(expression.value)
                if inner is not None:
                    return inner[0], (*inner[1], *indices)
                return (name, indices) if (name := spell_array(expression.value)) else None
            case tree.Call(function=tree.Name() as function) if 1 <= len(expression.arguments) <= 2:
                return function.last, tuple(map(self.evaluate, expression.arguments))
            case tree.Unary(op="*"):
                return self._find_pointed(expression.value)
        return None

    def _find_pointed(self, pointer: tree.Expression) -> Place | None:
        match pointer:
            case tree.Cast():
                return self._find_pointed(pointer.value)
            case tree.Unary(op="&"):
                return self._find_place(pointer.value)
        if isinstance(pointer, tree.Binary) and (place := self._find_offset(pointer)):
            return place
        raise make_open_error("a pointer is not supported")

    # values -----------------------------------------------------------------------------------------------------------

    def evaluate(self, expression: tree.Expression) -> Values:
        """Return an expression's values for all threads. LayoutError if they are unknown."""
        match expression:
            case tree.NumberLiteral():
                return np.full((1, 1, 1), expression.value, dtype=np.int64)
            case tree.Name():
                return self._get_value(expression.last)
            case tree.Member():
                return self._get_value(spell_member(expression))
            case tree.Cast(pointer=False):
                return self.evaluate(expression.value)
            case tree.Unary():
                return self._evaluate_sign(expression)
            case tree.Binary() if expression.op in _BINARY:
                return self._evaluate_binary(expression)
            case tree.ConditionalExpression():
                parts = (expression.condition, expression.yes, expression.no)
                condition, yes, no = map(self.evaluate, parts)
                return np.where(condition != 0, yes, no)
        raise make_open_error("an expression is not supported")

    def _evaluate_sign(self, expression: tree.Unary) -> Values:
        value = self.evaluate(expression.value)
        if expression.op == "!":
            return np.asarray(value == 0, dtype=np.int64)
        if expression.op == "~":
            return ~value
        if expression.op in ("+", "-"):
            return value if expression.op == "+" else -value
        raise make_open_error(f"'{expression.op}' is not supported")

    def _evaluate_binary(self, expression: tree.Binary) -> Values:
        left, right = self.evaluate(expression.left), self.evaluate(expression.right)
        if expression.op in ("/", "%") and (right == 0).any():
            raise make_open_error("it divides by 0")
        if expression.op in ("/", "%") and (right < 0).any():
            raise make_open_error("it divides by a negative number")
        if expression.op in ("<<", ">>") and ((right < 0) | (right > 31)).any():
            raise make_open_error("it shifts by less than 0 or more than 31")
        if expression.op in _UNSIGNED and ((left < 0).any() or (right < 0).any()):
            raise make_open_error("a negative number is divided, shifted or compared, which depends on its type")
        left, right = np.broadcast_arrays(left, right)
        value = np.asarray(_BINARY[expression.op](left, right)).astype(np.int64)
        if (np.abs(value) >= 1 << 31).any():
            raise make_open_error("a value exceeds 32 bits")
        return value

    def _get_value(self, name: str) -> Values:
        if name in self.code.names:
            return self.code.names[name]
        if name in self.code.unread:
            raise make_open_error(f"'{name}' cannot be evaluated: {self.code.unread[name]}")
        known = _KNOWN.get(_normalize_name(name))
        return known if known is not None else self._assign_trial_values(name)

    def _assign_trial_values(self, name: str) -> Values:
        """Assign two trial values to an undefined name, far from every size and from other names' values."""
        if _normalize_name(name) in _OF_THREADS:
            raise make_open_error(f"the text does not define '{name}'")
        if name not in self.code.loose:
            n = len(self.code.loose)
            values = [first + step * n for first, step in zip(_FIRST, _STEP, strict=True)]
            self.code.loose[name] = np.array(values, dtype=np.int64)[:, None, None]
        return self.code.loose[name]
