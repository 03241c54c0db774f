"""Recognise a tcgen05 instruction descriptor: a 32-bit word that is legal under a kind, as a number or as code.

A word does not contain its kind, so every kind for which it is legal is listed. PTX ISA 9.1, 9.7.16.4.2; CUTLASS,
cute/arch/mma_sm100_desc.hpp.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace

from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import MmaKind
from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.source_text import is_parenthesized, strip_comments, walk_outside_brackets, write_floor_divisions
from lanescope.descriptor.spelling import parse_word
from lanescope.errors import LayoutError
from lanescope.inputs import join_words
from lanescope.ptx.table.kinds import KINDS
from lanescope.reader.code.descriptors.code_words import build_word
from lanescope.reader.code.naming.header_names import ELEMENT_FORMATS
from lanescope.reader.cute import umma
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText
from lanescope.reader.meaning import TextMeaning
from lanescope.reader.words import format_calls, stated_fields
from lanescope.reader.words.printed_columns import is_operand
from lanescope.reader.words.word_spellings import parse_number

_NUMBER = re.compile(r"\s*0[xX][0-9a-fA-F'_]{6,17}[uU]?[lL]{0,2}\s*;?\s*")
_KIND = r"(?:tcgen05\.mma[\w.:]*?)?\.?kind::\w+"
_BESIDE_KIND = re.compile(
    rf"(?:{_KIND}[\s,:=]+)?(?P<word>0[xX][0-9a-fA-F]{{1,8}})(?:[\s,:(]+(?:with |of |for )?{_KIND}\)?)?"
)
_MOVED = re.compile(r"\bmov\.[bu]32\s+%?\w*(?:id|idesc|i_desc)\s*,\s*(0[xX][0-9a-fA-F]{1,8}|[1-9]\d{0,9})\s*;")
NAMED = re.compile(r"\b(\w*?(?:i_?desc|instr(?:uction)?_desc\w*)\w*)(?:\.\w*desc\w*)?\s*(?:\|?=|\{)", re.I)
_LABELLED = re.compile(  # printed or defined by a program: idesc: 0x…, uint32_t kInstrDesc = 138413200;
    r"(?<![\w.])(?P<label>(?:[A-Za-z_][\w.]{0,24}[ \t]){0,2}[A-Za-z_][\w.]{0,40}(?:\[\d{1,4}\])?)[\"'\]]?"
    r"[ \t]{0,8}(?P<sign>[:=]=?|->|is|are)?[ \t]{0,8}[{\"']?(?<!\w)(?P<word>0[xX][0-9a-fA-F']{1,20}|\d{1,20})"
    r"[uU]?[lL]{0,2}(?![\w.]|[ \t]*(?:<<|>>|[*+]|\|[ \t]*\())"
)
_LABEL = re.compile(
    r"(?:^|[^a-zA-Z]|[a-z](?=I))(?:k?[iI]_?[dD]esc|IDESC|kInstr"
    r"|[iI]nst(?:r(?:uction)?)?[ _]?[dD]esc|INST(?:R(?:UCTION)?)?_DESC)"
)
_FIELD = re.compile(r"\.(?!\w*(?:desc|DESC|Desc|raw|value|word))\w+$")  # of a descriptor: idesc.m_dim_
_REMARK = re.compile(r"[ \t]+#[ \t][^\n]*|^[ \t]*#[ \t][^\n]*\n", re.M)
_DIRECTIVE = re.compile(r"^\s*#\s*(?:define|if|else|elif|endif|include|pragma|undef)\b", re.M)
_ASSIGNMENT = re.compile(r"\s*[A-Za-z_]\w*\s*(?:\||\+)?=[^=]")
_MEMBERS = re.compile(r"(?<![\w.>])(\w{1,80})(?:\.|->)[mn]_dim_\s{0,8}=[^=]")  # of CUTLASS's InstrDescriptor
_SIZE_MEMBER = re.compile(r"(?:\.|->)([mn])_dim_\s*=(?!=)\s*([^;,=]{1,80})(?=[;,]|$)")
_CALLED = re.compile(r"(?<![\w.])(?:\w+::){0,4}make_(?:runtime_)?instr_desc(?:_block_scaled)?\s*<")
# arguments after the sizes of make_instr_desc and of make_instr_desc_block_scaled
_FLAGS = ("transpose_a", "transpose_b", "negate_a", "negate_b", "saturate", "sparse")
_SCALED_FLAGS = ("transpose_a", "transpose_b", "negate_a", "negate_b", "sparse")
_UNION = re.compile(r"\bInstrDescriptor(BlockScaled)?\b")
_SCALED_MEMBER = re.compile(r"(?:\.|->)(?:[ab]_sf_id_|scale_format_|k_size_)\b")
_UNASSIGNED = "Members that the text does not assign are taken as 0."
_SHIFTED = re.compile(r"<<\s*(\d{1,2})[uUlL]*\s*\)*\s*\Z")  # the last operation of a term
_SIZE_FIELDS = {part.field.low: part.field for part in KINDS[0].parts if part.name in ("m", "n")}
_ANY_SIZE = 128  # an M and an N that all kinds have
_OPENED = re.compile(r"(?P<size>[MN]) \d+| 0x[0-9a-f]+(?=:)")  # in a title
_OPERATOR = re.compile(r"<<|[|&^+*]")
_DIGITS = _MOST_DECIMAL = 10  # characters of 32 bits in hexadecimal, digits in decimal
_LEAST_DECIMAL = 6  # digits of a decimal word beside a label without a sign: not of 2 CTAs
_MOST_OBJECTS = 4  # whose members a text assigns
_MOST = 2000  # characters of code that spells one word


def recognise_instruction_word(text: str) -> tuple[TextMeaning, ...]:
    """Return the meanings of an instruction descriptor, for each kind that accepts it; () for other texts."""
    if called := format_calls.recognise_format_call(text):
        return called
    original, text = text, _write_as_cxx(format_calls.expand_calls(text))
    if _MEMBERS.search(text):
        return _list_objects(text, original)
    if moved := _MOVED.search(text):
        named = _list_kinds(text)
        kinds = named if re.search(r"kind::\w", text) or "desc" not in moved[0] else list(KINDS)
        return _make_meanings(int(moved[1], 0), kinds, False)
    if (kinds := _list_kinds(text)) and (beside := _BESIDE_KIND.fullmatch(text.strip())):
        return _explain_word(int(beside["word"], 0), kinds)
    if "make_" in text and (instr_desc := _parse_make_instr_desc(text)):
        return _make_meanings(instr_desc.word, [instr_desc.kind], True)
    return _find_labelled_word(text) or _parse_number(text) or _list_statements(text) or _read_open_sizes(text)


def _write_as_cxx(text: str) -> str:
    """Write lines of Python as statements of C++: without # remarks, continued lines joined, each with a semicolon."""
    if _DIRECTIVE.search(text):
        return text
    plain = write_floor_divisions(_REMARK.sub("", text).replace("\\\n", " "))
    lines = plain.strip().splitlines()
    if ";" not in plain and len(lines) > 1 and all(map(_ASSIGNMENT.match, lines)):
        return "".join(f"{line};\n" for line in lines)
    return plain


def _list_kinds(text: str) -> list[MmaKind]:
    """Return the kinds named in a text."""
    named = set(re.findall(r"kind::(\w+)", text))
    return [row for row in KINDS if row.name in named]


def _parse_number(text: str) -> tuple[TextMeaning, ...]:
    """Return the word of a text that is one hexadecimal or decimal number; None for other texts."""
    plain = text.strip()
    if _NUMBER.fullmatch(text):
        try:
            word = idesc.parse_idesc_word(plain.rstrip(";"))
        except LayoutError:
            return ()
        wide = len(re.sub("['_]", "", plain.rstrip("uUlL;"))) > _DIGITS
        return tuple(replace(meaning, fits=wide) for meaning in _make_meanings(word, list(KINDS), False))
    if plain.isdecimal() and len(plain) <= _MOST_DECIMAL:
        return tuple(replace(meaning, fits=True) for meaning in _make_meanings(int(text), list(KINDS), False))
    return ()


def _list_statements(text: str) -> tuple[TextMeaning, ...]:
    """Return the word that code assembles under an instruction descriptor's name."""
    if len(text) > _MOST or not _OPERATOR.search(text) or not NAMED.search(text):
        return ()
    try:
        return _explain_word(_evaluate_word(text), list(KINDS))
    except LayoutError:
        return ()


def _list_objects(text: str, original: str) -> tuple[TextMeaning, ...]:
    """Return the words of the objects of CUTLASS's union whose members code assigns; () if one is not determined.

    original: the text with its calls of CUTLASS's functions of types.
    """
    if wide := _list_wide_sizes(text):
        return (TextMeaning("topic", "tcgen05 instruction descriptor", {"topic": "idesc"}, wide),)
    names = list(dict.fromkeys(_MEMBERS.findall(text)))
    text, unknown = _declare_objects(text, names)
    guessed = any(len(set(re.findall(rf"\b{name}\.([abmn])_(?:format|dim)_", text))) < 4 for name in unknown)
    if guessed or len(text) > _MOST or _CALLED.search(text) or len(names) > _MOST_OBJECTS:
        return ()
    meanings = []
    for name in names:
        try:
            built = build_word(text if "return" in text else f"uint32_t build() {{\n{text}\nreturn {name};\n}}")
        except LayoutError:
            return ()
        suffix = f" ({name})" if len(names) > 1 else ""
        unassigned = (_UNASSIGNED,) if name in unknown or _is_uninitialized(text, name) else ()
        meanings += [
            replace(one, title=one.title + suffix, notices=(*one.notices, *unassigned))
            for one in _explain_word(built.word if not built.start else -1, _list_object_kinds(text, original, name))
        ]
    return tuple(meanings)


def _list_wide_sizes(text: str) -> tuple[str, ...]:
    """Return a sentence for each constant M or N that is wider than its field."""
    wide = []
    for name, value in _SIZE_MEMBER.findall(text):
        field = next(field for field in _SIZE_FIELDS.values() if field.name == name)
        try:
            number = evaluate_constant(value, "text").word
        except LayoutError:
            continue
        if number >> field.width:
            upper = name.upper()
            wide.append(
                f"{name}_dim_ has {field.width} bits and holds {upper} / {field.unit}: {number} does not fit."
                f" Write {upper} >> {field.unit.bit_length() - 1}."
            )
    return tuple(wide)


def _list_object_kinds(text: str, original: str, name: str) -> list[MmaKind]:
    """List the kinds that have the types of an object: by the enums in a text, and by its calls of format functions."""
    statements = [one for one in original.split(";") if re.search(rf"(?<![\w.>]){name}\s*(?:\.|->)", one)]
    called = format_calls.list_kinds(";".join(statements))
    return [kind for kind in _list_declared_kinds(text) if kind in called]


def _declare_objects(text: str, names: list[str]) -> tuple[str, list[str]]:
    """Return (a text with declarations of the objects that it does not declare, the names of these)."""
    if "return" in text:
        return text, []
    unknown = [name for name in names if not re.search(rf"\w[>&*]*\s[*&]*{name}\s*(?:[;={{]|\[)", text)]
    scaled = "BlockScaled" * bool(_SCALED_MEMBER.search(text))
    for name in unknown:
        plain = re.sub(rf"(?<![\w.>]){name}->", f"{name}.", text)
        text = f"UMMA::InstrDescriptor{scaled} {name}{{}};\n{plain}"
    return text, unknown


def _is_uninitialized(text: str, name: str) -> bool:
    """Return whether an object is declared without a value, and none is assigned to it."""
    declared = re.search(rf"Descriptor\w*\s+{name}\s*;", text)
    return declared is not None and not re.search(rf"(?<![\w.]){name}(?:\.desc_)?\s*=[^=]", text)


def _list_declared_kinds(text: str) -> list[MmaKind]:
    """List the kinds that CUTLASS's union and enums in a text leave: with or without block scaling, and those whose
    types of A and B it names.
    """
    enums = [kinds for enum, (field, kinds) in ELEMENT_FORMATS.items() if field == "a" and enum in text]
    named = {kind for kinds in enums for kind in kinds} or {row.name for row in KINDS}
    unions = {bool(match[1]) for match in _UNION.finditer(text)} or {False, True}
    return [row for row in KINDS if row.name in named and bool(row.scaled) in unions]


def _read_open_sizes(text: str) -> tuple[TextMeaning, ...]:
    """Return the word of one declaration whose M or N has no value in the text, as `(BLOCK_N >> 3) << 17`.

    The other fields are known, since an OR adds no bits below those it shifts to.
    """
    plain = strip_comments(text).strip()
    named = NAMED.search(plain)
    if len(text) > _MOST or named is None or "<<" not in plain or plain.count(";") > 1 or "{" in plain:
        return ()
    known, open_terms = _sort_terms(plain[named.end() :].rstrip("; \n").strip())
    if not open_terms:
        return ()
    for field in _SIZE_FIELDS.values():
        known = field.put(known, _ANY_SIZE // field.unit) if field.name in open_terms else known
    notices = tuple(f"The text does not determine {name.upper()}: {term}." for name, term in open_terms.items())
    return tuple(
        replace(meaning, title=title, facts={"topic": "idesc"}, notices=(*notices, *meaning.notices))
        for meaning in _make_meanings(known, list(KINDS), True)
        if (title := _OPENED.sub(lambda match: _leave_open(match, open_terms), meaning.title))
    )


def _sort_terms(expression: str) -> tuple[int, dict[str, str]]:
    """Return (the OR of the terms that have a value, size → its term without one); no size if another field is open."""
    known, open_terms = 0, {}
    for term in _split_terms(expression):
        try:
            known |= parse_word(term, "text").word
        except LayoutError:
            shifted = _SHIFTED.search(term)
            field = _SIZE_FIELDS.get(int(shifted[1])) if shifted else None
            if field is None or field.name in open_terms:
                return 0, {}
            open_terms[field.name] = " ".join(term.split())
    return known, open_terms


def _split_terms(text: str) -> list[str]:
    """Split an expression at each | outside of brackets."""
    text = text[1:-1] if is_parenthesized(text) else text
    ends = [-1, *walk_outside_brackets(text, "|", 0, len(text)), len(text)]
    return [text[first + 1 : past] for first, past in itertools.pairwise(ends)]


def _leave_open(match: re.Match[str], open_terms: Mapping[str, str]) -> str:
    """Return the part of a title that names a size, or the word, which is not known."""
    if match["size"] is None:
        return ""
    return f"{match['size']} open" if match["size"].lower() in open_terms else match[0]


def _find_labelled_word(text: str) -> tuple[TextMeaning, ...]:
    """Return the first number labelled as an instruction descriptor, for the kinds that the text names.

    CUTLASS's runtime descriptor has it in the upper half of 64 bits.
    """
    for match in _LABELLED.finditer(text):
        if not _LABEL.search(match["label"]) or match["label"][-2:-1] == " ":  # instruction descriptor M=128
            continue
        is_short = match["word"].isdecimal() and len(match["word"]) < _LEAST_DECIMAL
        if _FIELD.search(match["label"]) or _is_changed(text, match) or (is_short and not match["sign"]):
            continue
        word = parse_number(match["word"].replace("'", ""))
        word = word >> 32 if word > idesc.MOST and not word & idesc.MOST else word
        if not 0 <= word <= idesc.MOST:
            continue
        return _compare_stated(text, word)
    return ()


def _compare_stated(text: str, word: int) -> tuple[TextMeaning, ...]:
    """Return the meanings of a word, with notices of a kind, M or N of the text that it does not have."""
    kinds = _list_kinds(text)
    meanings = _make_meanings(word, kinds, True)
    notices = stated_fields.compare_sizes(text, IdescWord(word, KINDS[0]))
    if kinds and not meanings:
        named = " or ".join(f"kind::{kind.name}" for kind in kinds)
        notices = (f"{word:#010x} is not a legal instruction descriptor for {named}.", *notices)
    meanings = meanings or _explain_word(word, list(KINDS))
    return tuple(replace(meaning, notices=(*notices, *meaning.notices)) for meaning in meanings)


def _is_changed(text: str, match: re.Match[str]) -> bool:
    """Return whether a labelled number is only a part of its variable's value: `idesc = 0; idesc |= …;`."""
    variable = re.escape(re.split(r"[\s*&]", match["label"])[-1])
    assigned = re.compile(
        rf"(?<![\w.]){variable}\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)"
        rf"|=(?!=)[^;\n=]*(?<![\w.]){variable}\s*(?:[-+*/%&|^]|<<|>>)"
        rf"|=(?!=)[^;\n=]*[-+*/%&|^~<>]\s*\(*{variable}\b"
    )
    return is_operand(text, match.end()) or assigned.search(text, match.end()) is not None


def _explain_word(word: int, kinds: list[MmaKind]) -> tuple[TextMeaning, ...]:
    """Return the meanings of a word that the text calls an instruction descriptor, or that no kind accepts it."""
    if not 0 <= word <= idesc.MOST:
        return ()
    named = " or ".join(f"kind::{kind.name}" for kind in kinds)
    notice = f"No kind of tcgen05.mma accepts the word {word:#010x}."
    if not kinds:
        notice = f"No kind of tcgen05.mma has these types of A, B and D. The word is {word:#010x}."
    elif len(kinds) < len(KINDS):
        notice = f"{word:#010x} is not a legal instruction descriptor for {named}."
    refused = TextMeaning("topic", "tcgen05 instruction descriptor", {"topic": "idesc"}, (notice,))
    return _make_meanings(word, kinds, True) or (refused,)


def _evaluate_word(text: str) -> int:
    """Evaluate one declaration, or the statements that assemble a word. LayoutError if the word is not determined."""
    every = list(NAMED.finditer(text))
    named = every[0] if every else None
    if len(every) > 1 and re.search(rf"(?<![\w.]){every[0][1]}\b(?!\s*\|?=)", text[every[-1].end() :]):
        named = every[-1]  # which the first one is a part of
    if "return" in text:
        word = build_word(text)
        return word.word if not word.start else -1
    if named is None or text.count(";") <= 1:
        return parse_word(text, "text").word
    word = build_word(f"{text.strip()} \nreturn {named[1]};")
    return word.word if not word.start else -1


def _parse_make_instr_desc(text: str) -> IdescWord | None:
    """Return the word of the first complete make_instr_desc<A, B, C, (factors,) M, N, major, major, sign, sign, …>."""
    home = terms.make_term_text(text)
    for value in terms.find_terms(home, _CALLED):
        scaled = "block_scaled" in value.name
        fields = _parse_request(home, value, scaled)
        if fields is None:
            continue
        unpacked = any("unpack" in home.format_words(argument) for argument in (value.angle or ())[:4])
        packed = scaled and not unpacked and fields["a"] == fields["b"] == "e2m1"
        for row in KINDS:
            if (
                row.has_field("scale_type") == scaled
                and row.has_field("k") == packed
                and (word := _encode_word(row, fields))
            ):
                return word
    return None


def _parse_request(home: TermText, value: SyntaxTerm, scaled: bool) -> dict[str, object] | None:
    """Return the fields of template arguments; None if a type or a size is unknown."""
    count = 4 if scaled else 3
    arguments = list(value.angle or ())
    types, rest = arguments[:count], arguments[count:]
    elements = [umma.parse_element_type(home.resolve_value(argument)) for argument in types]
    sizes = [home.parse_number(argument) for argument in rest[:2]]
    if len(rest) < 4 or not all(elements) or None in sizes:
        return None
    fields: dict[str, object] = {"m": sizes[0], "n": sizes[1], "a": elements[0], "b": elements[1]}
    fields["scale_type" if scaled else "d"] = elements[-1]
    words = [home.format_words(argument).rpartition(":")[2] for argument in rest[2:]]
    flags = _SCALED_FLAGS if scaled else _FLAGS
    return fields | {name: int(word in ("MN", "Neg", "True", "true")) for name, word in zip(flags, words, strict=False)}


def _encode_word(row: MmaKind, fields: dict[str, object]) -> IdescWord | None:
    """Encode the fields for a kind; flags that the kind lacks are omitted if they are 0."""
    try:
        return idesc.encode(row, {name: value for name, value in fields.items() if value or row.has_field(name)})
    except LayoutError:
        return None


def _make_meanings(word: int, kinds: list[MmaKind], sure: bool) -> tuple[TextMeaning, ...]:
    if not 0 <= word <= idesc.MOST:
        return ()
    legal = [legal_word for row in kinds if idesc.find_legal_forms(legal_word := IdescWord(word, row))]
    if not legal:
        return ()
    first = legal[0]
    title = f"tcgen05 instruction descriptor {first}: M {first.m}, N {first.n}, "
    notice = "The word does not contain its kind; the opcode does." if len(legal) > 1 else ""
    facts = {"topic": "idesc", "word": str(first), "kind": first.kind.name}
    title += join_words([_format_types(legal_word) for legal_word in legal], "or")
    return (TextMeaning("topic", title, facts, (notice,) if notice else (), sure),)


def _format_types(word: IdescWord) -> str:
    types = word.types
    return f"{types['d']} += {types['a']} × {types['b']} with kind::{word.kind.name}"
