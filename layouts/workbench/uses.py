"""Which descriptor is given to which operand of which instruction, each time that a text's loops run it.

`contents.py` calls `of_code` for asm statements, calls and bare descriptors (`words.py` has printed words); `whole.py`
calls `tiles` to tell apart the uses that read different tiles.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from lanescope.reader.code import builders
from lanescope.reader.code.evaluate import Evaluation
from lanescope.reader.code.finding import Assembled, Found, Made
from lanescope.reader.code.values import number
from lanescope.reader.code.word import Int, Span
from lanescope.workbench.addresses import start_names
from lanescope.workbench.names import letter
from lanescope.workbench.scan import Mention, mentions, trans_at
from lanescope.workbench.written import Given, Written

MOST = 256  # uses of one text
_CALL = re.compile(r"mma|gemm", re.I)  # what a call that takes descriptors is called


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


def of_code(made: Evaluation, told: tuple[Mention, ...]) -> list[Use]:
    """The uses of a text's code: asm statements that were run, else calls that are given descriptors, else the
    descriptors by themselves.
    """
    given_at = Written(made)
    loose = [replace(use, given=given_at.of(use.given)) for use in of_assembled(made.assembled, told)]
    seen = {g.value for use in loose for g in use.given.values()}
    calls = [use for use in of_calls(made, told) if not seen & {g.value for g in use.given.values()}]
    found = sorted([*loose, *calls], key=lambda use: use.order)
    if found:
        return found[:MOST]
    fed = any("mma" in one.text for one in made.assembled)  # whose descriptors are open: which of these is whose is too
    return [use for use in by_themselves(made, told) if not (fed and use.assumed)][:MOST]


# asm statements -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Wgmma:
    """An asm statement with a wgmma. cut: operands that the text leaves out before the descriptors."""

    ran: Assembled
    mention: Mention
    cut: int

    @property
    def registers(self) -> bool:
        """Whether A comes from registers."""
        return bool(self.mention.registers)

    def given(self) -> dict[str, Given]:
        """Operand → its descriptor."""
        out: dict[str, Given] = {}
        for name, argument in zip("ab", self.mention.arguments[1:3], strict=True):
            value, span, around = _operand(self.ran, argument, self.cut)
            if value is not None and not (name == "a" and self.registers) and _is_word(value):
                out[name] = Given(value, span, argument, around)
        return out

    def immediates(self) -> dict[str, int | None]:
        """Operand → its transpose immediate, None where the text leaves it open."""
        told = trans_at(self.mention.instruction, self.mention.arguments, self.registers)
        values = {name: _operand(self.ran, argument, self.cut)[0] for name, argument in told.items()}
        return {name: None if value is None else value.known for name, value in values.items()}


_MAJORS: dict[int | None, str] = {0: "K", 1: "MN"}  # transpose immediate → the major that it says


def _wgmmas(ran: Iterable[Assembled]) -> Iterator[tuple[Assembled, Mention]]:
    """Asm statements with a wgmma that names D, A and B."""
    parsed: dict[str, Mention | None] = {}
    for one in ran:
        if "mma" not in one.text:
            continue
        if one.text not in parsed:
            parsed[one.text] = next((m for m in mentions(one.text) if m.instruction.family.by_descriptor), None)
        mention = parsed[one.text]
        if mention is not None and len(mention.arguments) >= 3:
            yield one, mention


def _turned(ran: Iterable[Assembled]) -> dict[str, str]:
    """Operand → the major that every asm statement with a transpose immediate says, whatever its descriptors are."""
    said: dict[str, set[str]] = {}
    for one, mention in _wgmmas({each.text: each for each in ran}.values()):
        wgmma = _Wgmma(one, mention, _left_out(one, mention.arguments[1:3]))
        for name, immediate in wgmma.immediates().items():
            said.setdefault(name, set()).add(_MAJORS.get(immediate, ""))
    return {name: next(iter(each)) for name, each in said.items() if len(each) == 1 and each != {""}}


def of_assembled(ran: Iterable[Assembled], told: tuple[Mention, ...]) -> list[Use]:
    """asm statements with a wgmma: its operands by their numbers."""
    out = []
    for one, mention in _wgmmas(ran):
        descriptors = mention.arguments[2:3] if mention.registers else mention.arguments[1:3]
        use = _of_wgmma(_Wgmma(one, mention, _left_out(one, descriptors)), told)
        out += [use] if use is not None else []
    return out


def _of_wgmma(wgmma: _Wgmma, told: tuple[Mention, ...]) -> Use | None:
    """The use of an asm statement; None where none of its descriptors is known."""
    given, one = wgmma.given(), wgmma.ran
    if not given:
        return None
    places = [m.span for m in told if one.span[0] <= m.span[0] < one.span[1]]
    return Use(
        mention=replace(wgmma.mention, span=places[0] if places else one.span),
        given=given,
        why={n: f"operand {n} of the asm statement is {g.name}" for n, g in given.items()},
        site=(one.span, *(span for _, span in one.calls)),
        loops=_loops(one.loops),
        of=_of(one.calls),
        order=one.order,
        registers=wgmma.registers,
        majors={name: _MAJORS[said] for name, said in wgmma.immediates().items() if said in _MAJORS},
    )


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


def _is_word(value: Int) -> bool:
    """Whether a value is more than a parameter nothing is known of."""
    return bool(value.const >> 16 & (1 << 46) - 1) or len(value.pieces) > 1 or any(p.shift == 4 for p in value.pieces)


# calls of functions without a body ------------------------------------------------------------------------------------


def of_calls(made: Evaluation, told: tuple[Mention, ...]) -> list[Use]:
    """Calls of functions without a body that are given descriptors: the first is A's, the second B's, unless names say
    otherwise.
    """
    known: dict[tuple[int, Any], list[Found]] = {}
    for one in made.found:
        known.setdefault((one.value.const, one.value.pieces), []).append(one)
    uses = (_of_call(call, known, told, made.text) for call in _alone(made))
    return [use for use in uses if use is not None]


def _of_call(
    call: Made, known: Mapping[tuple[int, Any], Sequence[Found]], told: tuple[Mention, ...], text: str
) -> Use | None:
    """The use of a call; None where it is given no descriptors, or by its name is none that multiplies."""
    words = _descriptors(call, known)
    if not words or (len(words) == 1 and not _CALL.search(call.term.head)):
        return None
    mention = _mention_of(call.term.span, told)
    registers = in_registers(mention)
    named = [letter(*start_names(value)) for value in words]
    which = _operands_of(named, registers)
    if not which:
        return None
    own = {name: words[n] for name, n in which.items()}
    why = {
        name: _by_address(words[n]) if named[n] == name else _by_place(n, call.term.head, registers)
        for name, n in which.items()
    }
    return Use(
        mention=mention,
        given={name: _given_by(call.term.span, known[v.const, v.pieces], v, text) for name, v in own.items()},
        why=why,
        site=(call.term.span, *(span for _, span in call.calls)),
        loops=_loops(call.loops),
        of=_of(call.calls),
        order=call.order,
        assumed=len(words) == 1 and named[0] is None and not registers,
        registers=registers or None,
        majors=mention.majors if mention else {},
    )


def _descriptors(call: Made, known: Collection[tuple[int, Any]]) -> list[Int]:
    """The arguments of a call that are descriptors that the text builds."""
    values = (number(value) for value in call.term.arguments if not isinstance(value, str))
    return [v for v in values if v is not None and (v.const, v.pieces) in known and _is_word(v)]


def in_registers(mention: Mention | None) -> bool:
    """Whether the text says that A comes from registers."""
    return mention is not None and mention.registers is True


def _alone(made: Evaluation) -> Iterator[Made]:
    """The calls of functions without a body that do not only compute an operand of an asm statement."""
    inside = [one.span for one in made.assembled]
    return (one for one in made.made if not any(low <= one.term.span[0] < high for low, high in inside))


def _mention_of(call: Span, told: Iterable[Mention]) -> Mention | None:
    """The instruction that stands in a call, or of those that read descriptors the text's first, as it is last told."""
    inside = next((m for m in told if call[0] <= m.span[0] < call[1]), None)
    if inside is not None:
        return inside
    by_descriptor = [m for m in told if m.instruction.family.by_descriptor]
    first = by_descriptor[0].instruction.ptx if by_descriptor else ""
    return next((m for m in reversed(by_descriptor) if m.instruction.ptx == first), None)


def _operands_of(named: Sequence[str | None], registers: bool) -> dict[str, int]:
    """Operand → which of a call's descriptors it is. named: what the names of their addresses say of each."""
    letters = list(named)
    if letters == ["b", "a"]:  # every such function takes A's first: these two are exchanged
        letters = ["a", "b"]
    elif len(letters) == 2 and None in letters:
        letters = ["a", "b"] if letters[1] != "a" and letters[0] != "b" else ["b", "a"]
    elif letters == [None]:
        letters = ["b"] if registers else ["a"]
    out: dict[str, int] = {}
    for n, name in enumerate(letters):
        if name:
            out.setdefault(name, n)
    return out


def _given_by(call: Span, same: Sequence[Found], value: Int, text: str) -> Given:
    """A call's descriptor. same: the places with this value; the one in the call itself is taken, else the first."""
    low, past = call
    written = next((one for one in same if low <= one.span[0] and one.span[1] <= past), same[0])
    span, around = _place(written, call, text)
    return Given(value, span, written.name, around)


def _by_address(value: Int) -> str:
    return f"its address comes from {start_names(value)[0]}"


def _by_place(n: int, head: str, registers: bool) -> str:
    """Why the n-th descriptor of a call is an operand's, where its address does not say."""
    place = ("first", "second")[n] if n < 2 else f"{n + 1}th"
    return "A is in registers" if registers else f"it is the {place} descriptor that {head} is given"


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


# descriptors that nothing takes ---------------------------------------------------------------------------------------


def by_themselves(made: Evaluation, told: tuple[Mention, ...]) -> list[Use]:
    """Descriptors that code builds and that no instruction of the text is seen to take."""
    mention = next((m for m in told if m.instruction.family.by_descriptor), None)
    registers = in_registers(mention)
    majors = {**_turned(made.assembled), **(mention.majors if mention else {})}
    groups = _groups(made)
    out: list[Use] = []
    for name, found in groups.items():
        for n, group in enumerate(found):
            first = "ab"[min(n, 1)] if "a" not in groups else "b"
            own = name or ("b" if registers else first)
            for one in group:
                out.append(
                    Use(
                        mention=mention,
                        given={own: Given(one.value, one.span, one.name, _outside(one))},
                        why={own: _why_alone(group[0].name, name, one.value, registers)},
                        site=(one.span, *one.calls),
                        loops=_loops(one.loops),
                        of=group[0].name,
                        order=len(out),
                        assumed=not name and not registers,
                        registers=registers or None,
                        majors=majors,
                    )
                )
    return out


def _groups(made: Evaluation) -> dict[str, list[list[Found]]]:
    """Operand, or "" where names do not say it → groups of descriptors of which something is known."""
    out: dict[str, list[list[Found]]] = {}
    for group in builders.groups(made):
        if any(one.value.plain is None or one.value.known is not None for one in group):
            named = builders.operand_of(group[0].name) or letter(*start_names(group[0].value))
            out.setdefault(named or "", []).append(group)
    return out


def _why_alone(group: str, operand: str, value: Int, registers: bool) -> str:
    """What says which operand a descriptor is that nothing takes. group: its name; operand: what names say."""
    if builders.operand_of(group):
        return f"its name is {group}"
    if operand:
        return _by_address(value)
    return "A is in registers" if registers else "the text does not say which operand it is"


# shared --------------------------------------------------------------------------------------------------------------


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
            own = [f"{name}:{n}" for n in start_names(use.given[name].value)]
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
