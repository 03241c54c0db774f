"""Which descriptor is given to which operand of which instruction, each time that a text's loops run it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, zip_longest
from typing import Any

from lanescope.ptx.table.descriptors import START
from lanescope.reader.code import builders
from lanescope.reader.code.evaluate import Evaluation
from lanescope.reader.code.finding import Assembled, Found, Made
from lanescope.reader.code.values import number
from lanescope.reader.code.word import Int, Linear, Span, symbol
from lanescope.shared.swizzle import WIDEST_PATTERN
from lanescope.workbench.scan import Mention, Word, mentions, trans_at
from lanescope.workbench.written import Given, Written

MOST = 256  # uses of one text
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
CUT = re.compile(r"…[0-9a-f]{8}")  # what stands for the rest of a long name
_LETTERS = {"a": "a", "sa": "a", "as": "a", "lhs": "a", "b": "b", "sb": "b", "bs": "b", "rhs": "b"}
_CALL = re.compile(r"mma|gemm", re.I)  # what a call that takes descriptors is called
_BUFFER = re.compile(r"smem|shared|ptr|addr|buf|tile|(?<![a-z])s[A-Z]", re.I)
_DESC = re.compile(r"desc", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One run of an instruction. given: operand → its descriptor; why: what says so; site: where it stands, with the
    calls around it; loops: (variable, value), outermost first; of: the function it runs in.
    """

    mention: Mention | None
    given: Mapping[str, Given]
    why: Mapping[str, str]
    site: tuple[Any, ...]
    loops: tuple[tuple[str, int], ...]
    of: str
    order: int
    assumed: bool = False  # which operand it is
    computed: bool = True  # by code, whose shifts were seen
    registers: bool | None = None
    again: bool = False  # a printed word that its forerunner has, too, and that stands for a step of its own
    majors: Mapping[str, str] = field(default_factory=dict)


def letter(*names: str) -> str | None:
    """a or b where names say which operand something belongs to: sA, desc_b, tma_map_A, smem.B; None where they do not,
    or say both.

    >>> letter("tma_map_A"), letter("smem_b"), letter("sA", "sB"), letter("barrier")
    ('a', 'b', None, None)
    >>> letter("(shared + 4096·lane…82b855a1)") is None
    True
    """
    tokens = (token.lower() for name in names for token in _TOKEN.findall(CUT.sub("", name)))
    said = {_LETTERS[token] for token in tokens if token in _LETTERS}
    return said.pop() if len(said) == 1 else None


def of_code(made: Evaluation, told: tuple[Mention, ...]) -> list[Use]:
    """The uses of a text's code: asm statements that were run, else calls that are given descriptors, else the
    descriptors by themselves.
    """
    given_at = Written(made)
    loose = [replace(use, given=given_at.of(use.given)) for use in of_assembled(made.assembled, told)]
    known: dict[tuple[int, Any], list[Found]] = {}
    for one in made.found:
        known.setdefault((one.value.const, one.value.pieces), []).append(one)
    seen = {g.value for use in loose for g in use.given.values()}
    calls = [
        use
        for use in of_calls(_alone(made), known, told, made.text)
        if not seen & {g.value for g in use.given.values()}
    ]
    found = sorted([*loose, *calls], key=lambda use: use.order)
    if found:
        return found[:MOST]
    fed = any("mma" in one.text for one in made.assembled)  # whose descriptors are open: which of these is whose is too
    return [use for use in by_themselves(made, told) if not (fed and use.assumed)][:MOST]


def _turned(ran: Iterable[Assembled]) -> dict[str, str]:
    """Operand → the major that every asm statement with a transpose immediate says, whatever its descriptors are."""
    said: dict[str, set[str]] = {}
    for one in {each.text: each for each in ran if "mma" in each.text}.values():
        mention = next((m for m in mentions(one.text) if m.instruction.family.by_descriptor), None)
        if mention is None:
            continue
        cut = _left_out(one, mention.arguments[1:3])
        for name, argument in trans_at(mention.instruction, mention.arguments, bool(mention.registers)).items():
            value, _, _ = _operand(one, argument, cut)
            known = value.known if value is not None else None
            said.setdefault(name, set()).add("MN" if known == 1 else "K" if known == 0 else "")
    return {name: next(iter(each)) for name, each in said.items() if len(each) == 1 and each != {""}}


def of_assembled(ran: Iterable[Assembled], told: tuple[Mention, ...]) -> list[Use]:
    """asm statements with a wgmma: its operands by their numbers."""
    out: list[Use] = []
    parsed: dict[str, Mention | None] = {}
    for one in ran:
        if "mma" not in one.text:
            continue
        if one.text not in parsed:
            parsed[one.text] = next((m for m in mentions(one.text) if m.instruction.family.by_descriptor), None)
        mention = parsed[one.text]
        if mention is None or len(mention.arguments) < 3:
            continue
        registers = bool(mention.registers)
        given: dict[str, Given] = {}
        own = mention.arguments[2:3] if registers else mention.arguments[1:3]
        cut = _left_out(one, own)
        for name, argument in zip("ab", mention.arguments[1:3], strict=True):
            value, span, around = _operand(one, argument, cut)
            if value is not None and not (name == "a" and registers) and _is_word(value):
                given[name] = Given(value, span, argument, around)
        majors: dict[str, str] = {}
        for name, argument in trans_at(mention.instruction, mention.arguments, registers).items():
            value, _, _ = _operand(one, argument, cut)
            if value is not None and value.known in (0, 1):
                majors[name] = "MN" if value.known else "K"
        if given:
            places = [m.span for m in told if one.span[0] <= m.span[0] < one.span[1]]
            shifted = replace(mention, span=places[0] if places else one.span)
            why = {n: f"operand {n} of the asm statement is {g.name}" for n, g in given.items()}
            site = (one.span, *(span for _, span in one.calls))
            out.append(
                Use(
                    mention=shifted,
                    given=given,
                    why=why,
                    site=site,
                    loops=_loops(one.loops),
                    of=_of(one.calls),
                    order=one.order,
                    registers=registers,
                    majors=majors,
                )
            )
    return out


def _operand(one: Assembled, argument: str, cut: int) -> tuple[Int | None, Span, tuple[Span, ...]]:
    """What %3 or %[name] of an asm statement is given, where that is written, the calls around it; or a number that
    stands there.
    """
    if len(argument) < 20 and argument.isdecimal():
        return Int(int(argument)), one.span, ()
    found = re.fullmatch(r"%(?:(\d{1,4})|\[(\w+)\])", argument)
    if not found:
        return None, one.span, ()
    at = int(found[1]) - cut if found[1] else one.names.index(found[2]) if found[2] in one.names else len(one.given)
    if not 0 <= at < len(one.given):
        return None, one.span, ()
    _, value, span = one.given[at]
    return value, span, one.around[at] if one.around else ()


def _left_out(one: Assembled, descriptors: Iterable[str]) -> int:
    """How many operands a text leaves out of an asm statement before the descriptors, as people do who paste one.

    %33 of three operands that are there is the last of 34. Where that makes no 64-bit operand ("l") of a descriptor,
    the number that does: lines that name later operands may be missing, too.
    """
    most = max((int(n) for n in re.findall(r"%(\d{1,4})\b", one.text)), default=-1)
    plain = max(0, most + 1 - len(one.given))
    numbers = [int(found[1]) for text in descriptors if (found := re.fullmatch(r"%(\d{1,4})", text))]
    wide = [n for n, (kind, _, _) in enumerate(one.given) if "l" in kind]

    def fits(cut: int) -> bool:
        return all(n - cut in wide for n in numbers)

    if not numbers or fits(plain) or fits(0):
        return plain if fits(plain) or not numbers else 0
    others = [numbers[0] - n for n in wide if fits(numbers[0] - n)]
    return others[0] if len(others) == 1 else plain


def _alone(made: Evaluation) -> Iterator[Made]:
    """The calls of functions without a body that do not only compute an operand of an asm statement."""
    inside = [one.span for one in made.assembled]
    return (one for one in made.made if not any(low <= one.term.span[0] < high for low, high in inside))


def _is_word(value: Int) -> bool:
    """Whether a value is more than a parameter nothing is known of."""
    return bool(value.const >> 16 & (1 << 46) - 1) or len(value.pieces) > 1 or any(p.shift == 4 for p in value.pieces)


def of_calls(
    made: Iterable[Made],
    known: Mapping[tuple[int, Any], Sequence[Found]],
    told: tuple[Mention, ...],
    text: str = "",
) -> list[Use]:
    """Calls of functions without a body that are given descriptors: the first is A's, the second B's, unless names say
    otherwise.
    """
    out: list[Use] = []
    for one in made:
        values = [number(v) if not isinstance(v, str) else None for v in one.term.arguments]
        words = [v for v in values if v is not None and (v.const, v.pieces) in known and _is_word(v)]
        if not words or not (_CALL.search(one.term.head) or len(words) > 1):
            continue
        inside = [m for m in told if one.term.span[0] <= m.span[0] < one.term.span[1]]
        others = {m.instruction.ptx: m for m in told if m.instruction.family.by_descriptor}
        mention = inside[0] if inside else next(iter(others.values())) if others else None
        registers = mention is not None and mention.registers is True
        named = [letter(*names(value)) for value in words]
        letters: list[str | None] = list(named)
        if named == ["b", "a"]:  # every such function takes A's first: these two are exchanged
            letters = ["a", "b"]
        elif len(words) == 2 and None in letters:
            letters = ["a", "b"] if letters[1] != "a" and letters[0] != "b" else ["b", "a"]
        elif len(words) == 1 and letters[0] is None:
            letters = ["b"] if registers else ["a"]
        given: dict[str, Given] = {}
        why: dict[str, str] = {}
        for n, (value, name) in enumerate(zip(words, letters, strict=True)):
            if name and name not in given:
                same = known[value.const, value.pieces]
                low, past = one.term.span  # of several places with this value the one in the call itself
                written = next((f for f in same if low <= f.span[0] and f.span[1] <= past), same[0])
                span, around = _place(written, one.term.span, text)
                given[name] = Given(value, span, written.name, around)
                place = ("first", "second")[n] if n < 2 else f"{n + 1}th"
                why[name] = (
                    f"its address comes from {names(value)[0]}"
                    if named[n] == name
                    else "A is in registers"
                    if registers
                    else f"it is the {place} descriptor that {one.term.head} is given"
                )
        if given:
            site = (one.term.span, *(span for _, span in one.calls))
            unsure = len(words) == 1 and named[0] is None and not registers
            out.append(
                Use(
                    mention=mention,
                    given=given,
                    why=why,
                    site=site,
                    loops=_loops(one.loops),
                    of=_of(one.calls),
                    order=one.order,
                    assumed=unsure,
                    registers=registers or None,
                    majors=mention.majors if mention else {},
                )
            )
    return out


def _place(one: Found, call: Span, text: str) -> tuple[Span, tuple[Span, ...]]:
    """Where a call is given a descriptor that may stand in several places: in the call, in the words that build it, or
    at the variable that it names; and the calls around that.
    """
    low, past = call
    if low <= one.span[0] < past or not text:
        return one.span, _outside(one)
    at = text.find(one.name, low, past)
    if at >= 0 and not one.name.isidentifier():
        return (at, at + len(one.name)), ()
    return (one.span, _outside(one)) if at >= 0 else (call, ())


def _outside(one: Found) -> tuple[Span, ...]:
    """The calls around a descriptor, innermost first; the function that it is written in is none of them."""
    return tuple(span for span in reversed(one.calls) if not (span[0] <= one.span[0] and one.span[1] <= span[1]))


def tiles(uses: list[Use]) -> list[list[Use]]:
    """Uses by the tiles that they read: those of one operand whose addresses have no name in common are of two."""
    owner: dict[str, int] = {}
    groups: list[int] = []

    def root(n: int) -> int:
        while groups[n] != n:
            n = groups[n]
        return n

    keys: list[tuple[int, ...]] = []
    for use in uses:
        key = []
        for name in sorted(use.given):
            own = [f"{name}:{n}" for n in names(use.given[name].value)]
            known = sorted({root(owner[n]) for n in own if n in owner})
            at = known[0] if known else len(groups)
            if not known:
                groups.append(at)
            for other in known[1:]:
                groups[other] = at
            owner.update(dict.fromkeys(own, at))
            key.append(at)
        keys.append(tuple(key))
    out: dict[tuple[str, tuple[int, ...]], list[Use]] = {}
    for use, found in zip(uses, keys, strict=True):
        out.setdefault(("".join(sorted(use.given)), tuple(map(root, found))), []).append(use)
    alone = {name: [group for (given, _), group in out.items() if given == name] for name in "ab"}
    both = [group for (given, _), group in out.items() if given == "ab"]
    none: list[Use] = []
    return [*both, *(one + two for one, two in zip_longest(alone["a"], alone["b"], fillvalue=none))]


def by_themselves(made: Evaluation, told: tuple[Mention, ...]) -> list[Use]:
    """Descriptors that code builds and that no instruction of the text is seen to take."""
    mention = next((m for m in told if m.instruction.family.by_descriptor), None)
    registers = mention is not None and mention.registers is True
    majors = {**_turned(made.assembled), **(mention.majors if mention else {})}
    groups: dict[str, list[list[Found]]] = {}
    for group in builders.groups(made):
        if all(one.value.plain is not None and one.value.known is None for one in group):
            continue  # nothing of it is known
        named = builders.operand_of(group[0].name) or letter(*names(group[0].value))
        groups.setdefault(named or "", []).append(group)
    out: list[Use] = []
    for name, found in groups.items():
        for n, group in enumerate(found):
            own = name or ("b" if registers else "ab"[min(n, 1)] if "a" not in groups else "b")
            for one in group:
                why = (
                    f"its name is {group[0].name}"
                    if builders.operand_of(group[0].name)
                    else f"its address comes from {names(one.value)[0]}"
                    if name
                    else "A is in registers"
                    if registers
                    else "the text does not say which operand it is"
                )
                site = (one.span, *one.calls)
                given = {own: Given(one.value, one.span, one.name, _outside(one))}
                out.append(
                    Use(
                        mention=mention,
                        given=given,
                        why={own: why},
                        site=site,
                        loops=_loops(one.loops),
                        of=f"{group[0].name}",
                        order=len(out),
                        assumed=not name and not registers,
                        registers=registers or None,
                        majors=majors,
                    )
                )
    return out


def of_words(printed: Iterable[Word], told: tuple[Mention, ...]) -> list[Use]:
    """Printed words: those of one operand are its steps, in their order."""
    mention = next((m for m in told if m.instruction.family.by_descriptor), None)
    registers = mention is not None and mention.registers is True
    words = list(printed)
    named = [letter(word.label) for word in words]
    two = not registers and len(words) == 2 and named == [None, None] and _far(*words)
    again = _repeated(words, named)
    out = []
    for n, (word, name) in enumerate(zip(words, named, strict=True)):
        own = name or ("b" if registers else "ab"[n] if two else "a")
        why = (
            f"its label is {word.label}"
            if name
            else "A is in registers"
            if registers
            else f"of the two words it is the {('first', 'second')[n]}"
            if two
            else "its label does not say"
            if word.label
            else "the text does not say"
        )
        given = {own: Given(Int(word.word), word.span, word.label)}
        unsure = not name and not registers and not two
        out.append(
            Use(
                mention=mention,
                given=given,
                why={own: why},
                site=("word", n),
                loops=(),
                of="printed",
                order=n,
                assumed=unsure,
                computed=False,
                registers=registers or None,
                again=n in again,
                majors=mention.majors if mention else {},
            )
        )
    return out


def _repeated(words: Sequence[Word], named: Sequence[str | None]) -> set[int]:
    """The words that are the one before them of the same operand once more and stand in for a step: a later word is
    as far from the first as its place says. Several threads that print the same words repeat them, too.
    """
    out: set[int] = set()
    for name in set(named):
        own = [n for n, one in enumerate(named) if one == name]
        values = [words[n].word for n in own]
        apart = min((two - one for one, two in pairwise(values) if two > one), default=0)
        for n, (one, two) in enumerate(pairwise(values), 1):
            if one == two and any(word == values[0] + at * apart for at, word in enumerate(values) if at > n):
                out.add(own[n])
    return out


def _far(one: Word, two: Word) -> bool:
    """Whether two words are of two tiles: of one label, and further apart than a step along K goes."""
    apart = abs(START.get(one.word) - START.get(two.word)) * START.unit
    return one.label == two.label == "" and (apart >= WIDEST_PATTERN or one.word >> 16 != two.word >> 16)


def address(value: Int) -> tuple[Linear | None, bool]:
    """(the byte address that a descriptor's start was made of, whether it was shifted right by 4); None where the start
    field is no one expression.
    """
    inside = [p for p in value.pieces if p.low < START.width]
    if not inside:
        return Linear(START.get(value.const) * START.unit), True
    one = inside[0]
    if len(inside) > 1 or one.low or START.get(value.const):
        return None, True
    if one.shift == 4:
        return one.source, True
    if one.shift:
        return None, True
    encoded = any("(" in name.replace("sizeof(", "") or _DESC.search(name) for name, _ in one.source.terms)
    return (one.source.scaled(16), True) if encoded else (one.source, False)


def names(value: Int) -> tuple[str, ...]:
    """What the start address of a descriptor is made of, what is called like a buffer first."""
    line, _ = address(value)
    terms = line.terms if line is not None else ()
    ordered = sorted(terms, key=lambda term: (term[1] != 1, not _BUFFER.search(term[0])))
    return tuple(name for name, _ in ordered) or ("",)


def _loops(loops: tuple[tuple[str, Int], ...]) -> tuple[tuple[str, int], ...]:
    """The loops with known values; variables of one name told apart."""
    out: list[tuple[str, int]] = []
    for name, value in loops:
        if value.known is not None:
            count = sum(name == other.split("'")[0] for other, _ in out)
            out.append((name + "'" * count, value.known))
    return tuple(out)


def _of(calls: tuple[tuple[str, Span], ...]) -> str:
    return calls[0][0] if calls else ""


def values_of(value: Int, symbols: Mapping[str, int]) -> int | None:
    """The word for values of its symbols; None where one is missing."""
    word = value.const
    for piece in value.pieces:
        at = evaluated(piece.source, symbols)
        if at is None:
            return None
        word |= (at >> piece.shift & (1 << piece.width) - 1) << piece.low
    return word & (1 << 64) - 1


def evaluated(line: Linear, symbols: Mapping[str, int]) -> int | None:
    """A linear expression for values of its symbols; None where one is missing."""
    total = line.const
    for name, factor in line.terms:
        if name not in symbols:
            return None
        total += factor * symbols[name]
    return total


__all__ = ["Given", "Use", "address", "evaluated", "letter", "of_code", "of_words", "symbol", "values_of"]
