"""Parse declarations of variables in state spaces, with initial values. PTX ISA 9.1, 5.1 and 5.4."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lanescope.emulate.text.operands import Scope, parse_plain
from lanescope.emulate.text.program import Immediate, Symbol, Variable
from lanescope.emulate.text.tokens import TokenStream, encode_initial
from lanescope.inputs import quote_value
from lanescope.ptx.register_types import TYPES

SPACES = {".global": "global", ".const": "const", ".shared": "shared", ".local": "local", ".param": "param"}
LINKAGE = {".extern", ".visible", ".weak", ".common"}
_OPAQUE = (".texref", ".samplerref", ".surfref")


def parse_variables(stream: TokenStream) -> list[Variable]:
    """Return the variables of a declaration, from its state space to its semicolon."""
    variables = [parse_variable(stream)]
    while stream.accept(","):
        variables.append(_parse_declarator(stream, variables[0]))
    stream.expect(";")
    return variables


def parse_variable(stream: TokenStream) -> Variable:
    """Return a variable with state space, alignment, type and a single name."""
    word = stream.take().text
    if word not in SPACES:
        raise stream.refuse(f"a state space such as .global is expected instead of {quote_value(word)}")
    space = SPACES[word]
    align, lanes, name_type, points = 0, 1, "", False
    while stream.token.text.startswith(".") and len(stream.token.text) > 1:
        word = stream.take().text
        if word == ".align":
            number = stream.take_integer()
            align = align if points else number  # after .ptr: of the pointed-to memory
        elif word in (".v2", ".v4", ".v8"):
            lanes = int(word[2:])
        elif word[1:] in TYPES:
            name_type = word[1:]
        elif word == ".ptr" or word in SPACES:
            points |= word == ".ptr"
        elif word == ".attribute":
            stream.expect("(")
            stream.skip_past(")")
        elif word in _OPAQUE:
            name_type = "b64"
        else:
            raise stream.refuse(f"{quote_value(word)} is not expected in a declaration")
    if not name_type:
        raise stream.refuse("A variable has no type")
    size = TYPES[name_type].bytes * lanes
    return _parse_declarator(stream, Variable("", space, align or size, size, type=name_type))


def _parse_declarator(stream: TokenStream, like: Variable) -> Variable:
    """Return a variable for a name with its dimensions and initial value; the rest is as in `like`."""
    element = TYPES[like.type].bytes
    name, count, is_open = stream.take().text, max(1, (like.size or element) // element), False
    while stream.accept("["):
        if stream.accept("]"):
            is_open = True
            continue
        count *= stream.take_integer()
        stream.expect("]")
    data, links = b"", []
    if stream.accept("="):
        parts: list[bytes] = []
        for value in _parse_initial(stream):
            if isinstance(value, Symbol):
                links.append((sum(map(len, parts)), value))
                parts.append(bytes(8 if element == 1 else element))
            else:
                parts.append(encode_initial(value, TYPES[like.type]))
        data = b"".join(parts)
        if is_open:
            count, is_open = max(count, len(data) // element), False
    return replace(like, name=name, size=0 if is_open else count * element, initial=data, links=tuple(links))


def _parse_initial(stream: TokenStream) -> Iterator[Immediate | Symbol]:
    if stream.accept("{"):
        while not stream.accept("}"):
            yield from _parse_initial(stream)
            stream.accept(",")
        return
    if stream.token.text == "generic" or stream.token.text.startswith("mask"):
        stream.take()
        stream.expect("(")
        inner = list(_parse_initial(stream))
        stream.expect(")")
        offset = stream.accept_offset()
        yield from (Symbol(item.name, item.offset + offset) if isinstance(item, Symbol) else item for item in inner)
        return
    value = parse_plain(stream, Scope())
    if not isinstance(value, Immediate | Symbol):
        raise stream.refuse("A variable begins with a number or an address")
    yield value
