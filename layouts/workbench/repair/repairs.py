"""Find edits of a text that make its wrong reads right: the wrong literals and their required values.

`workbench_builder.py` calls `find_repairs` on request. A cause (layouts/descriptor/verify.py) names the fields
that are wrong and their required values; this module finds the places of the text that set such a field. Every edit is
verified: the edited text is evaluated again, and the edit is offered only if every step of the operand is right, the
steps are the same as before, and no other result is worse.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product

from lanescope.cxx.source_text import MACRO
from lanescope.deadline import check_deadline, is_late
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.repair import list_changes
from lanescope.errors import LayoutError
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.workbench.repair import flags
from lanescope.workbench.results import OperandStep, Repair, Span, TextEdit, VerifiedOperand, Workbench

MOST_TRIED = 24  # edits tried per operand
MOST_CHARACTERS = 1 << 20  # total characters of the texts tried per operand
MOST_OFFERED = 4
_NUMBER = re.compile(r"(?<![\w.])(0[xX][\da-fA-F']+|0[bB][01']+|\d[\d']*)([uUlLzZ]*)(?![\w.])")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SHIFT = re.compile(r"(?:<<|>>)\s*\(?$")
_SWIZZLE = re.compile(r"\bCU_TENSOR_MAP_SWIZZLE_(128B|64B|32B|NONE)\b")
_FUNCTION = re.compile(r"(?<![\w.])(\w+)\s*\([^(){};]*\)\s*(?:const\s*)?\{([^{}]{1,400})\}")  # with a short body

Edits = tuple[TextEdit, ...]
Retry = Callable[[str], Workbench]


def find_repairs(
    text: str, bench: Workbench, built: Mapping[int, Sequence[DescriptorBuilder]], retry: Retry
) -> tuple[Repair, ...]:
    """Find the edits of a text that make its wrong operands right, those of one literal first.

    built: piece → the builders that it is made of; retry: the bench of another text with the same choices.
    """
    repairs: dict[Edits, Repair] = {}
    for at, operand in enumerate(bench.operands):
        wrong = operand.first_wrong
        if wrong is None or any(at in done.operands for done in repairs.values()):
            continue
        tried: dict[Edits, Repair | None] = {}
        limit = min(MOST_TRIED, MOST_CHARACTERS // (len(text) + 1))
        found = 0
        own_builders = built.get(operand.descriptor, ())
        updates = [
            b
            for group in built.values()
            for b in group
            if b not in own_builders and _is_same_variable(text, b.span, wrong)
        ]
        for group in _list_candidates(text, bench, own_builders, updates, operand, wrong):
            for edits in group:
                if len(tried) >= limit or found >= MOST_OFFERED or is_late():
                    break
                if edits in tried:
                    continue
                check_deadline()
                tried[edits] = repair = _try_edits(text, bench, operand, edits, retry)
                if repair is not None:
                    repairs[edits] = repair
                    found += 1
    return tuple(repairs.values())


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply edits that do not overlap, whose spans are those of the text before all of them."""
    for edit in sorted(edits, key=lambda edit: edit.span, reverse=True):
        text = text[: edit.span[0]] + edit.text + text[edit.span[1] :]
    return text


def move_span(span: Span, edit: TextEdit) -> Span:
    """Return a span of a text after an edit."""
    longer = len(edit.text) - (edit.span[1] - edit.span[0])
    return span[0] + longer * (edit.span[1] <= span[0]), span[1] + longer * (edit.span[1] <= span[1])


def _try_edits(text: str, bench: Workbench, operand: VerifiedOperand, edits: Edits, retry: Retry) -> Repair | None:
    """Return the repair for edits, None if a step of the operand stays wrong or anything else gets worse."""
    try:
        after = retry(apply_edits(text, edits))
    except LayoutError:
        return None
    if len(after.operands) != len(bench.operands) or _count_problems(after) > _count_problems(bench):
        return None
    pairs = list(zip(bench.operands, after.operands, strict=True))
    if any(_list_slices(old) != _list_slices(new) for old, new in pairs):
        return None
    if any(old.verdict != new.verdict and old.verdict != "mismatch" for old, new in pairs):
        return None
    new = after.operands[bench.operands.index(operand)]
    if new.verdict != "match":
        return None
    mended = [at for at, (old, new) in enumerate(pairs) if old.wrong and new.verdict == "match"]
    return Repair(
        edits=edits,
        before=tuple(text[slice(*edit.span)] for edit in edits),
        operands=tuple(mended),
        words=sum(len(after.operands[at].steps) for at in mended),
    )


def _count_problems(bench: Workbench) -> int:
    """Count the problems of a bench apart from its steps: broken TMA rules, values that must be given."""
    broken = sum(len(piece.notices) for piece in bench.pieces if piece.kind == "tensor_map")
    return broken + sum(assumption.missing for assumption in bench.assumed)


def _list_slices(operand: VerifiedOperand) -> list[tuple[int, int, int]]:
    return [(step.stage, step.mn, step.k) for step in operand.steps]


# what may be guilty ---------------------------------------------------------------------------------------------------


def _is_same_variable(text: str, span: Span, wrong: OperandStep) -> bool:
    """Return whether a place begins with the variable that holds a step's descriptor: b.low += 2 beside b.word."""
    names = [_NAME.match(text, at) for at in (span[0], wrong.span[0])]
    return names[0] is not None and names[1] is not None and names[0][0] == names[1][0]


def _list_starts(
    text: str,
    operand: VerifiedOperand,
    wrong: OperandStep,
    updates: Sequence[Span],
    places: Mapping[str, Sequence[Span]],
) -> Iterator[Iterable[Edits]]:
    """Yield groups of edits that change where a wrong read begins; none where other fields are wrong, too."""
    if len(places) > 1:
        return
    starts = places["start_address"]
    yield _scale_start(text, operand, wrong, [*updates, *starts])
    yield _shift_start(text, wrong.causes[0].code, starts)
    yield _widen_masks(text, starts)


def _list_candidates(
    text: str,
    bench: Workbench,
    built: Sequence[DescriptorBuilder],
    updates: Sequence[DescriptorBuilder],
    operand: VerifiedOperand,
    wrong: OperandStep,
) -> Iterator[Iterable[Edits]]:
    """Yield groups of candidate edits, the likeliest first. updates: places that change the descriptor."""
    if not wrong.causes:
        return
    cause = wrong.causes[0]
    if cause.code == "wrong_transpose":
        yield _flip_transpose(text, bench, operand)
        return
    changes = list_changes(Descriptor(wrong.word, operand.form), cause.fix) if cause.fix else dict(cause.changes)
    builders = [b for b in built if b.span == wrong.span] or list(built)
    if not changes:
        return
    if not builders:
        yield _rewrite_words(text, operand, changes)
        return
    places = {name: _find_places(text, builders, wrong, name) for name in changes}
    if "start_address" in changes:
        yield from _list_starts(text, operand, wrong, [b.span for b in updates], places)
        return
    yield _move_mode(text, cause.code, [place for spans in places.values() for place in spans])
    exact = (replace_amounts(text, places[name], *pair, name) for name, pair in changes.items())
    yield combine_edits(exact)
    yield _change_map(text, bench, operand, wrong)
    if len(changes) == 1:
        ((name, pair),) = changes.items()
        yield scale_amounts(text, places[name], *pair)


def combine_edits(choices: Iterable[Iterable[Edits]]) -> Iterator[Edits]:
    """Yield one of each field's edits together, unless two of them change the same literal differently."""
    for chosen in product(*choices):
        edits = tuple(dict.fromkeys(edit for group in chosen for edit in group))
        if len({edit.span for edit in edits}) == len(edits):
            yield edits


def _find_places(text: str, builders: Sequence[DescriptorBuilder], wrong: OperandStep, field: str) -> tuple[Span, ...]:
    """Find the places of the text that may set a field: the origins of its value, and the macros used there."""
    spans = [span for builder in builders for span in builder.origins.get(field, ())]
    if field == "start_address":
        spans += [wrong.span, *wrong.around]
    spans = list(dict.fromkeys(spans))
    for _ in range(3):  # macros of macros
        names = {name for span in spans for name in _NAME.findall(text[slice(*span)])}
        bodies = [match.span(2) for match in MACRO.finditer(text) if match[1] in names]
        if field == "start_address":
            bodies += [match.span(2) for match in _FUNCTION.finditer(text) if match[1] in names]
        more = [span for span in bodies if span not in spans]
        if not more:
            break
        spans += more
    return tuple(spans)


def _find_numbers(text: str, places: Iterable[Span]) -> Iterator[tuple[Span, int]]:
    """Yield the integer literals in these places, each once, without shift amounts."""
    seen: set[Span] = set()
    for first, past in places:
        for match in _NUMBER.finditer(text, first, past):
            if match.span() in seen or _SHIFT.search(text[max(0, match.start() - 8) : match.start()]):
                continue
            seen.add(match.span())
            try:
                yield match.span(), parse_literal(match[1])
            except ValueError:
                continue


def parse_literal(digits: str) -> int:
    """Return the value of a literal of C++ without its suffix."""
    plain = digits.replace("'", "")
    return int(plain, 8) if re.fullmatch("0[0-7]+", plain) else int(plain, 0)


def write_like(number: str, span: Span, value: int) -> TextEdit:
    """Return the edit that replaces a number by another one in the same base and with the same suffix."""
    match = _NUMBER.fullmatch(number)
    digits, suffix = (match[1], match[2]) if match else ("", "")
    if digits[:2] in ("0x", "0X"):
        written = f"{digits[:2]}{value:{'X' if any(c in 'ABCDEF' for c in digits) else 'x'}}"
    elif digits[:2] in ("0b", "0B"):
        written = f"{digits[:2]}{value:0{len(digits) - 2}b}"
    else:
        written = str(value)
    return TextEdit(span, written + suffix)


def replace_amounts(text: str, places: Iterable[Span], encoded: int, needed: int, field: str) -> Iterator[Edits]:
    """Yield the edits of literals that are the field's amount itself, encoded or in bytes."""
    units = (1,) if field in ("swizzle", "base_offset") else (16, 1)
    numbers = list(_find_numbers(text, places))
    for unit in units:
        for span, value in numbers:
            if value == encoded * unit and (encoded or unit == units[0]):
                yield (write_like(text[slice(*span)], span, needed * unit),)


def scale_amounts(text: str, places: Iterable[Span], encoded: int, needed: int) -> Iterator[Edits]:
    """Yield edits of factors that give the required amount."""
    for span, value in _find_numbers(text, places):
        if encoded and value > 1 and not value * needed % encoded:
            yield (write_like(text[slice(*span)], span, value * needed // encoded),)


def _scale_start(text: str, operand: VerifiedOperand, wrong: OperandStep, places: Iterable[Span]) -> Iterator[Edits]:
    """Yield edits of factors of a K step that produce the required start of this step."""
    first = next((s for s in operand.steps if (s.stage, s.mn) == (wrong.stage, wrong.mn)), wrong)
    fix = wrong.causes[0].fix
    if fix is None or first is wrong:
        return
    begin = Descriptor(first.word).start_address
    moved, needed = Descriptor(wrong.word).start_address - begin, fix.start_address - begin
    for span, value in _find_numbers(text, places):
        if moved and value > 1 and value * needed > 0 and not value * needed % moved:
            yield (write_like(text[slice(*span)], span, value * needed // moved),)


def _shift_start(text: str, code: str, places: Sequence[Span]) -> Iterator[Edits]:
    """Yield the edits that shift an address right by 4 before it becomes the start."""
    if code not in ("bytes_not_shifted", "not_shifted"):
        return
    for first, past in sorted(places, key=lambda span: span[0] - span[1]):
        statement = text[first:past]
        assigned = re.search(r"(?<![=<>!|&^+*/-])=(?!=)\s*", statement)
        begin = first + (assigned.end() if assigned else 0)
        value = text[begin:past].rstrip()
        if value and "\n" not in value:
            inner = value if re.fullmatch(r"\([^()]*\)|\w+", value) else f"({value})"
            yield (TextEdit((begin, begin + len(value)), f"({inner} >> 4)"),)


def _widen_masks(text: str, places: Iterable[Span]) -> Iterator[Edits]:
    """Yield the edits of masks that cut an address: before the shift it has 18 bits, after it 14."""
    for span, value in _find_numbers(text, places):
        if value > 15 and not value & value + 1:
            for mask in (0x3FFFF, 0x3FFF):
                if value < mask:
                    yield (write_like(text[slice(*span)], span, mask),)


def _move_mode(text: str, code: str, places: Iterable[Span]) -> Iterator[Edits]:
    """Yield the edits of a shift that puts the swizzle mode one bit too low or too high."""
    moved = {"mode_at_bit_61": (61, 62), "mode_at_bit_62": (62, 61)}.get(code)
    for first, past in places if moved else ():
        if moved and text[first:past].rstrip("uUlL") == str(moved[0]):
            yield (write_like(text[first:past], (first, past), moved[1]),)


def _change_map(text: str, bench: Workbench, operand: VerifiedOperand, wrong: OperandStep) -> Iterator[Edits]:
    """Yield the edits that store the tile with the swizzle of the descriptor."""
    if operand.storage is None:
        return
    named = Descriptor(wrong.word, operand.form).mode.name.upper()
    for span in bench.pieces[operand.storage].spans:
        for match in _SWIZZLE.finditer(text, *span):
            if match[1] != named:
                yield (TextEdit(match.span(1), named),)


def _flip_transpose(text: str, bench: Workbench, operand: VerifiedOperand) -> Iterator[Edits]:
    """Yield the edits of the transpose immediates of an operand's statements."""
    for piece in bench.pieces:
        if piece.facts.get("ptx") == operand.instruction:
            for _, past in piece.spans:
                yield from flags.flip_transposes(text, past)


def _rewrite_words(text: str, operand: VerifiedOperand, changes: Mapping[str, tuple[int, int]]) -> Iterator[Edits]:
    """Yield the edit that puts the right fields into every printed word of an operand."""
    edits: dict[Span, TextEdit] = {}
    if "start_address" in changes and len(operand.wrong) > 1:
        return  # every word needs a start of its own
    for step in operand.wrong:
        word = Descriptor(step.word, operand.form)
        for name, (_, needed) in changes.items():
            at = word.format.get_field(name)
            mask = (1 << at.high - at.low + 1) - 1
            word = Descriptor(word.word & ~(mask << at.low) | (needed & mask) << at.low, word.format)
        match = re.search(r"0[xX][\da-fA-F']{9,16}", text[slice(*step.span)])
        if match is None:
            return
        first = step.span[0] + match.start()
        edits[first, first + len(match[0])] = TextEdit((first, first + len(match[0])), f"0x{word.word:016x}")
    if edits:
        yield tuple(edits.values())
