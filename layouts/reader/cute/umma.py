"""Parse UMMA atoms: CUTLASS's SM100_MMA_… with template arguments, cute.nvgpu.tcgen05's operations and their printed
form, and tcgen05.mma in PTX.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lanescope.blackwell import idesc, umma_atom
from lanescope.blackwell.bound import get_mma_opcode
from lanescope.blackwell.kind import MmaKind
from lanescope.blackwell.umma_atom import UmmaAtom
from lanescope.errors import LayoutError
from lanescope.inputs import shorten_value
from lanescope.ptx import catalog
from lanescope.ptx.dtypes import SPELLED
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.kinds import ALONE, PAIR
from lanescope.ptx.table.umma_atoms import COMPLEX, OPERATIONS, PAIRED, ROWS, TENSOR, AtomRow, OperationRow
from lanescope.reader.grammars import terms
from lanescope.reader.grammars.terms import SyntaxTerm, TermText

EXAMPLE = "SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 256, UMMA::Major::K, UMMA::Major::K>"
UNSAID = "unsaid"  # the tile depends on an open value, which is more than a type
_NAME = re.compile(r"(?<![\w.])(?:\w+::){0,4}(SM10\d_(?:MMA_|MXF4_ULTRA_)\w+)")
_OPERATION = re.compile(rf"(?<![\w.])(?:\w+\.){{0,6}}(?:{'|'.join(OPERATIONS)})\s*\(")
_PRINTED = re.compile(r"tcgen05 [\w/ ]{2,40} MMA Operation")
_LINE = re.compile(r"^[ \t]*([A-Z][\w ]{2,40}?)[ \t]*=[ \t]*(\S[^\n]*?)[ \t]*$", re.M)
_PTX = re.compile(r"tcgen05\s*\.\s*mma\b[\w.:\s]*?\.kind::\w+[\w.:]*(?P<rest>[^;\n]*)")
_BEGINS = re.compile(r"\s*(tcgen05\s*\.\s*mma\b[\w.:]*)")
_MAJOR = re.compile(r"(?:^|::|\.|_)(MN|K)$")


@dataclass(frozen=True, slots=True)
class SpelledAtom:
    """An atom of a text.

    atom: None if more than types are open; open: the text of open values; text: the atom with definitions substituted.
    """

    atom: UmmaAtom | None
    title: str
    open: tuple[str, ...] = ()
    text: str = ""


def is_atom(text: str) -> bool:
    """Return whether a text is a UMMA atom of CUTLASS, a DSL operation or its printed form, or a tcgen05.mma."""
    return any(pattern.search(text) for pattern in (_NAME, _OPERATION, _PRINTED)) or is_tcgen05_mma(text)


def is_tcgen05_mma(text: str) -> bool:
    """Return whether a text begins with a tcgen05.mma."""
    return bool(_BEGINS.match(text))


def parse_umma_term(home: TermText, value: SyntaxTerm) -> SpelledAtom | None:
    """Parse the atom of a C++ or Python term; None if it is not an atom. LayoutError if the atom is illegal."""
    if value.name in OPERATIONS and value.args is not None and "warp." not in value.path:
        return _parse_operation(home, value)
    if not re.match(r"SM10\d_M", value.name):
        return None
    if COMPLEX in value.name:
        message = f"{value.name} issues several instructions per complex product."
        raise LayoutError("bad_atom", message, "Use the atom of the real products: SM100_MMA_TF32_TS.", "atom")
    return _parse_template(home, value)


def expand_names(home: TermText, value: SyntaxTerm) -> str:
    """Return a term's text with its names replaced by their definitions."""

    def expand_part(part: Any) -> str:
        size = home.parse_number(part)
        if size is not None:
            return str(size)
        meant = home.resolve_value(part)
        if isinstance(meant, tuple):
            return f"({', '.join(expand_part(each) for each in meant)})"
        return home.format_words(meant)

    if value.angle is not None:
        return f"{value.name}<{', '.join(expand_part(part) for part in value.angle)}>"
    parts = [expand_part(part) for part in value.args or ()] + [
        f"{name}={expand_part(part)}" for name, part in value.named
    ]
    return f"{value.path}({', '.join(parts)})"


def parse_umma_text(text: str) -> SpelledAtom | None:
    """Parse the first atom of a text; None if there is none. LayoutError if it is illegal."""
    if printed := _PRINTED.search(text):
        return _parse_print(text, printed)
    home = terms.make_term_text(text)
    for pattern in (_NAME, _OPERATION):
        for value in terms.find_terms(home, pattern):
            if value.angle is None and value.args is None:
                continue  # named in prose
            if umma_term := parse_umma_term(home, value):
                return replace(umma_term, text=expand_names(home, value))
    return None


# CUTLASS's template -------------------------------------------------------------------------------------------------


def find_atom_row(name: str) -> tuple[AtomRow, str, bool]:
    """Return (row, name after the stem, for a CTA pair) of an atom's name. LayoutError lists similar names."""
    for row in sorted(ROWS, key=lambda row: -len(row.stem)):
        for pair, lead in ((True, f"{row.stem}_{PAIRED}_"), (False, f"{row.stem}_")):
            if name.startswith(lead) and name.removeprefix(lead) in row.endings:
                return row, name.removeprefix(lead), pair
    known = [umma_atom.format_stem(row, row.endings[0], pair) for row in ROWS for pair in (False, True)]
    near = sorted(known, key=lambda stem: -len(set(stem.split("_")) & set(name.split("_"))))[:3]
    raise LayoutError(
        "bad_atom", f"'{shorten_value(name, 60)}' is not a UMMA atom of CUTLASS.", f"E.g. {', '.join(near)}.", "atom"
    )


def _parse_template(home: TermText, value: SyntaxTerm) -> SpelledAtom:
    row, ending, pair = find_atom_row(value.name)
    arguments = _list_template_arguments(row, ending, value)
    vs = home.parse_number(arguments["vs"]) if "vs" in arguments else 0
    if vs is None:
        return SpelledAtom(None, value.name, (home.format_words(arguments["vs"]),))
    if vs not in row.kinds:
        message = f"VS of {value.name} is {vs}."
        raise LayoutError("bad_atom", message, f"Allowed: {', '.join(map(str, row.kinds))}.", "atom")
    kind = idesc.get_kind(row.kinds[vs])
    sparse = "SPARSE" in ending
    fields, opened = _parse_fields(home, kind, arguments)
    if row.k:
        fields["k"] = str(row.k)
    open_ = tuple(dict.fromkeys(opened))
    if {"m", "n"} - set(fields) or UNSAID in fields:
        return SpelledAtom(None, value.name, open_)
    factors = "1X" if "scale_type" in arguments else ""
    if vs:
        factors = {1: "1X", 2: "2X", 3: "2X", 4: "4X", 6: "4X"}[(row.k or kind.k * (1 + sparse)) // vs]
    form, tensor = PAIR if pair else ALONE, ending.startswith(TENSOR)
    atom = _make_atom(kind, form, fields, sparse=sparse, tensor=tensor, factors=factors, scaled="SCALED" in ending)
    if why := umma_atom.explain_missing_atom(atom, ending):
        raise LayoutError(
            "bad_atom", why, f"PTX allows more: use {atom.bound.ptx} with its instruction descriptor.", "atom"
        )
    return SpelledAtom(atom, value.name, open_)


def _list_template_arguments(row: AtomRow, ending: str, value: SyntaxTerm) -> dict[str, Any]:
    """Return an atom's template arguments by name. LayoutError if there are too few."""
    names = ["a", "b", "d"]
    names += ["scale_type"] if "MX" in row.stem else []
    names += ["m", "n"]
    names += ["vs"] if 0 not in row.kinds else []
    required = len(names)
    names += ["transpose_a", "transpose_b"]
    names += ["scale"] if "SCALED" in ending else []
    names += ["negate_a", "negate_b"] if row.signs or ending.startswith(TENSOR) else []
    names += ["saturate"]
    arguments = value.angle or ()
    if len(arguments) < required:
        message = f"{value.name} has {len(arguments)} template arguments."
        raise LayoutError("bad_atom", message, f"Expected types, M, N and majors, e.g. {EXAMPLE}.", "atom")
    return dict(zip(names, arguments, strict=False))


def _parse_fields(home: TermText, kind: MmaKind, arguments: Mapping[str, Any]) -> tuple[dict[str, object], list[str]]:
    """Return the instruction descriptor's fields in the arguments, and the text of open ones."""
    fields: dict[str, object] = {}
    opened: list[str] = []
    for name, argument in arguments.items():
        value = home.resolve_value(argument)
        words = home.format_words(value)
        if name in ("m", "n"):
            size = home.parse_number(value)
            if size is None:
                opened.append(words)
            else:
                fields[name] = size
        elif name in ("transpose_a", "transpose_b"):
            match = _MAJOR.search(value.path if isinstance(value, SyntaxTerm) else "")
            if match is None:
                opened.append(words)
                fields[UNSAID] = words
            elif match[1] == "MN":
                fields[name] = "MN"
        elif name in ("negate_a", "negate_b", "saturate"):
            path = value.path if isinstance(value, SyntaxTerm) else str(value)
            if path.endswith(("Neg", "True")):
                fields[name] = 1
        elif name in ("a", "b", "d", "ab", "scale_type"):
            for field in "ab" if name == "ab" else (name,):
                _parse_type(kind, field, value, words, fields, opened)
    return fields, opened


def _parse_type(
    kind: MmaKind, field: str, value: Any, words: str, fields: dict[str, object], opened: list[str]
) -> None:
    """Parse a type of the instruction descriptor. LayoutError if the kind does not accept it."""
    name = parse_element_type(value)
    if not name:
        opened.append(words)
        return
    if not kind.has_field(field):
        if field == "d" and name != "f32":  # D of a block-scaled product
            message = f"D of kind::{kind.name} is f32, not {name}."
            raise LayoutError("bad_atom", message, "Give float.", "atom")
        return
    part = kind.get_field(field)
    name = "ue4m3" if field == "scale_type" and name == "e4m3" else name  # the DSL's Float8E4M3FN
    name = "tf32" if name == "f32" and "tf32" in part.codes else name
    if name not in part.codes:
        message = f"{part.field.title} of kind::{kind.name} is {words}."
        raise LayoutError("bad_atom", message, f"Allowed: {', '.join(part.codes)}.", "atom")
    fields[field] = name


def parse_element_type(value: Any) -> str:
    """Return PTX's name of a C++ or Python element type, "" if unknown."""
    name = (value if isinstance(value, str) else value.name if isinstance(value, SyntaxTerm) else "").lower()
    if spelled := SPELLED.get(name):
        return spelled
    match = re.fullmatch(r"(?:float_)?(e\dm\d)_unpack(?:8bits|smem)(?:_t)?", name)
    return match[1] if match else ""


def _make_atom(
    kind: MmaKind,
    form: str,
    fields: Mapping[str, object],
    *,
    sparse: bool,
    tensor: bool,
    factors: str,
    scaled: bool = False,
) -> UmmaAtom:
    try:
        return umma_atom.make_umma_atom(
            kind, form, fields, sparse=sparse, tensor_a=tensor, factors=factors, scaled_d=scaled
        )
    except LayoutError as error:
        raise error.move_to_field("atom", "bad_atom") from None


# CuTe's Python DSL --------------------------------------------------------------------------------------------------


def _parse_operation(home: TermText, value: SyntaxTerm) -> SpelledAtom:
    row = OPERATIONS[value.name]
    names = [*row.types, "shape", "group", "source", *(["transpose_a", "transpose_b"] if row.majors else [])]
    words = {
        "ab": "ab_dtype",
        "a": "a_dtype",
        "b": "b_dtype",
        "d": "acc_dtype",
        "scale_type": "sf_dtype",
        "shape": "instruction_shape",
        "group": "cta_group",
        "source": "a_src",
        "transpose_a": "a_major_mode",
        "transpose_b": "b_major_mode",
    }
    arguments = {name: home.resolve_value(value.get_argument(at, words[name])) for at, name in enumerate(names)}
    missing = [words[name] for name, argument in arguments.items() if argument is None]
    if missing:
        taken = ", ".join(words[name] for name in names)
        raise LayoutError("bad_atom", f"{value.name} lacks {', '.join(missing)}.", f"It takes {taken}.", "atom")
    shape = arguments.pop("shape")
    opened: list[str] = []
    if isinstance(shape, tuple) and len(shape) in (2, 3):
        arguments |= {"m": shape[0], "n": shape[1]}
    else:
        opened.append(home.format_words(shape))
    group, source = (_get_last_word(arguments.pop(name)) for name in ("group", "source"))
    unknown = [word for word in (group, source) if word not in ("ONE", "TWO", "SMEM", "TMEM")]
    kind = idesc.get_kind(row.kind)
    fields, more = _parse_fields(home, kind, arguments)
    _set_scale_type(kind, row, fields)
    open_ = tuple(dict.fromkeys((*opened, *unknown, *more)))
    if unknown or {"m", "n"} - set(fields) or UNSAID in fields:
        return SpelledAtom(None, value.name, open_)
    form, tensor = PAIR if group == "TWO" else ALONE, source == "TMEM"
    atom = _make_atom(kind, form, fields, sparse=False, tensor=tensor, factors=row.factors)
    return SpelledAtom(atom, value.name, open_)


def _set_scale_type(kind: MmaKind, row: OperationRow, fields: dict[str, object]) -> None:
    """Set the scale factors' type from the operation, and K if it is 96."""
    if row.factors == "2X" and kind.has_field("scale_type"):
        fields["scale_type"] = "ue8m0"
    elif fields.get("scale_type") is None and row.factors == "4X":
        fields["scale_type"] = "ue4m3"
    if row.k:
        fields["k"] = str(row.k)


def _get_last_word(value: Any) -> str:
    """Return the last component of an enumerator's path."""
    return value.name if isinstance(value, SyntaxTerm) else str(value).rpartition(".")[2]


def _parse_print(text: str, printed: re.Match[str]) -> SpelledAtom | None:
    """Parse a printed operation: a title, and a line for each field."""
    name = next((name for name, row in OPERATIONS.items() if row.title == printed[0]), "")
    if not name:
        raise LayoutError(
            "bad_atom", f"'{shorten_value(printed[0], 60)}' is not an operation of tcgen05.", EXAMPLE, "atom"
        )
    row = OPERATIONS[name]
    lines = {match[1].strip(): match[2].rpartition(".")[2] for match in _LINE.finditer(text, printed.end())}
    titles = {
        "ab": "A data type",
        "a": "A data type",
        "b": "B data type",
        "d": "Accumulator data type",
        "scale_type": "Scale factor data type",
    }
    parts = [lines.get(titles[field], "unknown") for field in row.types]
    parts.append(f"({', '.join(re.findall(r'[0-9]+', lines.get('Instruction shape MNK', '')))})")
    parts.append(f"CtaGroup.{lines.get('CTA group', 'ONE')}")
    parts.append(f"OperandSource.{lines.get('A source location', 'SMEM')}")
    if row.majors:
        parts += [f"OperandMajorMode.{lines.get(f'{side} major mode', 'K')}" for side in "AB"]
    return parse_umma_text(f"tcgen05.{name}({', '.join(parts)})")


# PTX ----------------------------------------------------------------------------------------------------------------


def make_instruction_atom(instruction: Instruction, text: str, word: str, tensor: bool | None = None) -> UmmaAtom:
    """Return the atom of a tcgen05.mma.

    word: its instruction descriptor or the fields of one, the default one if empty; tensor: whether A is in tensor
    memory, None to decide by the brackets of the operands.
    """
    from lanescope.blackwell.bound import bind

    get_mma_opcode(instruction)
    if tensor is None:
        match = _PTX.search(text)
        operands = [part.strip() for part in match["rest"].split(",")] if match else []
        tensor = len(operands) > 1 and operands[1].startswith("[")
    tensor = tensor or "ashift" in instruction.modifiers
    try:
        return UmmaAtom(bind(instruction, word or None), tensor)
    except LayoutError as error:
        raise error.move_to_field("idesc" if error.field == "idesc" else "atom") from None


def find_tcgen05_mma(text: str) -> Instruction | None:
    """Return the tcgen05.mma at the beginning of a text, None if there is none."""
    match = _BEGINS.match(text)
    if not match:
        return None
    try:
        return catalog.find(match[1])
    except LayoutError as error:
        raise error.move_to_field("atom", "bad_instruction") from None
