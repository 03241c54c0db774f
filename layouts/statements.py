"""Code that builds a wgmma matrix descriptor, read back: CUTLASS's bit fields assigned one by one, or statements that
return the word.

    desc.bitfield.leading_byte_offset_ = 1024 >> 4; …      every field a constant; what is not assigned is 0, as in
    `GmmaDescriptor desc{}` uint64_t d = (uint64_t)(1024 >> 4) << 16; d |= …; return d | start;

Values are C++'s (layouts.expression). One of them may be left open, the address that the start is made of; nothing else
is filled in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from layouts.bits import hex_word
from layouts.descriptor import BASE_OFFSET, LBO, SBO, START, SWIZZLE
from layouts.errors import LayoutError
from layouts.expression import LONGEST, Value, evaluate
from layouts.reading import shown

# CUTLASS include/cute/arch/mma_sm90_desc.hpp: names of the bit field's members.
MEMBERS = {
    "start_address_": START,
    "leading_byte_offset_": LBO,
    "stride_byte_offset_": SBO,
    "base_offset_": BASE_OFFSET,
    "layout_type_": SWIZZLE,
}
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_MEMBER = re.compile(
    r"(?P<name>[A-Za-z_]\w*)\s*(?:\.|->)\s*(?:bitfield\s*(?:\.|->)\s*)?(?P<member>\w+_)\s*(?P<op>\|?=)(?!=)\s*("
    r"?P<value>.+)\Z",
    re.S,
)
_DECLARED = re.compile(r"(?P<type>(?:[A-Za-z_][\w:]*\s+)+)(?P<name>[A-Za-z_]\w*)\s*=(?!=)\s*(?P<value>.+)\Z", re.S)
_ASSIGNED = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*(?P<op>[|^&+]?)=(?!=)\s*(?P<value>.+)\Z", re.S)
_FIRST = r"(?<![\w.>:])"
_CALL = re.compile(
    rf"{_FIRST}(?P<call>(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)\s*\(\s*&?\s*(?P<what>[A-Za-z_]\w*(?:\[[^\]]*\])?)\s*\)"
)
_NAME = re.compile(rf"{_FIRST}(?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*")
_SIZE = r"\bsizeof\s*\([^()]*\)"  # no value is put into it: it asks for a type
_FILLED = re.compile(rf"{_SIZE}|{_NAME.pattern}")
_WORDS = frozenset(
    "unsigned signed int long short char bool const volatile constexpr static inline auto return true false sizeof"
    " static_cast reinterpret_cast size_t uintptr_t uint ulong half half_t bfloat16_t nv_bfloat16 __half __nv_bfloat16"
    " float double int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t".split()
)
_ADDRESSES = (0, 16, 0x1230, 0x12340, 0x3FFF0)  # the start must come out of each of them as START.cut says
_MOST = 64  # statements
HINT = "Allowed: `desc.bitfield.member_ = constant;` statements, or declarations and a `return` of one expression."


@dataclass(frozen=True, slots=True)
class Built:
    """A descriptor that code builds. start: the symbol whose address its start field takes, "" where the start is a
    number (else 0 in word).
    """

    word: int
    start: str = ""
    notices: tuple[str, ...] = ()


def read_code(text: str, field: str = "descriptor") -> Built:
    """The word that code builds. LayoutError says which statement is not understood, or what is left open beside the
    start.

    >>> start = "desc.bitfield.start_address_ = cast_smem_ptr_to_uint(smem) >> 4;"
    >>> built = read_code(f"{start} desc.bitfield.layout_type_ = 1;")
    >>> hex(built.word), built.start
    ('0x4000000000000000', 'smem')
    """
    return _Code(text, field).built()


class _Code:
    def __init__(self, text: str, field: str) -> None:
        if len(text) > LONGEST:
            raise LayoutError("bad_word", f"The code has {len(text)} characters.", f"At most {LONGEST}.", field)
        self.field, self.notices, self.start = field, [], ""  # type: tuple[str, list[str], str]
        body = _COMMENT.sub(" ", text).strip()
        if "{" in body and "return" in body and body.endswith("}"):
            body = body[body.index("{") + 1 : -1]
        self.statements = [part.strip() for part in body.split(";") if part.strip()]
        if len(self.statements) > _MOST:
            self.refuse(f"{len(self.statements)} statements", f"At most {_MOST}.")

    def refuse(self, why: str, hint: str = HINT) -> NoReturn:
        raise LayoutError("bad_word", f"The code is not understood: {why}.", hint, self.field)

    def built(self) -> Built:
        members = [match for statement in self.statements if (match := _MEMBER.match(statement))]
        word = self.bit_fields() if members else self.returned()
        return Built(word, self.start, tuple(dict.fromkeys(self.notices)))

    # CUTLASS's bit fields

    def bit_fields(self) -> int:
        word, names = 0, set()
        for statement in self.statements:
            match = _MEMBER.match(statement)
            if match is None:
                if "=" in statement or statement.startswith("return"):
                    self.refuse(f"'{shown(statement, 60)}' assigns no bit field")
                continue  # the declaration of the object
            names.add(match["name"])
            if len(names) > 1:
                self.refuse(f"it builds {len(names)} descriptors, {' and '.join(sorted(names))}", "Paste one of them.")
            if match["member"] == "desc_":
                value = self.value(match["value"]).word
                word = word | value if match["op"] == "|=" else value
                continue
            if match["member"] not in MEMBERS or match["op"] != "=":
                self.refuse(
                    f"'{shown(match['member'])}' is not a member of wgmma's bit field",
                    f"Members: {', '.join(MEMBERS)}.",
                )
            word = self.member(word, match["member"], match["value"])
        return word

    def member(self, word: int, name: str, value: str) -> int:
        """The word with one member assigned: C++ keeps the low bits that fit."""
        where = MEMBERS[name]
        opened = self.symbol(value)
        if opened and where is START:
            self.check_start(value, opened)
            return where.put(word, 0)
        found = self.value(value).word
        if found > where.most:
            self.notices.append(f"{name} = {found} does not fit its {where.width} bits: {found & where.most} is kept.")
        return where.put(word, found & where.most)

    # statements that return the word

    def returned(self) -> int:
        *before, last = self.statements or [""]
        expression = re.sub(r"\A(?:co_)?return\b", "", last).strip()
        opened = next((found for statement in self.statements if (found := self.symbol(statement))), "")
        if not opened:
            return self.run(before, expression)
        base = self.run(before, expression, (opened, 0))
        for at in _ADDRESSES:
            word = self.run(before, expression, (opened, at))
            if word != (START.put(base, 0) | at >> 4):
                self.refuse(
                    f"an address {at:#x} of '{self.start}' gives {hex_word(word)}, whose start field is not"
                    f" {at >> 4:#x}",
                    f"The start field is (address & 0x{START.mask:X}) >> 4 in bits 0 to 13.",
                )
        return base

    def run(self, statements: list[str], last: str, probe: tuple[str, int] | None = None) -> int:
        """The value of `last` after the statements; probe: what stands for the open address, and an address for it."""
        known: dict[str, tuple[str, str]] = {}  # name → declared type, value as text
        for statement in statements:
            declared, assigned = _DECLARED.match(statement), _ASSIGNED.match(statement)
            match = declared or assigned
            if match is None:
                self.refuse(f"'{shown(statement, 60)}' is not a declaration or assignment of a value")
            kind = declared["type"].strip() if declared else known.get(match["name"], ("", ""))[0]
            if not declared and match["name"] not in known:
                self.refuse(f"'{match['name']}' is assigned before it is declared")
            text = match["value"]
            if assigned and not declared and assigned["op"]:
                text = f"{match['name']} {assigned['op']} ({text})"
            found = self.value(f"{kind} {match['name']} = {self.filled(text, known, probe)}", statement)
            known[match["name"]] = kind, f"(({found.type}){found.word:#x}ull)"
        if not last:
            self.refuse("nothing is returned")
        return self.value(self.filled(last, known, probe), last).word

    def filled(self, text: str, known: dict[str, tuple[str, str]], probe: tuple[str, int] | None) -> str:
        if probe:
            text = _put(text, *probe)
        return _FILLED.sub(lambda match: known[match[0]][1] if match[0] in known else match[0], text)

    # values

    def value(self, text: str, written: str = "") -> Value:
        """A constant's value. written: what stands in the code, where values have been put in for its names."""
        if not written and (opened := self.symbol(text)):
            self.refuse(f"'{shown(opened)}' is not a constant", "Only the start address may be left open.")
        found = evaluate(text, self.field, written)
        self.notices += [note.text for note in found.warnings]
        return found

    def symbol(self, text: str) -> str:
        """What stands for the one open address in a text, call and all; "" where every name has a value. Its name goes
        to `start`.
        """
        declared = {match["name"] for statement in self.statements if (match := _DECLARED.match(statement))}
        right = text[match.start("value") :] if (match := _DECLARED.match(text) or _ASSIGNED.match(text)) else text
        calls: dict[str, str] = {
            match[0]: match["what"]
            for match in _CALL.finditer(right)
            if match["call"].rpartition("::")[2] not in _WORDS
        }
        for call in calls:
            right = right.replace(call, " 0 ")
        names: dict[str, str] = {
            name: name
            for name in _NAME.findall(right)
            if name.rpartition("::")[2] not in _WORDS and name not in declared
        }
        opened = {call: what for call, what in calls.items() if what not in declared} | names
        if len({*opened.values(), *([self.start] if self.start else [])}) > 1:
            self.refuse(
                f"{', '.join(sorted({*opened.values(), self.start} - {''}))} have no value",
                "Only the start address may be left open.",
            )
        if not opened:
            return ""
        (found, self.start), *more = opened.items()
        if more:
            self.refuse(f"'{self.start}' is used in two ways", "Take its address once.")
        return found

    def check_start(self, text: str, opened: str) -> None:
        """A start member's open value must be bits 4 to 17 of the address."""
        for at in _ADDRESSES:
            found = self.value(_put(text, opened, at), text).word & START.most
            if found != at >> 4:
                self.refuse(
                    f"an address {at:#x} of '{self.start}' gives a start field of {found:#x}, not {at >> 4:#x}",
                    f"The start field is (address & 0x{START.mask:X}) >> 4.",
                )


def _put(text: str, opened: str, address: int) -> str:
    """A text with a number in place of its open name or call."""
    number = f"((unsigned long){address})"
    if opened.endswith(")"):
        return text.replace(opened, number)
    name = re.compile(rf"{_SIZE}|{_FIRST}{re.escape(opened)}\b")
    return name.sub(lambda match: number if match[0] == opened else match[0], text)
