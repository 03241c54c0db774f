"""A name of an instruction with wildcards: `mma.m16n8k*.f16`, `SM90_64x*x16_F32BF16BF16_SS`, `HMMA.16816.*`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import translate

from lanescope.app.kit.fact import copy_fact
from lanescope.app.read import meaning_links, named_forms, question_readings
from lanescope.app.read.facts import Reading
from lanescope.errors import LayoutError
from lanescope.inputs import format_count
from lanescope.names import lookup
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction
from lanescope.ptx.table.cute_names import list_complete_names
from lanescope.reader.cutlass_names import cutlass
from lanescope.reader.instructions import sass

_NAME = re.compile(
    rf"\s*((?:(?:{'|'.join(sass.OPCODES)}|w?g?mma|ldmatrix|[sm][to]v?matrix|tcgen05)\.|G?MMA_\d|SM\d\d)"
    r"[\w.:]*\*[\w.:*]*)\s*;?\s*"
)
_OPEN_SHAPE = re.compile(  # m64nNk16, N = 8 to 256 in steps of 8
    r"\s*(?P<opcode>(?:wgmma|mma|wmma)(?:\.[a-z_:]+)*\.)?(?P<shape>m\d+n(?:\d+|N)k(?:\d+|K))(?P<types>(?:\.\w+)*)"
    r"(?:,\s*N\s*=[\d\s,a-z]{1,60})?\s*"
)
MOST_NAMES = 6  # listed of those that match
_ATOM = re.compile(r"SM\d|G?MMA_")
_COMMON = re.compile(r"\.(?:sync|aligned|mma_async|shared)\b")  # of PTX; often left out


def is_pattern(text: str) -> bool:
    """Return whether a text is a name of an instruction with wildcards."""
    return _NAME.fullmatch(_spell_sizes(text)) is not None


def _spell_sizes(text: str) -> str:
    """Return a text with a * for each size that a letter stands for: wgmma.m64nNk16, or the shape alone."""
    match = _OPEN_SHAPE.fullmatch(text)
    if match is None:
        return text
    sizes = re.sub(r"(?<=[mnk])[A-Z]", "*", match["shape"])
    opcode = match["opcode"] or ("wgmma." if sizes.startswith("m64") else "mma.")
    return f"{opcode}{sizes.removesuffix('*')}{match['types'] or '*'}" if "*" in sizes else text


def read_pattern(text: str) -> Reading | None:
    """Read a name with wildcards: the instructions that it matches; None for any other text."""
    match = _NAME.fullmatch(_spell_sizes(text))
    if match is None:
        return None
    pattern = match[1]
    names = _find_names(pattern)
    if not names and not pattern.endswith("*"):
        pattern += "*"  # the types are left out
        names = _find_names(pattern)
    matching = {form for forms in names.values() for form in forms}
    found = [form for form in catalog.instructions() if form in matching]
    if not found and re.search(r"\*\d+\*$", pattern):
        return None  # mma.count * 2
    if not found:
        notice = f"No instruction matches '{match[1]}'. A * stands for any characters."
        return question_readings.build_unknown(text, "No such instruction", [notice])
    title = f"{lookup.count_forms(len(found))} {'matches' if len(found) == 1 else 'match'} '{pattern}'"
    listed = f"{', '.join(list(names)[:MOST_NAMES])}{', …' if len(names) > MOST_NAMES else ''}"
    notices = [] if names.keys() == {form.ptx for form in found} else [f"{format_count(len(names), 'name')}: {listed}."]
    return copy_fact(Reading, named_forms.build_list(title, meaning_links.link_text(text), found, notices), also=())


def _find_names(pattern: str) -> dict[str, list[Instruction]]:
    """Return the instructions by the names that match."""
    return _find_atoms(pattern) if _ATOM.match(pattern) else _find_mnemonics(pattern) or _find_ptx(pattern)


def _compile(pattern: str) -> re.Pattern[str]:
    """Return the expression of a pattern."""
    return re.compile(translate(pattern), re.I)


def _find_ptx(pattern: str) -> dict[str, list[Instruction]]:
    """Return the instructions that match by their PTX, in which the words of all may be left out."""
    whole, short = _compile(pattern), _compile(_COMMON.sub("", pattern))
    forms = catalog.instructions()
    return {i.ptx: [i] for i in forms if whole.fullmatch(i.ptx) or short.fullmatch(_COMMON.sub("", i.ptx))}


def _find_mnemonics(pattern: str) -> dict[str, list[Instruction]]:
    """Return the instructions by the mnemonics of SASS that match and that they compile to."""
    expression, names = _compile(pattern), dict[str, list[Instruction]]()
    for ptx, name in _list_mnemonics():
        if expression.fullmatch(name):
            names.setdefault(name, []).append(catalog.find(ptx))
    return names


def _list_mnemonics() -> Iterator[tuple[str, str]]:
    """List (PTX, mnemonic) of the instructions that compile to one instruction of SASS."""
    for ptx, forms in catalog.load_sass().items():
        yield from ((ptx, form.runs[0][0]) for form in forms if form.total == 1)


def _find_atoms(pattern: str) -> dict[str, list[Instruction]]:
    """Return the instructions by the names of CuTe's atoms that match."""
    expression, names = _compile(pattern), dict[str, list[Instruction]]()
    for name in sorted(filter(expression.fullmatch, list_complete_names())):
        try:
            found = cutlass.find_atom_instructions(name)
        except LayoutError:
            continue  # of a single thread
        if found:
            names[name] = found
    return names
