"""Parse PTX into a Module. PTX ISA 9.1, chapters 4 and 5.

Accepts everything that a compiler emits; text that is not PTX is an error with its line. Instructions are not checked
here: a statement keeps its words and operands, and the builders of `lanescope.emulate` define its meaning.
"""

from __future__ import annotations

from dataclasses import replace

from lanescope.emulate.text.declarations import LINKAGE, SPACES, parse_variable, parse_variables
from lanescope.emulate.text.operands import Scope, parse_operand
from lanescope.emulate.text.program import Function, Guard, Module, Operand, Register, SourcePlace, Statement, Variable
from lanescope.emulate.text.tokens import TokenStream, make_error
from lanescope.errors import LayoutError, refuse_deep_recursion
from lanescope.inputs import quote_value
from lanescope.ptx.register_types import TYPES

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
_TABLES = (".branchtargets", ".calltargets", ".callprototype")
_MOST_TEXT = 64 << 20
_MOST_REGISTERS = 1 << 20  # registers per function
_MOST_DEPTH = 100  # nesting depth of blocks


@refuse_deep_recursion()
def parse_module(text: str) -> Module:
    """Return the module of a PTX text; LayoutError `not_ptx` gives the line of the first error."""
    if len(text) > _MOST_TEXT:
        raise LayoutError("too_large", f"The text has {len(text):,} characters.", "At most 64 MiB.", "ptx")
    return _ModuleParser(TokenStream(text)).parse()


class _ModuleParser:
    def __init__(self, stream: TokenStream) -> None:
        self.stream = stream
        self.module = Module((0, 0), "")
        tokens = stream.tokens
        self.files = {  # Triton's stand at the end
            int(number.text): name.text.strip('"')
            for directive, number, name in zip(tokens, tokens[1:], tokens[2:], strict=False)
            if directive.text == ".file" and number.text.isdigit() and name.kind == "string"
        }

    def parse(self) -> Module:
        while not self.stream.is_at_end:
            self._parse_directive()
        if not self.module.target:
            raise make_error(1, "No .version and .target")
        return self.module

    def _parse_directive(self) -> None:
        stream = self.stream
        token = stream.take()
        if token.text == ".version":
            number = stream.take()
            major, _, minor = number.text.partition(".")
            if not (major.isdecimal() and minor.isdecimal()):
                raise stream.refuse(f".version is {quote_value(number.text)}, not a number such as 8.6")
            self.module.version = (int(major), int(minor))
        elif token.text == ".target":
            self.module.target = stream.take().text
            stream.skip_line()
        elif token.text == ".address_size":
            stream.take()
        elif token.text == ".file":
            stream.take()
            stream.skip_line()
        elif token.text == ".section":
            self._skip_section()
        elif token.text in (".pragma", ".alias"):
            stream.skip_past(";")
        elif token.text in LINKAGE or token.text in SPACES or token.text in (".entry", ".func"):
            stream.at -= 1
            self._parse_declaration()
        else:
            raise make_error(token.line, f"{quote_value(token.text)} is not a directive")

    def _skip_section(self) -> None:
        self.stream.skip_past("{")
        depth = 1
        while depth:
            text = self.stream.take().text
            depth += (text == "{") - (text == "}")

    def _parse_declaration(self) -> None:
        stream = self.stream
        while stream.token.text in LINKAGE:
            stream.take()
        if stream.token.text in (".entry", ".func"):
            self._parse_function(stream.take().text == ".entry")
            return
        for variable in parse_variables(stream):
            self.module.variables[variable.name] = variable

    def _parse_function(self, entry: bool) -> None:
        stream = self.stream
        line = stream.token.line
        results = self._parse_parameters() if stream.token.text == "(" else []
        function = Function(stream.take().text, entry, results=results, line=line)
        if stream.token.text == "(":
            function.parameters = self._parse_parameters()
        for variable in (*function.parameters, *function.results):
            function.variables[variable.name] = variable
        while not stream.accept("{"):
            if stream.accept(";"):
                self.module.functions.setdefault(function.name, function)
                return
            self._parse_limit(function)
        _BodyParser(stream, self.module, function, self.files).parse()
        self.module.functions[function.name] = function

    def _parse_parameters(self) -> list[Variable]:
        stream = self.stream
        stream.expect("(")
        variables = []
        while not stream.accept(")"):
            if stream.token.text == ".reg":
                raise stream.refuse("Parameters in registers are PTX before version 2.0; not emulated", stream.token)
            variables.append(parse_variable(stream))
            stream.accept(",")
        return variables

    def _parse_limit(self, function: Function) -> None:
        """Parse a directive between a function's name and its body, such as .maxntid."""
        stream = self.stream
        word = stream.take().text
        if word in _LIMITS:
            values = [stream.take_integer()]
            while stream.accept(","):
                values.append(stream.take_integer())
            function.limits[word[1:]] = tuple(values)
        elif word == ".pragma":
            stream.skip_past(";")
        elif word in _FLAGS:
            if stream.token.kind == "number":
                stream.take()
            function.limits[word[1:]] = ()
        else:
            raise stream.refuse(f"{quote_value(word)} is not expected before a function's body")


class _BodyParser:
    """Parses the body of a function: its statements into the function, its declarations into the module's spaces."""

    def __init__(self, stream: TokenStream, module: Module, function: Function, files: dict[int, str]) -> None:
        self.stream, self.module, self.function, self.files = stream, module, function, files
        self.callers: dict[tuple[int, ...], tuple[int, ...]] = {}  # .loc → the outermost call into which it is inlined
        self.place: SourcePlace | None = None
        self.labels: set[str] = set()
        self.renamings = self.depth = 0

    def parse(self) -> None:
        """Parse from after the opening brace to the closing one."""
        self._parse_block(Scope())

    def _make_name(self, name: str) -> str:
        self.renamings += 1
        return f"{name}#{self.renamings}"

    def _declare_labels(self, scope: Scope) -> None:
        """Declare the labels of a block before its statements, which may branch to them from above.

        A label whose name another block of the function has is renamed.
        """
        tokens = self.stream.tokens
        depth, at = 0, self.stream.at
        while depth >= 0 and tokens[at].kind != "end":
            token, after = tokens[at], tokens[at + 1]
            depth += (token.text == "{") - (token.text == "}")
            if depth == 0 and token.kind == "name" and after.text == ":" and tokens[at + 2].text not in _TABLES:
                if token.text in self.labels:
                    scope.renamed[token.text] = self._make_name(token.text)
                self.labels.add(token.text)
            at += 1

    def _parse_block(self, scope: Scope) -> None:
        stream = self.stream
        self._declare_labels(scope)
        while not stream.accept("}"):
            token = stream.token
            if token.kind == "end":
                last = stream.tokens[stream.at - 1]
                raise make_error(last.line, f"The text ends inside {self.function.name}: '}}' is missing")
            if stream.accept("{"):
                self.depth += 1
                if self.depth > _MOST_DEPTH:
                    raise stream.refuse(f"Blocks are nested more than {_MOST_DEPTH} deep", token)
                self._parse_block(Scope(scope))
                self.depth -= 1
            elif token.text.startswith(".") and token.kind == "name":
                self._parse_directive(scope)
            elif stream.following.text == ":" and token.kind == "name":
                self._parse_label(scope)
            elif token.text == ";":
                stream.take()
            else:
                self.function.statements.append(self._parse_statement(scope))

    def _parse_directive(self, scope: Scope) -> None:
        stream = self.stream
        token = stream.take()
        if token.text == ".reg":
            self._parse_registers(scope)
        elif token.text in SPACES or token.text in LINKAGE:
            while token.text in LINKAGE:
                token = stream.take()
            stream.at -= 1
            for variable in parse_variables(stream):
                self._declare_variable(variable, scope)
        elif token.text == ".loc":
            self._parse_location()
        elif token.text == ".pragma":
            stream.skip_past(";")
        elif token.text == ".file":
            stream.take()
            stream.skip_line()
        else:
            raise stream.refuse(f"{quote_value(token.text)} is not expected inside a function")

    def _declare_variable(self, variable: Variable, scope: Scope) -> None:
        """Declare a variable of the body; it is renamed if another has the name."""
        function, name = self.function, variable.name
        if name in function.variables or (variable.space != "param" and name in self.module.variables):
            scope.renamed[name] = self._make_name(name)
        if variable.space in ("global", "const", "shared"):
            scope.renamed.setdefault(name, f"{function.name}::{name}")
            self.module.variables[scope.renamed[name]] = replace(variable, name=scope.renamed[name])
        else:
            inner = scope.renamed.get(name, name)
            function.variables[inner] = replace(variable, name=inner)

    def _parse_location(self) -> None:
        """Parse .loc: file, line, column, and the place into which the code is inlined."""
        stream = self.stream
        text_line = stream.token.line
        place = (stream.take_integer(), stream.take_integer(), stream.take_integer())
        caller: tuple[int, ...] = ()
        while not stream.is_at_end and stream.token.line == text_line:
            if stream.take().text == "inlined_at":
                caller = (stream.take_integer(), stream.take_integer(), stream.take_integer())
        self.callers[place] = outermost = self.callers.get(caller) or caller
        if place[1]:  # line 0: code without a source line
            called = self._find_place(*outermost[:2]) if outermost else None
            self.place = replace(self._find_place(place[0], place[1]), called=called)

    def _find_place(self, file: int, line: int) -> SourcePlace:
        return SourcePlace(self.files.get(file, f"file {file}"), line)

    def _parse_registers(self, scope: Scope) -> None:
        stream, registers = self.stream, self.function.registers
        lanes = 1
        word = stream.take().text[1:]
        if word in ("v2", "v4"):
            lanes, word = int(word[1:]), stream.take().text[1:]
        if word not in TYPES:
            raise stream.refuse(f"No type .{word}")
        row = TYPES[word]
        while True:
            name = stream.take().text
            names = [name]
            if stream.accept("<"):
                count = stream.take_integer()
                if len(registers) + count > _MOST_REGISTERS:
                    raise stream.refuse(f"{self.function.name} declares more than {_MOST_REGISTERS:,} registers")
                names = [f"{name}{number}" for number in range(count)]
                stream.expect(">")
            for register in names:
                parts = [register] if lanes == 1 else [f"{register}.{letter}" for letter in "xyzw"[:lanes]]
                for part in parts:
                    scope.registers[part] = Register(part, len(registers), row)
                    registers.append(row)
            if not stream.accept(","):
                break
        stream.expect(";")

    def _parse_label(self, scope: Scope) -> None:
        stream, function = self.stream, self.function
        name = stream.take().text
        stream.expect(":")
        if stream.token.text in _TABLES[:2]:
            stream.take()
            names = [stream.take().text]
            while stream.accept(","):
                names.append(stream.take().text)
            stream.expect(";")
            function.tables[name] = tuple(scope.rename(label) for label in names)
        elif stream.token.text == ".callprototype":
            stream.skip_past(";")
        else:
            function.labels[scope.renamed.get(name, name)] = len(function.statements)

    def _parse_statement(self, scope: Scope) -> Statement:
        stream = self.stream
        guard, line = None, stream.token.line
        if stream.accept("@"):
            negated = stream.accept("!")
            register = scope.find(stream.take().text)
            if register is None or register.type.kind != "pred":
                raise stream.refuse("A guard is a predicate register")
            guard = Guard(register, negated)
        first = stream.take()
        if first.kind != "name":
            raise stream.refuse(f"{quote_value(first.text)} does not begin a statement")
        words = [first.text]
        while stream.token.kind in ("name", "number") and stream.token.text.startswith("."):
            words.append(stream.take().text[1:])
        operands: list[Operand] = []
        while not stream.accept(";"):
            operands.append(parse_operand(stream, scope))
            if not stream.accept(",") and stream.token.text != ";":
                raise stream.refuse(f"{quote_value(stream.token.text)} follows an operand", stream.token)
        return Statement(tuple(words), tuple(operands), guard, line, self.place)
