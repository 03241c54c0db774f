"""What C's preprocessor does to a text: lines joined, macros expanded, conditions decided, attributes of compilers
blanked; each character of the result keeps its place in the pasted text. Source: C++17, [cpp].
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from lanescope.deadline import reading_at
from lanescope.reader.code import attributes, predefined
from lanescope.reader.code.brackets import bare
from lanescope.reader.code.decisions import Conditions
from lanescope.reader.code.directives import Directive, Text, read, unless
from lanescope.reader.code.lexing import Token, tokens, wholes
from lanescope.reader.code.macro_uses import MacroUses
from lanescope.reader.code.macros import MOST_STEPS, Macro, Steps, TooLongError, define, spelled
from lanescope.reader.code.source import Prepared, Source, Unread
from lanescope.reader.code.topmost import Lost, declared, is_function, pieces, without
from lanescope.reader.code.word import Span

MOST_TEXT = 1 << 17  # characters that expansion may add to a text
MOST_TOLD = 8  # places of a text that are not read
_LEFT = "what depends on it is left open."
# a comment that begins or ends over a line that is continued
_SPLIT = re.compile(r"([*/])((?:\\[ \t]*\n)+)([*/])")
_WORD = re.compile(r"\.?\d(?:[eEpP][+-]|'\w|[\w.])*|[A-Za-z_$][\w$]*")
_OPEN = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*+\(", re.S)
_RUST = re.compile(r"\blet (?:mut )?\w+(?:: u64)? =|\d_?u64\b|\bas u64\b")


def prepare(text: str) -> Source:
    """The text as a C++ parser should see it, where no undecided condition holds."""
    return Preprocessor(text).run().source


class Preprocessor:
    """One text, which may be read several times, each time with other choices.

    macros: what is given for macros that the text does not define, "" for one that is defined as nothing.
    """

    def __init__(self, text: str, patience: int = 1, macros: Mapping[str, str] | None = None) -> None:
        if "u64" in text and _RUST.search(text):
            text = _of_rust(text)
        self.given: dict[str, Macro] = {}
        self.undefined: set[str] = set()
        for name, value in (macros or {}).items():
            if value == predefined.NOT_DEFINED:
                self.undefined.add(name)
            else:
                self.given[name] = Macro(None, tuple(tokens("1" if value == predefined.HAS else value)))
        joined = _SPLIT.sub(r"\1\3\2", re.sub(r"[^\x00-\x7f]", "?", text))
        self.text: Text = read(_closed(joined))
        self.arch = predefined.architecture(text)
        self.steps = Steps(MOST_STEPS * patience)

    def run(self, decisions: Mapping[str, bool] | None = None, chosen: frozenset[str] | None = None) -> Prepared:
        """Read the text. decisions: undecided condition → whether it holds; of any other it is taken that it does not.
        chosen: the only ones that are decided so (None: all are); the branches of the others are left out, with every
        declaration that they stand in or change.
        """
        return _Run(self, decisions or {}, chosen).made()


def _closed(text: str) -> str:
    """A text with blanks for a comment that is not closed, at which a parser would begin again and again."""
    if text.rfind("/*") < text.rfind("*/") or "/*" not in text:
        return text
    for whole in wholes(text):
        if whole.end == len(text) and text.startswith("/*", whole.start) and not text.endswith("*/"):
            return text[: whole.start] + re.sub(r"[^\n]", " ", text[whole.start :])
    return text


def _of_rust(text: str) -> str:
    """Rust's integers as C spells them, as long as they were: `let d: u64 = 64u64 << 32 | x as u64`."""
    text = re.sub(r"\blet(?: mut)? (\w+): u64(?= =)", lambda found: f"u64 {found[1]}".ljust(len(found[0])), text)
    text = re.sub(
        r"(?<![\w.])(0x[0-9a-fA-F_]+|\d[\d_]*)_?u64\b",
        lambda found: f"{found[1].replace('_', '')}ull".ljust(len(found[0])),
        text,
    )
    text = re.sub(r"(?<![\w.])(\d+)( as u64)\b", r"\1ull    ", text)
    return re.sub(r"(?<=[\w)]) as u(?:64|32|size)\b", lambda found: " " * len(found[0]), text)


@dataclass(slots=True)
class _Open:
    """A condition that is not closed: whether its branch is read, whether one of its branches was; frozen: where its
    text begins in the output, −1 where it is not left out.
    """

    reads: bool
    taken: bool
    matters: bool = True
    frozen: int = -1
    at: int = 0  # its directive


class _Run:
    """One reading of a text."""

    def __init__(self, own: Preprocessor, decisions: Mapping[str, bool], chosen: frozenset[str] | None) -> None:
        self.own = own
        self.text = own.text
        self.code = own.text.joined.text
        self.known = Conditions(own.text, own.arch, own.steps, decisions, chosen)
        self.known.macros.update(own.given)
        self.known.undefined |= own.undefined
        self.uses = MacroUses(self.text, self.known.macros)
        self.pushed: dict[str, list[tuple[Macro | None, bool]]] = {}
        self.out: list[str] = []
        self.length = 0
        self.starts: list[int] = []
        self.places: list[tuple[int, int, bool]] = []
        self.failed = False
        self.unread: list[Unread] = []
        self.lost: list[Lost] = []  # stretches of the output that are not what C++ makes of the text
        self.opened: list[_Open] = []
        self.counted = 0  # uses of __COUNTER__, of macros that are not expanded

    def made(self) -> Prepared:
        with reading_at(lambda: self.text.joined.original(self.known.at)):
            return self._made()

    def _made(self) -> Prepared:
        start = 0
        directives = self.text.directives
        for n, one in enumerate(directives):
            if self.reads:
                self._code(start, one.start)
            start = one.past
            self.known.at = one.start
            handle = _HANDLERS.get(one.name)
            if handle is not None:
                handle(self, n, one)
        if self.reads:
            self._code(start, len(self.code))
        for top in self.opened:  # a condition that is not closed
            if top.frozen >= 0:
                self.lost.append(Lost(top.frozen, self.length, frozenset(_WORD.findall(self.code))))
        text = attributes.blank("".join(self.out), self.text.attributes)
        blanked: list[Span] = []
        if self.lost:
            text, blanked = without(text, self.lost)
        source = Source(bare(text), tuple(self.starts), tuple(self.places))
        lost = tuple(source.original(start, end) for start, end in blanked)
        return Prepared(
            source, tuple(self.known.met), self.failed, tuple(self.known.presumed.values()), tuple(self.unread), lost
        )

    @property
    def reads(self) -> bool:
        return not self.opened or self.opened[-1].reads

    def _original(self, start: int, end: int) -> Span:
        joined = self.text.joined
        return joined.original(start), joined.original(max(end - 1, start)) + 1

    def _line(self, at: int) -> int:
        """The line of the pasted text, counted from 1."""
        return self.code.count("\n", 0, at) + self._joined_lines(at) + 1

    def _joined_lines(self, at: int) -> int:
        return bisect_right(self.text.joined.cuts, at)

    # directives ------------------------------------------------------------------------------------------------------

    def _keep_macro(self, name: str, push: bool) -> None:
        """Keep a macro's definition, or bring the one back that was kept last."""
        if push:
            self.pushed.setdefault(name, []).append((self.known.macros.get(name), name in self.known.undefined))
        elif self.pushed.get(name):
            macro, undefined = self.pushed[name].pop()
            self.known.macros.pop(name, None)
            self.known.undefined.discard(name)
            if macro is not None:
                self.known.macros[name] = macro
            elif undefined:
                self.known.undefined.add(name)

    @property
    def _leaves_out(self) -> bool:
        return any(one.frozen >= 0 for one in self.opened)

    def _open(self, n: int, one: Directive) -> None:
        if not self.reads:
            self.opened.append(_Open(False, True, False))
            return
        self.known.matters = self.text.matters(n) and not one.guard
        truth = self._is_host_code(one) or self.known.truth(one.name, one.rest)
        made = _Open(truth, truth, self.known.matters, at=n)
        self.opened.append(made)
        self._freeze(made, n)

    def _define(self, n: int, one: Directive) -> None:
        found = define(one.rest) if self.reads else None
        if found is not None:
            name, macro = found
            self.known.macros[name] = macro
            self.known.undefined.discard(name)
            self._judge_definition(name)

    def _undefine(self, n: int, one: Directive) -> None:
        if self.reads and one.rest:
            name = one.rest[0].text
            self.known.macros.pop(name, None)
            self.known.undefined.add(name)
            self._judge_definition(name)

    def _judge_definition(self, name: str) -> None:
        """Whether what a name means now rests on a condition that is left out."""
        self.known.doubtful.discard(name)
        if self._leaves_out:
            self.known.doubtful.add(name)

    def _pragma(self, n: int, one: Directive) -> None:
        if self.reads and len(one.rest) > 2 and one.rest[0].text in ("push_macro", "pop_macro"):
            self._keep_macro(one.rest[2].text.strip('"'), one.rest[0].text == "push_macro")

    def _error(self, n: int, one: Directive) -> None:
        if self.reads and (not self.opened or self.opened[-1].matters):
            self.failed = True

    def _is_host_code(self, one: Directive) -> bool:
        """Whether a condition holds functions of the host alone: nvcc compiles a file for it, too."""
        if unless(one) != predefined.ARCHITECTURE or one.following >= 0 or one.end < 0:
            return False
        code = self.code[one.past : self.text.directives[one.end].start]
        return any(is_function(code, piece) for piece in pieces(code))

    def _freeze(self, opened: _Open, n: int) -> None:
        """Leave a condition out that nobody decides: every branch's macros are doubtful."""
        if not self.known.asked_frozen:
            return
        self.known.asked_frozen = False
        if opened.frozen < 0:
            opened.frozen = self.length
            first = self.text.directives[n]
            for one in self.text.directives[n : first.end if first.end >= 0 else len(self.text.directives)]:
                if one.name in ("define", "undef") and one.rest:
                    self.known.doubtful.add(one.rest[0].text)

    def _turn(self, n: int, one: Directive) -> None:
        if not self.opened:
            return
        top = self.opened[-1]
        if top.taken:
            top.reads = False
            return
        top.reads = True  # so far: what is outside it is read
        self.known.matters = top.matters
        if one.name == "else":
            truth = True
        else:
            truth = self.known.truth("if" if one.name == "elif" else one.name.removeprefix("el"), one.rest)
        top.reads = top.taken = truth
        if self.known.asked_frozen:
            self._freeze(top, top.at)

    def _close(self, n: int, one: Directive) -> None:
        if not self.opened:
            return
        top = self.opened.pop()
        if top.frozen >= 0:
            first = self.text.directives[top.at].start
            self.lost.append(Lost(top.frozen, self.length, self._declared(top.at)))
            line, span = self._line(first), self._original(first, one.past)
            if len(self.lost) <= MOST_TOLD:
                what = f"Line {line}: more conditions than are told apart are undecided; {_LEFT}"
                self.unread.append(Unread(what, span))
            self._write("\n", span[1] - 1, 1, False)

    def _declared(self, opened: int) -> frozenset[str]:
        """What every branch of a condition may declare or store into."""
        inside = self.text.directives[opened : self.text.directives[opened].end + 1]
        out: set[str] = set()
        for before, after in pairwise(inside):
            code = self.code[before.past : after.start]
            for piece in pieces(code):
                out |= declared(code, piece)
        return frozenset(out)

    # output ----------------------------------------------------------------------------------------------------------

    def _write(self, text: str, start: int, length: int, copied: bool) -> None:
        if text:
            self.starts.append(self.length)
            self.places.append((start, length, copied))
            self.out.append(text)
            self.length += len(text)

    def _copy(self, start: int, end: int) -> None:
        """A stretch of the text whose lines are joined."""
        for first, past in self.text.joined.stretches(start, end):
            self._write(self.code[first:past], self.text.joined.original(first), past - first, True)

    def _code(self, start: int, end: int) -> None:
        """A stretch of code, its macros expanded."""
        words = set(_WORD.findall(self.code, start, end))
        if words.isdisjoint(self.known.macros) and words.isdisjoint(_BUILTIN) and words.isdisjoint(self.known.doubtful):
            self._copy(start, end)
            return
        covered = self.text.covered
        n = self.text.inside(start + 1)
        copied = at = start
        while (found := _WORD.search(self.code, at, end)) is not None:
            at = found.end()
            while n < len(covered) and covered[n][1] <= found.start():
                n += 1
            if n < len(covered) and covered[n][0] <= found.start():
                at = covered[n][1]
                continue
            name = found[0]
            if name not in self.known.macros and name not in _BUILTIN and name not in self.known.doubtful:
                continue
            past = self._use(name, found.start(), at=at, end=end, copied=copied)
            if past is not None:
                copied = at = past
        self._copy(copied, end)

    def _use(self, name: str, start: int, *, at: int, end: int, copied: int) -> int | None:
        """Write what a use of a macro becomes, after the text in front of it; where the use ends, None for no use."""
        self.known.expander.builtin = {"__LINE__": lambda: self._line_of(start), "__COUNTER__": self._counter}
        self.own.steps.begin()
        found = self._expanded(name, start, at, end)
        if found is None:
            return None
        made, past = found
        if made is not None and self.length + len(made) > len(self.code) + MOST_TEXT:
            made = None
        place = self._original(start, past)
        self._copy(copied, start)
        if made is None:
            self._give_up(name, start, past, place)
        else:
            self._write(self._apart(made, start, past), place[0], place[1] - place[0], False)
        return past

    def _expanded(self, name: str, start: int, at: int, end: int) -> tuple[str | None, int] | None:
        """(what a use of a macro becomes, where it ends); None for no use, None as text where that is not known."""
        past, broken = at, name in self.known.doubtful
        if not broken and self.uses.takes_arguments(name):
            opened = _OPEN.match(self.code, at, end)
            if opened is None:
                return None
            past, broken = self.uses.find_close(opened.end(), end)
        while not broken:
            try:
                found = self.known.expander.all_of(tokens(self.code[start:past]))
                last = found[-1] if found else None
                again = last is not None and last.kind == "name" and not last.painted
                goes_on = again and last is not None and self.uses.takes_arguments(last.text)
                opened = _OPEN.match(self.code, past, end) if goes_on else None
                if opened is None:
                    return spelled(found), past
                past, broken = self.uses.find_close(opened.end(), end)
            except TooLongError:
                broken = True
        return None, past

    def _apart(self, made: str, start: int, past: int) -> str:
        """What a use becomes, with blanks where it would make one token with what stands beside it."""
        before = self.code[start - 1] if start else " "
        after = self.code[past] if past < len(self.code) else " "
        left = " " if _meets(before, made[:1]) else ""
        right = " " if _meets(made[-1:], after) else ""
        return left + made + right

    def _line_of(self, at: int) -> Token:
        return Token(str(self._line(at)), "number")

    def _counter(self) -> Token:
        """__COUNTER__: a name of its own at every use, since headers that are not read count too."""
        self.counted += 1
        return Token(f"counter_{self.counted}", "name")

    def _give_up(self, name: str, start: int, past: int, place: Span) -> None:
        """Leave a use that is not expanded: as a name that nothing defines where it surely is an operand, else its
        declaration is left out.
        """
        line = self._line(start)
        operand = name not in self.known.doubtful and self.uses.is_operand(name, start, past)
        if len(self.unread) < MOST_TOLD:
            self.unread.append(Unread(f"Line {line}: the macro {name} takes too long to expand; {_LEFT}", place))
        if operand:
            self.counted += 1
            self._write(f" macro_of_line_{line}_{self.counted} ", place[0], place[1] - place[0], False)
        else:
            names = self.uses.reachable(set(_WORD.findall(self.code, start, past)), len(self.lost) > MOST_TOLD)
            self.lost.append(Lost(self.length, self.length + 1, names))
            self._write("\n" if "\n" in self.code[start:past] else " ", place[0], place[1] - place[0], False)


_BUILTIN = frozenset(("__LINE__", "__COUNTER__"))
_HANDLERS: dict[str, Callable[[_Run, int, Directive], None]] = {  # by the directive's name
    **dict.fromkeys(("if", "ifdef", "ifndef"), _Run._open),
    **dict.fromkeys(("else", "elif", "elifdef", "elifndef"), _Run._turn),
    "endif": _Run._close,
    "define": _Run._define,
    "undef": _Run._undefine,
    "pragma": _Run._pragma,
    "error": _Run._error,
}


def _meets(left: str, right: str) -> bool:
    """Whether two characters side by side may be one token's."""
    if not left or not right or left.isspace() or right.isspace():
        return False
    words = (left.isalnum() or left in "_$\"'", right.isalnum() or right in "_$\"'")
    if all(words):
        return True
    if any(words):
        return (left == "." and right.isdigit()) or (left.isdigit() and right in ".+-")
    return left in "+-<>=&|*/%^!:#." and right in "+-<>=&|*/:#.>"
