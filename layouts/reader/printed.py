"""Descriptor words inside what a program, a debugger or a compiler prints: `desc: 0x…`, `$1 = …`, x/gx and x/2wx,
lo and hi halves, constants of LLVM and MLIR, and CuTe's print(GmmaDescriptor).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from lanescope.bits import hex_word
from lanescope.descriptor.matrix import BASE_OFFSET, LBO, SBO, START, SWIZZLE, Descriptor
from lanescope.ptx.table.descriptors import of_word
from lanescope.reader import columns
from lanescope.reader.columns import Labelled, Span
from lanescope.reader.found import Found

_MOST = 16  # words of one text that are told as its meanings
MOST_WORDS = 128
_WORD = (1 << 64) - 1
_LONG = r"(?:0[xX][0-9a-fA-F]{1,16}|[01]{40,64}|-\d{10,19}|\d{10,20})(?:[uU]?[lL]{0,2})\b"
_HALF = r"(?:0[xX][0-9a-fA-F]{1,8}|[0-9a-fA-F]{8}|\d{1,10})[uU]?\b"
_SHOWN = re.compile(rf"^[ \t]*\$\d{{1,6}}[ \t]*=[ \t]*(?P<word>{_LONG})[ \t]*$", re.M)
_ARRAY = re.compile(  # print of an array
    rf"^[ \t]*\$\d{{1,6}}[ \t]*=[ \t]*\{{(?P<items>{_LONG}(?:, ?{_LONG}){{0,63}})\}}[ \t]*$", re.M
)
_LISTED = re.compile(  # NumPy's and PyTorch's
    rf"\b(?:array|tensor)\(\s?\[(?P<items>[\[\s]{{0,8}}{_LONG}(?:[\],\[\s]{{1,16}}{_LONG}){{0,63}})[\]\s]{{0,8}}[,)\]]"
)
_VECTOR = re.compile(rf"\{{\s?\.?x = (?P<one>{_HALF}), \.?y = (?P<two>{_HALF})\s?\}}")  # a debugger's uint2
_BRACED = re.compile(  # desc = {0x00010100, 0x40000040}: the two halves of one, the lower first
    r"(?<![\w.])(?P<label>[\w.\[\]]{0,30}[Dd]esc[\w.\[\]]{0,30})\s?[:=]\s?[{\[(]\s?(?P<one>0[xX][0-9a-fA-F]{1,8})u?,"
    r"\s?(?P<two>0[xX][0-9a-fA-F]{1,8})u?\s?[}\])]"
)
_ENCODED = re.compile(r"/\*\s?0x[0-9a-fA-F]{16}\s?\*/")  # of an instruction of SASS
_MOVED = re.compile(
    r"\bmov\.[bus](?P<bits>32|64)\s+(?P<to>%?\w{1,20}), ?(?P<word>0[xX][0-9a-fA-F]{1,16}|-?\d{1,20})U?;"
)
_READS = re.compile(  # the operands of PTX that has descriptors among them
    r"\b(?:wgmma\.mma_async|tcgen05\.(?:mma|cp))\b(?P<given>[^;]{0,4000})"
)
READ = re.compile(r"\bwgmma\b|\btcgen05\.(?:mma|cp)\b|[A-Z]GMMA\b|UTC\w*MMA|\bg?desc\[|\bSM(?:90|1\d\d)_\w*\d+x\d+")
_PAIR = re.compile(r"U?R\d{1,3}:U?R\d{1,3}")  # registers
_DEFINED = re.compile(r"\b(?:union|struct|class)\b[^;{}()=]{0,200}\{")
_WIDTH = re.compile(r"\b(?P<name>[A-Za-z_]\w*)\s*:\s*(?P<bits>\d+)\s*(?=[,;])")  # of a bit-field
_NEAR = 80  # characters before a word that say what it is
FITS = "The text does not say that this number is a descriptor. Read as one, it is this."
ADDRESS = "This number is an address of host or device memory. Read as a descriptor, its SBO is 64 KB or more."
_ATOM = re.compile(r"\bSM\d{2,3}_\w{0,40}\d{1,3}x\d")
_REGISTERS = re.compile(r"%?\w{1,20}")
_JOINED = re.compile(r"\bmov\.b64\s+(?P<to>%?\w{1,20}), ?\{(?P<low>%?\w{1,20}), ?(?P<high>%?\w{1,20})\}")
_EXAMINED = re.compile(
    r"^[ \t]*0x[0-9a-fA-F]{4,16}(?:[ \t]*<[^>\n]{0,200}>)?:[ \t]+"
    r"(?P<held>0x[0-9a-fA-F]{1,16}(?:[ \t]+0x[0-9a-fA-F]{1,16}){0,7})[ \t]*$",
    re.M,
)
_HALVES = re.compile(
    rf"(?<![A-Za-z])(?P<first>lo|low|hi|high|\.x|\.y)\b\s{{0,8}}[:= (]\s{{0,8}}(?P<one>{_HALF})\)?[\s,;|]{{1,4}}"
    rf"(?:\w*(?:desc|Desc)\w*\s*[._]?)?(?P<second>lo|low|hi|high|\.x|\.y)\b\s{{0,8}}[:= (]\s{{0,8}}(?P<two>{_HALF})",
    re.I,
)
_CONSTANT = re.compile(
    r"(?:constant\s{0,8}\(?|=)\s{0,8}(?P<word>-?\d{10,20}|0x[0-9a-fA-F]{9,16}(?=\s*:\s*i64))(?=\s*:\s*i64|\s*,|\s*\))"
    r"|\bi64\s+(?P<llvm>-?\d{10,20})\b"
)
_ORED = re.compile(
    r"\b(?:or(?:\s+disjoint)?\s+i64|llvm\.or|arith\.ori|or\.b64\s+%\w{1,20},)\s+(?P<start>%[\w.]{1,60})\s*,"
    r"\s*(?P<word>-?\d{10,20}|0x[0-9a-fA-F]{9,16})\b"
)
_SIGNED = re.compile(r"\s*(?P<word>-\d{10,19}|\d{17,20})(?:[uU]?[lL]{0,2})\s*;?\s*")
_FIELD = re.compile(
    r"(start_addr\w*|leading_(?:byte_)?off\w*|stride_(?:byte_)?off\w*|base_offset\w*|layout_type\w*)\s{0,8}"
    r"(?::|=(?=[^;\n]*[,}\n]))\s{0,8}(0x[0-9a-fA-F]+|\d+)"
)
UNION = re.compile(  # what a debugger prints of a GmmaDescriptor
    r"(?:\{|^)\s{0,40}(?:desc_\s{0,8}=\s{0,8}[\dx]"
    r"|start_address_\s{0,8}=\s{0,8}\w{1,8}\s{0,8},)[^;]{0,400}layout_type_",
    re.M,
)
_FIELDS = {"start": START, "leadi": LBO, "strid": SBO, "base_": BASE_OFFSET, "layou": SWIZZLE}


def address(word: int) -> bool:
    """Whether a number is an address of host or device memory, 47 bits from 0x5… or 0x7…: as a descriptor it would have
    a stride of 64 KB or more.
    """
    return word >> 47 == 0 and word >> 44 in (0x5, 0x7)


def descriptor(word: int, notices: tuple[str, ...], sure: bool, name: str = "", fits: bool = False) -> Found:
    """The meaning of a word; fits: the text does not say that it is a descriptor."""
    form = of_word(word)
    notices = (*notices, form.notice) if form.notice else notices
    facts = {"word": hex_word(word), "format": form.name, **({"name": name} if name else {})}
    title = f"{form.name} matrix descriptor {hex_word(word)}" + (f" ({name})" if name else "")
    return Found("descriptor", title, facts, notices, sure and not fits, fits=fits)


def read(text: str) -> tuple[Found, ...]:
    """The words that a text prints; none where it prints none."""
    text = _ENCODED.sub(lambda match: " " * len(match[0]), text)
    told: dict[int, str] = {}
    open_: set[int] = set()  # words of which the text does not say that they are descriptors
    points = False  # a point may hold any two numbers
    reads = READ.search(text) is not None
    for one in words(text):
        if one.word not in told and len(told) < _MOST:
            told[one.word] = one.label[:40]
            points |= text[one.span[0]] == "{" and not one.named and of_word(one.word).usual
            if not reads and not _says(one, text):
                open_.add(one.word)
    values = without_types(text)
    block = {match[1][:5]: _number(match[2]) for match in _FIELD.finditer(values)}
    notices: tuple[str, ...] = ()
    if len(block) >= 3:
        built = sum(value << _FIELDS[name].low for name, value in block.items()) & _WORD
        only = next(iter(told)) if len(told) == 1 else None
        if "version_" in text and (only is None or not of_word(only).usual):
            pass  # another format's fields
        elif not told:
            told[built] = ""
        elif only is not None and of_word(only).usual and built != only:
            notices = (f"The fields below it make {hex_word(built)}, another word.",)
    if not told and (completed := _completed(text)):
        return completed
    alone = len(told) == 1 and not points
    return tuple(
        descriptor(
            word,
            notices if word not in open_ else (*notices, ADDRESS if address(word) else FITS),
            alone and not notices,
            name,
            word in open_,
        )
        for word, name in told.items()
    )


def without_types(text: str) -> str:
    """A text with blanks in place of its types that have bit-fields: the number behind a name there is its width."""
    for start, end in _types(text):
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _types(text: str) -> Iterator[Span]:
    """Where the definitions of types with bit-fields stand."""
    past = 0
    for match in _DEFINED.finditer(text):
        if match.start() < past:
            continue
        deep, at = 1, match.end()
        while deep and at < len(text):
            deep += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        past = at  # what an outer type lacks, those inside it lack
        if _WIDTH.search(text, match.end(), at):
            yield match.start(), at


def defined(text: str) -> tuple[Found, ...]:
    """A union or struct that has a matrix descriptor's bit-fields: what it lays out, and that it holds no value."""
    for span in _types(text):
        inside = text[slice(*span)]
        widths = {match["name"].strip("_"): int(match["bits"]) for match in _WIDTH.finditer(inside)}
        fields = [name for name in widths if re.match(r"start_addr|leading|stride|base_off|layout_t|swizzle", name)]
        if len(fields) < 3 or not any(name.startswith("stride") for name in fields):
            continue
        mode = next((widths[name] for name in fields if name.startswith(("layout_t", "swizzle"))), 0)
        form = "tcgen05" if mode == 3 or {"version", "lbo_mode"} & set(widths) else "wgmma"
        notice = (
            f"A type holds no value: the numbers are the widths of its {len(fields)} fields. Paste what is assigned to"
            " them, or the word."
        )
        return (Found("topic", f"The bit-fields of a {form} matrix descriptor", {"topic": "fields"}, (notice,)),)
    return ()


def _says(one: Labelled, text: str) -> bool:
    """Whether a label says that a word is a descriptor and the word is no address; whether one that an operand's name
    or nothing stands before has what other numbers seldom have.
    """
    if columns.says_descriptor(one.label):
        return not address(one.word)
    if one.label and not columns.means_descriptor(one.label) and not _PAIR.fullmatch(one.label):
        return False
    apart = not one.label and text[: one.span[0]].endswith((" ", "\t"))
    other = re.search(r"(?<![\w.%$])[A-Za-z_]{3,}$", _words_before(one, text)) if apart else None
    return marked(one.word) and (other is None or columns.means_descriptor(other[0]))


def _completed(text: str) -> tuple[Found, ...]:
    """What LLVM or MLIR makes of a descriptor: the fields as a constant, a start address put in by OR."""
    out = []
    for match in _ORED.finditer(text):
        start, word = match["start"], _number(match["word"]) & _WORD
        if START.get(word) or not likely(word) or not of_word(word).usual:
            continue
        said = Descriptor(word).facts
        facts: dict[str, Any] = {
            "fields": {name: said[name] for name in ("lbo_bytes", "sbo_bytes", "base_offset", "swizzle")},
            "start": start,
            "format": "wgmma",
            "word": None,
            "warnings": [],
        }
        notice = f"{hex_word(word)} with a start address that {start} puts in."
        out.append(
            Found(
                "builder",
                f"IR that builds a descriptor: start address from '{start}'",
                facts,
                (notice,),
                False,
                ("start",),
            )
        )
    return tuple(out[:_MOST])


def examined(text: str) -> tuple[Found, ...]:
    """The words of a debugger's x/gx and x/2wx, each line an address and what it holds."""
    return read(text) if _EXAMINED.search(text) else ()


def words(text: str) -> tuple[Labelled, ...]:
    """Every descriptor word that a text prints, in its order; of two readings of one place the longer."""
    text = _ENCODED.sub(lambda match: " " * len(match[0]), text)
    found = sorted(_words(text), key=lambda one: (one.span[0] - one.span[1], one.span))
    out: list[Labelled] = []
    taken: list[Span] = []
    for one in found:
        if len(out) >= MOST_WORDS:
            break
        if _is_another(one, text):
            continue
        if not any(a < one.span[1] and one.span[0] < b for a, b in taken):
            out.append(one)
            taken.append(one.span)
    return tuple(sorted(out, key=lambda one: one.span))


def _is_another(one: Labelled, text: str) -> bool:
    """Whether the words before a number say that it is an address, or another descriptor than a matrix's."""
    before = _words_before(one, text)
    label = before if one.label and before.endswith(one.label) else one.label
    return columns.is_other(re.split(r"[,;|=]", label)[-1]) or _points(one, text)


def _points(one: Labelled, text: str) -> bool:
    """Whether the words before a number call it an address, and it may be one."""
    before = _words_before(one, text)
    said = columns.is_address(one.label or before, before)
    return said and one.word >> 47 in (0, (1 << 17) - 1)


def _words_before(one: Labelled, text: str) -> str:
    line = text.rfind("\n", 0, one.span[0]) + 1
    return text[max(line, one.span[0] - _NEAR) : one.span[0]].rstrip(" \t=:({[\"'")


def addresses(text: str) -> tuple[int, ...]:
    """The numbers of a text that are addresses of memory, by their size or by what stands before them.

    >>> [hex(word) for word in addresses("smem desc ptr 0x7f0000001000, desc_a 0x4000004000010100")]
    ['0x7f0000001000']
    """
    found = (one for one in columns.read(text) if one.word > 0)
    return tuple(one.word for one in found if address(one.word) or _points(one, text))[:_MOST]


def _words(text: str) -> Iterator[Labelled]:
    signed = _SIGNED.fullmatch(text)
    if signed:
        word = int(re.sub(r"[uUlL]", "", signed["word"]))
        if word <= _WORD and likely(word & _WORD):
            yield Labelled("", word & _WORD, signed.span("word"), False)
        return
    wanted = columns.asked(text) if "$" in text else {}
    for match in _SHOWN.finditer(text):
        shown = _value(match["word"])
        if shown is not None and likely(shown):
            yield Labelled(wanted.get(match.start("word"), ""), shown, match.span("word"), False)
    for match in (*_ARRAY.finditer(text), *_LISTED.finditer(text)):
        for at in re.finditer(_LONG, match["items"]):
            shown = _value(at[0])
            if shown is not None and likely(shown):
                start = match.start("items")
                yield Labelled("", shown, (start + at.start(), start + at.end()), False)
    for match in _HALVES.finditer(text):
        first, second = match["first"].lower().strip("."), match["second"].lower().strip(".")
        low = {"lo": 0, "low": 0, "x": 0, "hi": 1, "high": 1, "y": 1}
        if low[first] != low[second]:
            bare = not any(match[n][:2].lower() == "0x" for n in ("one", "two")) and any(
                match[n][0] == "0" and len(match[n]) == 8 for n in ("one", "two")
            )  # %08x
            one, two = (int(match[n], 16) if bare else _number(match[n].rstrip("uU")) for n in ("one", "two"))
            word = (one | two << 32 if low[first] == 0 else two | one << 32) & _WORD
            label = _before(text, match.start())
            if label or not address(word):
                yield Labelled(label, word, match.span(), False)
    for match in _VECTOR.finditer(text):
        word = (_number(match["one"].rstrip("uU")) | _number(match["two"].rstrip("uU")) << 32) & _WORD
        label = _before(text, match.start()) or _before(text, text.rfind("\n", 0, match.start()) + 1)
        if likely(word) and (label or marked(word)):  # a point is not
            yield Labelled(label, word, match.span(), bool(label))
    for match in _BRACED.finditer(text):
        word = _number(match["one"]) | _number(match["two"]) << 32
        if likely(word):
            yield Labelled(match["label"], word, match.span(), True)
    yield from _moved(text)
    for match in _EXAMINED.finditer(text):
        if (parts := match["held"].split()) and {len(part) for part in parts} in ({4}, {6}):
            if (small := _little(parts)) is not None and likely(small):  # x/8xb, x/4xh
                yield Labelled("", small, match.span("held"), False)
            continue
        for at in re.finditer(r"(0x[0-9a-fA-F]{9,16})|(0x[0-9a-fA-F]{1,8})[ \t]+(0x[0-9a-fA-F]{1,8})", match["held"]):
            word = int(at[1], 16) if at[1] else int(at[2], 16) | int(at[3], 16) << 32
            if likely(word):
                start = match.start("held")
                yield Labelled("", word, (start + at.start(), start + at.end()), False)
    for match in _CONSTANT.finditer(text):
        name = "word" if match["word"] else "llvm"
        word = _number(match[name]) & _WORD
        if likely(word):
            yield Labelled("", word, match.span(name), False)
    for told in columns.read(text):
        word = told.word & _WORD
        if -(1 << 63) <= told.word <= _WORD and (word >> 32 if told.named else likely(word) and not address(word)):
            yield replace(told, word=word)
    for told in columns.registers(text):
        moved = "MOV" in text[slice(*told.span)]
        if likely(told.word) and (not moved or marked(told.word) or f"gdesc[{told.label.split(':')[0]}]" in text):
            yield told


def _moved(text: str) -> Iterator[Labelled]:
    """Constants that PTX moves into a register of 64 bits, or into the two halves of one."""
    held: dict[str, int] = {}
    read = {name for one in _READS.finditer(text) for name in _REGISTERS.findall(one["given"])}
    if not read and _ATOM.search(text):
        return  # the text says by another name what is run, and nothing of it reads these registers
    for match in _MOVED.finditer(text):
        word = _number(match["word"]) & _WORD
        if match["bits"] == "32":
            held[match["to"]] = word & 0xFFFFFFFF
        elif likely(word) and not address(word) and (marked(word) or match["to"] in read):
            yield Labelled("", word, match.span("word"), False)
    for match in _JOINED.finditer(text) if held else ():
        if match["low"] in held and match["high"] in held:
            word = held[match["low"]] | held[match["high"]] << 32
            if likely(word) and not address(word) and (marked(word) or match["to"] in read):
                yield Labelled("", word, match.span(), False)


def marked(word: int) -> bool:
    """Whether a number has what others seldom have: a swizzle mode, or Blackwell's version."""
    return word >> 62 > 0 or not of_word(word).usual


def _little(parts: list[str]) -> int | None:
    """The 64 bits that a debugger shows as bytes or halves, the lowest first; None where it shows fewer or more."""
    width = 4 * (len(parts[0]) - 2)
    if width * len(parts) != 64:
        return None
    return sum(int(part, 16) << width * n for n, part in enumerate(parts))


def _before(text: str, at: int) -> str:
    """The label in front of the halves of a word: desc_a.lo, desc_a: lo."""
    found = re.search(r"([A-Za-z_]\w{0,40}(?:\[\d{1,4}\])?)[\s._:=({]{0,8}$", text[max(0, at - 60) : at])
    return found[1] if found and re.search("desc|word", found[1], re.I) else ""


def _number(spelled: str) -> int:
    """A number as printf writes it: 0x… or decimal, with zeros before it, or 40 binary digits or more."""
    if len(spelled) >= 40:
        return int(spelled, 2)
    return int(spelled, 16 if spelled[:2].lower() == "0x" else 10)


def _value(spelled: str) -> int | None:
    value = _number(re.sub(r"[uUlL]+$", "", spelled))
    return value & _WORD if -(1 << 63) <= value <= _WORD else None


def likely(word: int) -> bool:
    """Whether a number without a name is a descriptor: no reserved bit, and a stride."""
    return not word & of_word(word).reserved_mask and SBO.get(word) > 0
