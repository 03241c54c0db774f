"""Check tcgen05's instruction descriptors against the kind, the form and the operand tiles, and D against its
allocation.

Sources: PTX ISA 9.1, 9.7.16.4.2 (fields), 9.7.16.2.1 (sizes), 9.7.16.7.1 (tcgen05.alloc), 9.7.16.10.7 (ids of scale
factors). The rules of a word are in lanescope.blackwell.idesc.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lanescope.blackwell import idesc
from lanescope.blackwell.idesc import IdescWord
from lanescope.blackwell.kind import FORMS
from lanescope.blackwell.tmem.placement import Allocation, explain_exclusive_allocation, find_allocation_faults
from lanescope.blackwell.umma import parse_mma_opcode
from lanescope.cxx.source_text import find_closing
from lanescope.errors import LayoutError
from lanescope.ptx.table.kinds import KINDS
from lanescope.ptx.table.tmem import COLUMNS
from lanescope.reader.code.findings import AsmRun, Pitfall
from lanescope.reader.code.symbolic_integers import Span, SymbolicInt
from lanescope.workbench.products.known_mistakes import HALF_MAP_TYPES, HALF_TYPES, names_type
from lanescope.workbench.repair.blamed_numbers import find_argument_span
from lanescope.workbench.results import CheckFinding, VerifiedOperand, Workbench
from lanescope.workbench.tensor_memory.mma_runs import fill_opcode, find_tensor_instruction
from lanescope.workbench.text.asm_operands import find_operand_argument
from lanescope.workbench.text.function_texts import blank_text, find_enclosing_function
from lanescope.workbench.text.names import find_operand_letter

TITLES = {
    "idesc_illegal": "The instruction descriptor is not legal for the instruction",
    "idesc_reserved_bits": "Reserved bits of the instruction descriptor are set",
    "idesc_shift": "A size is shifted to the wrong bit of the instruction descriptor",
    "idesc_unit": "A size is divided by the wrong unit of the instruction descriptor",
    "idesc_type": "The instruction descriptor has another type than the tile",
    "idesc_size": "The instruction descriptor has another size than the tile",
    "scale_factor_id": "The scale-factor id does not exist for the scale vector",
    "tmem_allocation": "tcgen05.alloc does not take this number of columns",
    "tmem_columns": "D does not fit the columns that are allocated",
}
_OPCODE_OF_MMA = re.compile(r"tcgen05\.mma\b(?!\s*[`)])")
_VECTOR = re.compile(r"\.(?:scale_vec::(\dX)|block(16|32))")
_TERM = re.compile(r"(?:>>\s*(\d+)[uUlL]*|/\s*(\d+)[uUlL]*)\s*\)*(?:\s*&\s*\w+\s*\)*)?\s*<<\s*(\d+)")
_SHIFTED = re.compile(r"\(*\s*(?:\(\s*\w+\s*\)\s*|\w+\s*\(\s*)?\(?\s*([A-Za-z_]\w*)\s*\)?\s*(?:>>|/)")
_MOST_FOLLOWED = 4  # calls from an instruction descriptor's builder to the size
_SIZES = ("m", "n")
_UNITS = frozenset(row.get_field(name).field.unit for row in KINDS for name in _SIZES)
_FOLLOWS = frozenset(("no_form",))  # the kind's own error: the opcode, which ptxas refuses


@dataclass(frozen=True, slots=True)
class _MmaWord:
    """A run of tcgen05.mma with a known instruction descriptor."""

    run: AsmRun
    word: IdescWord
    form: str
    words: str
    value: SymbolicInt
    span: Span
    d: SymbolicInt | None

    def find_place(self, text: str, name: str) -> Span:
        """Return the part of the descriptor's expression that sets a field, else the nearest bits, else where the
        descriptor is passed.
        """
        field = self.word.kind.get_field(name).field if self.word.kind.has_field(name) else None
        parts = [m.span for m in self.value.marks if field is not None and field.low <= m.bit <= field.high]
        parts += [m.span for m in self.value.marks if field is not None and _find_bit(text, m.span) == field.low]
        if not parts and field is not None and self.value.marks:
            return min(self.value.marks, key=lambda mark: abs(mark.bit - field.low)).span
        return parts[0] if parts else self.span


def _find_bit(text: str, span: Span) -> int | None:
    """Return the bit that a term is shifted to."""
    found = re.search(r"<<\s*(\d+)[uUlL]*\s*\)*\s*$", text[slice(*span)])
    return int(found[1]) if found else None


def check_tensor_code(text: str, asm_runs: Sequence[AsmRun], bench: Workbench, target: str = "") -> list[Pitfall]:
    """Check instruction descriptors, allocations and CTA groups of a text's tcgen05 instructions for a target, for any
    where it is "".
    """
    if "tcgen05." not in text:
        return []
    uses = list(_find_words(asm_runs, target))
    found = [mistake for use in uses for mistake in _check_word(text, use)]
    plain = [use for use in uses if not any(_check_terms(text, use))]
    found += list(_check_operands(text, plain, bench)) or _check_names(text, plain)
    found += _check_columns(asm_runs, uses, target)
    unique = {(mistake.code, mistake.span): mistake for mistake in reversed(found)}
    return sorted(unique.values(), key=lambda mistake: mistake.span)


def _find_words(asm_runs: Iterable[AsmRun], target: str) -> Iterator[_MmaWord]:
    for run in asm_runs:
        found = find_tensor_instruction(run, "mma")
        words = fill_opcode(found.qualifiers, run) if found is not None else None
        if found is None or words is None or len(found.operands) < 4:
            continue
        operands = found.operands
        try:
            opcode = parse_mma_opcode(f"tcgen05.mma{words}")
        except LayoutError:
            continue
        at = 4 if opcode.sparse else 3
        value, span, _ = find_operand_argument(run, operands[at], 0) if len(operands) > at else (None, run.span, ())
        if value is None or value.known is None:
            continue
        d = find_operand_argument(run, operands[0].strip("[] "), 0)[0]
        word = IdescWord(value.known & idesc.MOST, opcode.kind, target)
        yield _MmaWord(run, word, opcode.form, words, value, span, d)


# the word -------------------------------------------------------------------------------------------------------------


def _check_word(text: str, use: _MmaWord) -> list[Pitfall]:
    """List the mistakes of a word for its instruction: wrong shifts first, since others follow from them."""
    moved = list(_check_terms(text, use))
    if moved:
        return moved
    problems = idesc.find_problems(use.word)
    problems += [
        form_problem
        for form_problem in idesc.find_form_problems(use.word, use.form)
        if form_problem.code not in _FOLLOWS
    ]
    found = []
    for problem in problems:
        if problem.code == "not_on_target" and problem.field == "kind":
            continue  # the instruction is missing, too: target_checks.py reports it
        code = "idesc_reserved_bits" if problem.code == "reserved_bits" else "idesc_illegal"
        place = use.find_place(text, problem.field)
        found.append(Pitfall(code, f"Instruction descriptor {use.word}: {problem.message}", place))
    return found or list(_check_ids(text, use))


def _check_terms(text: str, use: _MmaWord) -> Iterator[Pitfall]:
    """Yield terms such as (N >> 3) << 16 whose size in steps of 8 is placed one bit too low."""
    spans = {m.span for m in use.value.marks} | {use.span}
    sizes = [use.word.kind.get_field(name).field for name in _SIZES]
    for span in sorted(spans):
        for match in _TERM.finditer(text, *span):
            unit = 1 << int(match[1]) if match[1] else int(match[2])
            bit = int(match[3])
            intended = next((size for size in sizes if size.unit == unit), None)
            there = next((size for size in sizes if size.low == bit), None)
            if there is not None and unit in _UNITS - {there.unit}:
                message = (
                    f"{there.title} begins at bit {bit} and counts {there.unit}: it is {there.title} >>"
                    f" {there.unit.bit_length() - 1}, not >> {unit.bit_length() - 1}."
                )
                yield Pitfall("idesc_unit", message, match.span(1) if match[1] else match.span(2))
            elif there is None and intended is not None and 13 <= bit <= 31:
                message = (
                    f"A size in steps of {unit} is {intended.title}, which begins at bit {intended.low}, not {bit}: the"
                    f" word says M {use.word.m}, N {use.word.n}."
                )
                yield Pitfall("idesc_shift", message, match.span(3))


def _check_ids(text: str, use: _MmaWord) -> Iterator[Pitfall]:
    """Yield ids of scale factors that the scale vector does not have."""
    vector = _VECTOR.search(use.words)
    row = use.word.kind
    if vector is None or not row.scaled:
        return
    name = vector[1] or {"32": "2X" if row.element_bits == 4 else "1X", "16": "4X"}[vector[2]]
    ids = row.scaled.get(name)
    for part in ("sfa_id", "sfb_id"):
        code = use.word.get_code(part)
        if ids is not None and code not in ids and use.word.format_field("k") != "96":
            message = f"{row.get_field(part).field.title} is {code}; scale_vec::{name} of kind::{row.name} has {ids}."
            yield Pitfall("scale_factor_id", message, use.find_place(text, part))


# the tiles ------------------------------------------------------------------------------------------------------------

_ELEMENTS = re.compile(rf"\b({'|'.join(HALF_TYPES)})\s*(?:const\s*)?\*\s*(?:__restrict__\s*)?(\w+)\s*[,;=)]")


def place_majors(
    text: str, asm_runs: Sequence[AsmRun], findings: Iterable[CheckFinding], target: str
) -> Iterator[CheckFinding]:
    """Yield findings, those of a major at the term of the instruction descriptor that sets its transpose."""
    for finding in findings:
        words = _find_words(asm_runs, target) if finding.code == "wrong_transpose" else ()
        name = f"transpose_{finding.message[:1].lower()}"
        set_ = (use for use in words if use.word.kind.has_field(name) and use.word.get_code(name))
        places = {at for use in set_ if (at := use.find_place(text, name)) != use.span}
        yield replace(finding, span=places.pop()) if len(places) == 1 else finding


def _check_names(text: str, uses: Sequence[_MmaWord]) -> Iterator[Pitfall]:
    """Yield a 16-bit type that neither code nor comments name, if pointers to the operand have the other one."""
    declared = [(match[1], find_operand_letter(match[2])) for match in _ELEMENTS.finditer(blank_text(text))]
    for use in uses:
        for name in "ab":
            kind = use.word.types[name]
            other = next((HALF_TYPES[word] for word, letter in declared if letter == name), kind)
            if kind in HALF_TYPES.values() and other != kind and not names_type(text, kind):
                message = (
                    f"{name.upper()} is {kind} by the instruction descriptor; its elements are {other} in the code."
                )
                places = [use.find_place(text, field) for field in (name, *"ab")]  # that of A beside a missing one of B
                yield Pitfall("idesc_type", message, next((at for at in places if at != use.span), use.span))


def _check_operands(text: str, uses: Sequence[_MmaWord], bench: Workbench) -> Iterator[Pitfall]:
    """Yield types and sizes that differ from those of the tiles that the operands are stored in."""
    for operand in bench.operands:
        operand_uses = [use for use in uses if _is_operand_of(use, operand)]
        if operand.storage is None or operand.guessed or not operand_uses or operand.assumed:
            continue
        use = operand_uses[0]
        data = _find_map_type(text, bench, operand)
        operand_type = use.word.types[operand.name]
        carried = {operand_type, data} == {"f16", "bf16"} and names_type(text, operand_type)  # TMA moves their bits
        if data and operand_type != data and not carried:
            message = (
                f"{operand.name.upper()} is {operand_type} by the instruction descriptor; its tensor map holds {data}."
            )
            yield Pitfall("idesc_type", message, use.find_place(text, operand.name))
        yield from _check_size(text, use, bench, operand)


def _count_box_rows(bench: Workbench, operand: VerifiedOperand) -> int | None:
    """Return the box rows of a verified operand; None if it is MN-major, or no tensor map stores it."""
    stored = operand.stored or {}
    if operand.verdict != "match" or stored.get("kind") != "atoms" or stored.get("inner") != "K":
        return None
    if "map" not in bench.pieces[operand.storage or 0].kind:
        return None
    return int(stored["inner_stride"] // stored["line_stride"])


def _check_size(text: str, use: _MmaWord, bench: Workbench, operand: VerifiedOperand) -> Iterator[Pitfall]:
    """Yield an M or N that is less than the rows of the operand's box, if no other instruction of the text could read
    the rest.
    """
    rows = _count_box_rows(bench, operand)
    if rows is None or not _multiplies_once(text):
        return
    same = [step for other in bench.operands if other.storage == operand.storage for step in other.steps]
    read = max(step.mn + step.rows for step in same)
    slices, starts = {(step.stage, step.k) for step in same}, {step.word for step in same}
    if read < rows and all(step.mn == 0 for step in same) and len(starts) <= len(slices):
        name = "M" if operand.name == "a" else "N"
        size = use.word.m if operand.name == "a" else use.word.n
        message = f"{name} is {size}: only {read} of the {rows} rows of {operand.name.upper()}'s box are read."
        yield Pitfall("idesc_size", message, _follow_size(text, use.find_place(text, name.lower())))


def _multiplies_once(text: str) -> bool:
    """Return whether a text has one tcgen05.mma, in a function that is called once at most."""
    found, blank = list(_OPCODE_OF_MMA.finditer(text)), blank_text(text)
    function = find_enclosing_function(blank, found[0].start()) if len(found) == 1 else None
    named = rf"\b{function.name}\s*(?:<[^<>;(){{}}]*>\s*)?\(" if function is not None else ""
    return len(found) == 1 and (function is None or len(re.findall(named, blank)) <= 2)  # its definition is one


def _follow_size(text: str, place: Span) -> Span:
    """Return the argument of the only call of the function that encodes a size, if that is a parameter; else the place
    of the term, since the term itself is right.
    """
    blank = blank_text(text)
    found = _SHIFTED.match(blank, *place)
    for _ in range(_MOST_FOLLOWED):
        function = find_enclosing_function(blank, place[0])
        if found is None or function is None or found[1] not in function.parameters:
            break
        named = re.finditer(rf"\b{function.name}\s*(?:<[^<>;(){{}}]*>\s*)?\(", blank)
        calls = [match.span() for match in named if find_enclosing_function(blank, match.start()) is not None]
        end = find_closing(blank, calls[0][1] - 1) + 1 if len(calls) == 1 else 0
        given = find_argument_span(blank, (calls[0][0], end), function.parameters.index(found[1])) if end else None
        if given is None:
            break
        place, found = given, re.compile(r"\s*([A-Za-z_]\w*)\s*").fullmatch(blank, *given)
    return place


def _is_operand_of(use: _MmaWord, operand: VerifiedOperand) -> bool:
    return f"{use.word.m}×{use.word.n}×{use.word.k}" in operand.instruction and use.words in operand.instruction


def _find_map_type(text: str, bench: Workbench, operand: VerifiedOperand) -> str:
    """Return the element type of the tensor map that stores an operand, "" if no map does."""
    piece = bench.pieces[operand.storage or 0]
    code = "".join(text[slice(*span)] for span in piece.spans)
    found = re.findall(r"CU_TENSOR_MAP_DATA_TYPE_(\w+)", code)
    return HALF_MAP_TYPES.get(found[0], "") if len(set(found)) == 1 else ""


# tensor memory --------------------------------------------------------------------------------------------------------


def _check_columns(asm_runs: Sequence[AsmRun], uses: Sequence[_MmaWord], target: str) -> Iterator[Pitfall]:
    """Yield allocations that PTX rejects, and allocations too small for D."""
    allocations: list[tuple[AsmRun, int, Span]] = []
    opened = False
    for run in asm_runs:
        found = find_tensor_instruction(run, "alloc")
        if found is None:
            continue
        operands = found.operands
        value, span, _ = find_operand_argument(run, operands[1], 0) if len(operands) > 1 else (None, run.span, ())
        if value is None or value.known is None:
            opened = True
            continue
        allocations.append((run, value.known, span))
        count = value.known
        if "exclusive" in found.qualifiers:
            faults = list(filter(None, [explain_exclusive_allocation(count, target)]))
        else:
            faults = [allocation_fault.message for allocation_fault in find_allocation_faults(Allocation(count))]
        if faults:
            yield Pitfall("tmem_allocation", faults[0], span)
    if len({(count, span) for _, count, span in allocations}) == 1 and not opened:
        yield from _check_room(allocations[0], uses)


def _check_room(allocation: tuple[AsmRun, int, Span], uses: Sequence[_MmaWord]) -> Iterator[Pitfall]:
    """Yield an allocation with fewer columns than D takes: N of 32 bits in each, PTX ISA 9.1, 9.7.16.10.5."""
    run, count, span = allocation
    need = 0
    for use in uses:
        full_rows = (use.form, use.word.m) in ((FORMS[0], 128), (FORMS[1], 256))
        same = run.calls[:1] == use.run.calls[:1]
        if (
            full_rows
            and same
            and use.word.types["d"] in ("f32", "s32")
            and use.d is not None
            and len(use.d.pieces) <= 1
        ):
            offset = use.d.make_linear().const
            first = offset if 0 <= offset < COLUMNS else 0
            need = max(need, first + use.word.n)
    if need > count:
        message = f"D takes columns up to {need}; tcgen05.alloc reserves {count}."
        yield Pitfall("tmem_columns", message, span)
