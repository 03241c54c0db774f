"""Parse PTX into a Module. PTX ISA 9.1, chapters 4 and 5.

Everything that a compiler emits is read; what is not PTX is refused with its line. Instructions are not judged here: a
statement keeps its words and operands, and the rows of `lanescope.emulate` say what it does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lanescope.emulate.program import (
    AddressOperand,
    Discarded,
    Function,
    Guard,
    Immediate,
    ListOperand,
    Module,
    NegatedOperand,
    Operand,
    PairOperand,
    Register,
    SourcePlace,
    SpecialRegister,
    Statement,
    Symbol,
    Variable,
    VectorOperand,
)
from lanescope.emulate.tokens import Token, encode_initial, make_error, parse_number, split_tokens
from lanescope.emulate.types import TYPES, RegisterType
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value

_SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local", ".param": "param"}
_LINKAGE = {".extern", ".visible", ".weak", ".common"}
_LIMITS = {
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".maxnreg",
    ".reqnctapercluster",
    ".maxclusterrank",
}
_FLAGS = {".noreturn", ".explicitcluster", ".blocksareclusters", ".abi_preserve", ".unified"}
_SPECIAL = re.compile(
    r"%(?:(?:n?tid|n?ctaid|cluster_n?ctaid|n?clusterid)(?:\.[xyz])?|laneid|n?warpid|n?smid|gridid|clock(?:64|_hi)?"
    r"|globaltimer(?:_lo|_hi)?|lanemask_\w+|cluster_n?ctarank|is_explicit_cluster|(?:dynamic|total|aggr)_smem_size"
    r"|reserved_smem_offset_\w+|envreg\d+|pm\d+(?:_64)?|current_graph_exec|can_cluster_launch_control)$"
)
_TABLES = (".branchtargets", ".calltargets", ".callprototype")
_COMPONENTS = {".x", ".y", ".z", ".w"}
_MOST_TEXT = 64 << 20


def parse_module(text: str) -> Module:
    """Parse a PTX text; LayoutError `not_ptx` names the line that is none."""
    return _Parser(text).parse()


class _Scope:
    """Names of a function's body, one brace deep."""

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.registers: dict[str, Register] = {}
        self.families: dict[str, tuple[RegisterType, int]] = {}
        self.renamed: dict[str, str] = {}

    def find(self, name: str) -> Register | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.registers:
                return scope.registers[name]
            scope = scope.outer
        return None

    def rename(self, name: str) -> str:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.renamed:
                return scope.renamed[name]
            scope = scope.outer
        return name


class _Parser:
    def __init__(self, text: str) -> None:
        if len(text) > _MOST_TEXT:
            raise LayoutError("too_large", f"The text has {len(text):,} characters.", "At most 64 MiB.", "ptx")
        self.tokens = list(split_tokens(text))
        self.at = 0
        self.module = Module((0, 0), "")
        self.files = {  # Triton's stand at the end
            int(number.text): name.text.strip('"')
            for directive, number, name in zip(self.tokens, self.tokens[1:], self.tokens[2:], strict=False)
            if directive.text == ".file" and number.text.isdigit() and name.kind == "string"
        }
        self.callers: dict[tuple[str, ...], tuple[str, ...]] = {}  # .loc → the outermost call that it is inlined in
        self.place: SourcePlace | None = None
        self.blocks = 0
        self.labels: set[str] = set()

    # tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self) -> Token:
        token = self.tokens[self.at]
        if token.kind == "end":
            raise make_error(token.line, "The text ends in the middle of a statement")
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text == text and self.token.kind != "string":
            self.at += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise make_error(self.token.line, f"{quote_value(self.token.text)} stands where '{text}' is needed")

    def skip_line(self) -> None:
        """Pass over a directive that ends with its line."""
        line = self.tokens[self.at - 1].line
        while self.token.kind != "end" and self.token.line == line:
            self.at += 1

    # the module

    def parse(self) -> Module:
        while self.token.kind != "end":
            self._parse_directive()
        if not self.module.target:
            raise make_error(1, "No .version and .target")
        return self.module

    def _parse_directive(self) -> None:
        token = self.take()
        if token.text == ".version":
            major, _, minor = self.take().text.partition(".")
            self.module.version = (int(major), int(minor or 0))
        elif token.text == ".target":
            self.module.target = self.take().text
            self.skip_line()
        elif token.text == ".address_size":
            self.take()
        elif token.text == ".file":
            self.take()
            self.skip_line()
        elif token.text == ".section":
            self._skip_section()
        elif token.text in (".pragma", ".alias"):
            while not self.accept(";"):
                self.take()
        elif token.text in _LINKAGE or token.text in _SPACES or token.text in (".entry", ".func"):
            self.at -= 1
            self._parse_declaration()
        else:
            raise make_error(token.line, f"{quote_value(token.text)} begins no directive")

    def _skip_section(self) -> None:
        while not self.accept("{"):
            self.take()
        depth = 1
        while depth:
            text = self.take().text
            depth += (text == "{") - (text == "}")

    def _parse_declaration(self) -> None:
        external = False
        while self.token.text in _LINKAGE:
            external |= self.take().text == ".extern"
        if self.token.text in (".entry", ".func"):
            self._parse_function(self.take().text == ".entry")
            return
        for variable in self._parse_variables():
            self.module.variables[variable.name] = variable

    def _parse_variables(self) -> list[Variable]:
        """Parse a declaration of variables in a state space, up to its semicolon."""
        variables = [self._parse_variable(_SPACES[self.take().text])]
        while self.accept(","):
            variables.append(self._parse_declarator(variables[0]))
        self.expect(";")
        return variables

    def _parse_variable(self, space: str) -> Variable:
        align, lanes, name_type, points = 0, 1, "", False
        while self.token.text.startswith(".") and len(self.token.text) > 1:
            word = self.take().text
            if word == ".align":
                number = int(self.take().text)
                align = align if points else number  # behind .ptr: of what the pointer leads to
            elif word in (".v2", ".v4", ".v8"):
                lanes = int(word[2:])
            elif word[1:] in TYPES:
                name_type = word[1:]
            elif word == ".ptr" or word in _SPACES or word == ".attribute":
                points |= word == ".ptr"
                if word == ".attribute":
                    self._parse_parenthesis()
            elif word in (".texref", ".samplerref", ".surfref"):
                name_type = "b64"
            else:
                raise make_error(self.token.line, f"{quote_value(word)} is not expected in a declaration")
        if not name_type:
            raise make_error(self.token.line, "A variable has no type")
        size = TYPES[name_type].bytes * lanes
        return self._parse_declarator(Variable("", space, align or size, size, type=name_type))

    def _parse_parenthesis(self) -> None:
        self.expect("(")
        while not self.accept(")"):
            self.take()

    def _parse_declarator(self, like: Variable) -> Variable:
        """Parse a name with its dimensions and what it begins with."""
        element = TYPES[like.type].bytes
        name, count, is_open = self.take().text, max(1, (like.size or element) // element), False
        while self.accept("["):
            if self.accept("]"):
                is_open = True
                continue
            count *= int(self.take().text.rstrip("U"), 0)
            self.expect("]")
        data, links = b"", []
        if self.accept("="):
            parts: list[bytes] = []
            for value in self._parse_initial():
                if isinstance(value, Symbol):
                    links.append((sum(map(len, parts)), value))
                    parts.append(bytes(8 if element == 1 else element))
                else:
                    parts.append(encode_initial(value, TYPES[like.type]))
            data = b"".join(parts)
            if is_open:
                count, is_open = max(count, len(data) // element), False
        return replace(like, name=name, size=0 if is_open else count * element, initial=data, links=tuple(links))

    def _parse_initial(self) -> Iterator[Immediate | Symbol]:
        if self.accept("{"):
            while not self.accept("}"):
                yield from self._parse_initial()
                self.accept(",")
            return
        if self.token.text in ("generic",) or self.token.text.startswith("mask"):
            self.take()
            self.expect("(")
            inner = list(self._parse_initial())
            self.expect(")")
            offset = 0
            while self.token.text in ("+", "-"):
                offset += (-1 if self.take().text == "-" else 1) * int(self.take().text.rstrip("U"), 0)
            yield from (Symbol(one.name, one.offset + offset) if isinstance(one, Symbol) else one for one in inner)
            return
        value = self._parse_plain(_Scope(None))
        if not isinstance(value, Immediate | Symbol):
            raise make_error(self.token.line, "A variable begins with a number or an address")
        yield value

    # functions

    def _parse_function(self, entry: bool) -> None:
        line = self.token.line
        results = self._parse_parameters() if self.token.text == "(" else []
        function = Function(self.take().text, entry, results=results, line=line)
        if self.token.text == "(":
            function.parameters = self._parse_parameters()
        for variable in (*function.parameters, *function.results):
            function.variables[variable.name] = variable
        while not self.accept("{"):
            if self.accept(";"):
                self.module.functions.setdefault(function.name, function)
                return
            self._parse_limit(function)
        self.place = None
        self.labels = set()
        self._parse_block(function, _Scope(None))
        self.module.functions[function.name] = function

    def _parse_parameters(self) -> list[Variable]:
        self.expect("(")
        variables = []
        while not self.accept(")"):
            word = self.take().text
            if word == ".reg":
                raise make_error(self.token.line, "Parameters in registers are PTX before version 2.0; not emulated")
            variables.append(self._parse_variable(_SPACES[word]))
            self.accept(",")
        return variables

    def _parse_limit(self, function: Function) -> None:
        word = self.take().text
        if word in _LIMITS:
            values = [int(self.take().text, 0)]
            while self.accept(","):
                values.append(int(self.take().text, 0))
            function.limits[word[1:]] = tuple(values)
        elif word == ".pragma":
            while not self.accept(";"):
                self.take()
        elif word in _FLAGS:
            if self.token.kind == "number":
                self.take()
            function.limits[word[1:]] = ()
        else:
            raise make_error(self.token.line, f"{quote_value(word)} is not expected before a function's body")

    def _declare_labels(self, scope: _Scope) -> None:
        """Note the labels of a block before its statements, which may branch to them from above; one whose name another
        block of the function has gets a name of its own.
        """
        depth, at = 0, self.at
        while depth >= 0 and self.tokens[at].kind != "end":
            token, after = self.tokens[at], self.tokens[at + 1]
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0 and token.kind == "name" and after.text == ":" and self.tokens[at + 2].text not in _TABLES:
                if token.text in self.labels:
                    self.blocks += 1
                    scope.renamed[token.text] = f"{token.text}#{self.blocks}"
                self.labels.add(token.text)
            at += 1

    def _parse_block(self, function: Function, scope: _Scope) -> None:
        self._declare_labels(scope)
        while not self.accept("}"):
            token = self.token
            if self.accept("{"):
                self._parse_block(function, _Scope(scope))
            elif token.text.startswith(".") and token.kind == "name":
                self._parse_local_directive(function, scope)
            elif self.tokens[self.at + 1].text == ":" and token.kind == "name":
                self._parse_label(function, scope)
            elif token.text == ";":
                self.at += 1
            else:
                function.statements.append(self._parse_statement(scope))

    def _parse_local_directive(self, function: Function, scope: _Scope) -> None:
        token = self.take()
        if token.text == ".reg":
            self._parse_registers(function, scope)
        elif token.text in _SPACES or token.text in _LINKAGE:
            while token.text in _LINKAGE:
                token = self.take()
            self.at -= 1
            for variable in self._parse_variables():
                name = variable.name
                if name in function.variables or (variable.space != "param" and name in self.module.variables):
                    self.blocks += 1
                    scope.renamed[name] = f"{name}#{self.blocks}"
                if variable.space in ("global", "const", "shared"):
                    inner = scope.renamed.get(name, f"{function.name}::{name}")
                    scope.renamed[name] = inner
                    self.module.variables[inner] = replace(variable, name=inner)
                else:
                    inner = scope.rename(name) if name in scope.renamed else name
                    function.variables[inner] = replace(variable, name=inner)
        elif token.text == ".loc":
            self._parse_location()
        elif token.text == ".pragma":
            while not self.accept(";"):
                self.take()
        elif token.text == ".file":
            self.take()
            self.skip_line()
        else:
            raise make_error(token.line, f"{quote_value(token.text)} is not expected inside a function")

    def _parse_location(self) -> None:
        first = self.token.line
        words = []
        while self.token.kind != "end" and self.token.line == first:
            words.append(self.take().text)
        caller = tuple(words[words.index("inlined_at") + 1 :][:3]) if "inlined_at" in words else ()
        self.callers[tuple(words[:3])] = outermost = self.callers.get(caller) or caller
        if int(words[1]):  # line 0: code that no line of the program stands for
            called = self._find_place(*outermost[:2]) if outermost else None
            self.place = replace(self._find_place(words[0], words[1]), called=called)

    def _find_place(self, file: str, line: str) -> SourcePlace:
        return SourcePlace(self.files.get(int(file), f"file {file}"), int(line))

    def _parse_registers(self, function: Function, scope: _Scope) -> None:
        lanes = 1
        word = self.take().text[1:]
        if word in ("v2", "v4"):
            lanes, word = int(word[1:]), self.take().text[1:]
        if word not in TYPES:
            raise make_error(self.token.line, f"No type .{word}")
        row = TYPES[word]
        while True:
            name = self.take().text
            names = [name]
            if self.accept("<"):
                names = [f"{name}{number}" for number in range(int(self.take().text))]
                self.expect(">")
            for one in names:
                parts = [one] if lanes == 1 else [f"{one}.{letter}" for letter in "xyzw"[:lanes]]
                for part in parts:
                    scope.registers[part] = Register(part, len(function.registers), row)
                    function.registers.append(row)
            if not self.accept(","):
                break
        self.expect(";")

    def _parse_label(self, function: Function, scope: _Scope) -> None:
        name = self.take().text
        self.expect(":")
        if self.token.text in _TABLES[:2]:
            self.take()
            names = [self.take().text]
            while self.accept(","):
                names.append(self.take().text)
            self.expect(";")
            function.tables[name] = tuple(scope.rename(one) for one in names)
        elif self.token.text == ".callprototype":
            while not self.accept(";"):
                self.take()
        else:
            function.labels[scope.rename(name) if name in scope.renamed else name] = len(function.statements)

    # statements

    def _parse_statement(self, scope: _Scope) -> Statement:
        guard = None
        line = self.token.line
        if self.accept("@"):
            negated = self.accept("!")
            register = scope.find(self.take().text)
            if register is None or register.type.kind != "pred":
                raise make_error(line, "A guard is a predicate register")
            guard = Guard(register, negated)
        first = self.take()
        if first.kind != "name":
            raise make_error(line, f"{quote_value(first.text)} begins no statement")
        words = [first.text]
        while self.token.kind in ("name", "number") and self.token.text.startswith("."):
            words.append(self.take().text[1:])
        operands = []
        while not self.accept(";"):
            operands.append(self._parse_operand(scope))
            if not self.accept(",") and self.token.text != ";":
                raise make_error(self.token.line, f"{quote_value(self.token.text)} follows an operand")
        return Statement(tuple(words), tuple(operands), guard, line, self.place)

    def _parse_operand(self, scope: _Scope) -> Operand:
        if self.accept("{"):
            return VectorOperand(self._parse_list("}", scope))
        if self.accept("("):
            return ListOperand(self._parse_list(")", scope))
        if self.accept("["):
            return self._parse_address(scope)
        if self.accept("!"):
            register = self._parse_plain(scope)
            if not isinstance(register, Register):
                raise make_error(self.token.line, "Only a predicate is inverted")
            return NegatedOperand(register)
        first = self._parse_plain(scope)
        if self.accept("|"):
            return PairOperand(first, self._parse_plain(scope))
        return first

    def _parse_list(self, end: str, scope: _Scope) -> tuple[Operand, ...]:
        items = []
        while not self.accept(end):
            items.append(self._parse_operand(scope))
            self.accept(",")
        return tuple(items)

    def _parse_address(self, scope: _Scope) -> AddressOperand:
        base = self._parse_plain(scope)
        offset = 0
        while self.token.text in ("+", "-"):
            sign = -1 if self.take().text == "-" else 1
            number = self._parse_plain(scope)
            if not isinstance(number, Immediate) or not isinstance(number.value, int):
                raise make_error(self.token.line, "An offset is a number")
            offset += sign * number.value
        rest = []
        while self.accept(","):
            rest.append(self._parse_operand(scope))
        self.expect("]")
        return AddressOperand(base, offset, tuple(rest))

    def _parse_plain(self, scope: _Scope) -> Operand:
        """Parse a register, a number, a symbol or `_`."""
        token = self.take()
        if token.text == "-":
            number = self._parse_plain(scope)
            if not isinstance(number, Immediate):
                raise make_error(token.line, "Only a number has a sign")
            return Immediate(-number.value, number.bits)
        if token.kind == "number":
            return parse_number(token)
        if token.kind != "name":
            raise make_error(token.line, f"{quote_value(token.text)} is no operand")
        name = token.text
        if name == "_":
            return Discarded()
        if self.token.text in _COMPONENTS:
            name += self.take().text
        register = scope.find(name)
        if register is not None:
            return register
        if name.startswith("%"):
            if _SPECIAL.match(name):
                return SpecialRegister(name)
            vector = tuple(found for letter in "xyzw" if (found := scope.find(f"{name}.{letter}")))
            if vector:
                return VectorOperand(vector)
            raise make_error(token.line, f"Register {name} is not declared")
        if name == "WARP_SZ":
            return Immediate(32)
        offset = 0
        while self.token.text in ("+", "-") and self.tokens[self.at + 1].kind == "number":
            sign = -1 if self.take().text == "-" else 1
            offset += sign * int(self.take().text.rstrip("U"), 0)
        return Symbol(scope.rename(name), offset)
