"""What C's preprocessor does to a text: lines joined, macros expanded, conditions decided, attributes of compilers
blanked; each character of the result keeps its place in the pasted text. Source: C++17, [cpp].
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from lanescope.deadline import reading_at
from lanescope.reader.code import attributes, conditions, predefined
from lanescope.reader.code.brackets import bare
from lanescope.reader.code.conditions import BadError, Node, Value
from lanescope.reader.code.directives import Directive, Text, read, unless
from lanescope.reader.code.lexing import Token, tokens, wholes
from lanescope.reader.code.macros import MOST_STEPS, Expander, Macro, Steps, TooLongError, define, spelled
from lanescope.reader.code.predefined import Presumed
from lanescope.reader.code.source import Prepared, Source, Unread
from lanescope.reader.code.topmost import Lost, declared, is_function, pieces, without
from lanescope.reader.code.word import Span

MOST_TEXT = 1 << 17  # characters that expansion may add to a text
MOST_SPAN = 20_000  # characters of one use of a macro
MOST_TOLD = 8  # places of a text that are not read
_LEFT = "what depends on it is left open."
# a comment that begins or ends over a line that is continued
_SPLIT = re.compile(r"([*/])((?:\\[ \t]*\n)+)([*/])")
_WORD = re.compile(r"\.?\d(?:[eEpP][+-]|'\w|[\w.])*|[A-Za-z_$][\w$]*")
_OPEN = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*+\(", re.S)
_BRACKET = re.compile(r"[()]")
_STORES = frozenset("= += -= *= /= %= <<= >>= &= |= ^= ++ -- ; { } # asm new delete throw".split())
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
        self.decisions = decisions
        self.chosen = chosen
        self.macros: dict[str, Macro] = dict(own.given)
        self.undefined = set(own.undefined)
        self.pushed: dict[str, list[tuple[Macro | None, bool]]] = {}
        self.doubtful: set[str] = set()  # macros that a condition which is left out defines
        self.expander = Expander(self.macros, own.steps)
        self.out: list[str] = []
        self.length = 0
        self.starts: list[int] = []
        self.places: list[tuple[int, int, bool]] = []
        self.met: dict[str, None] = {}
        self.failed = False
        self.presumed: dict[str, Presumed] = {}
        self.unread: list[Unread] = []
        self.lost: list[Lost] = []  # stretches of the output that are not what C++ makes of the text
        self.opened: list[_Open] = []
        self.asked_frozen = False
        self.named: frozenset[str] | None = None  # names in the macros' replacements
        self.matters = True
        self.at = 0  # of the directive that is read
        self.counted = 0  # uses of __COUNTER__, of macros that are not expanded

    def made(self) -> Prepared:
        with reading_at(lambda: self.text.joined.original(self.at)):
            return self._made()

    def _made(self) -> Prepared:
        start = 0
        directives = self.text.directives
        for n, one in enumerate(directives):
            if self.reads:
                self._code(start, one.start, n)
            start = one.past
            self.at = one.start
            self._directive(n, one)
        if self.reads:
            self._code(start, len(self.code), len(directives))
        for top in self.opened:  # a condition that is not closed
            if top.frozen >= 0:
                self.lost.append(Lost(top.frozen, self.length, frozenset(_WORD.findall(self.code))))
        text = attributes.blank("".join(self.out), self.text.attributes)
        blanked: list[Span] = []
        if self.lost:
            text, blanked = without(text, self.lost)
        source = Source(bare(text), tuple(self.starts), tuple(self.places))
        lost = tuple(source.original(start, end) for start, end in blanked)
        return Prepared(source, tuple(self.met), self.failed, tuple(self.presumed.values()), tuple(self.unread), lost)

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

    def _directive(self, n: int, one: Directive) -> None:
        match one.name:
            case "if" | "ifdef" | "ifndef":
                self._open(n, one)
            case "else" | "elif" | "elifdef" | "elifndef" if self.opened:
                self._turn(one)
            case "endif" if self.opened:
                self._close(one)
            case "define" if self.reads and (found := define(one.rest)) is not None:
                name, macro = found
                self.macros[name] = macro
                self.undefined.discard(name)
                self.doubtful.discard(name)
                if self._leaves_out:
                    self.doubtful.add(name)
            case "undef" if self.reads and one.rest:
                self.macros.pop(one.rest[0].text, None)
                self.undefined.add(one.rest[0].text)
                self.doubtful.discard(one.rest[0].text)
                if self._leaves_out:
                    self.doubtful.add(one.rest[0].text)
            case "pragma" if self.reads and len(one.rest) > 2 and one.rest[0].text in ("push_macro", "pop_macro"):
                self._keep_macro(one.rest[2].text.strip('"'), one.rest[0].text == "push_macro")
            case "error" if self.reads and (not self.opened or self.opened[-1].matters):
                self.failed = True

    def _keep_macro(self, name: str, push: bool) -> None:
        """Keep a macro's definition, or bring the one back that was kept last."""
        if push:
            self.pushed.setdefault(name, []).append((self.macros.get(name), name in self.undefined))
        elif self.pushed.get(name):
            macro, undefined = self.pushed[name].pop()
            self.macros.pop(name, None)
            self.undefined.discard(name)
            if macro is not None:
                self.macros[name] = macro
            elif undefined:
                self.undefined.add(name)

    @property
    def _leaves_out(self) -> bool:
        return any(one.frozen >= 0 for one in self.opened)

    def _open(self, n: int, one: Directive) -> None:
        if not self.reads:
            self.opened.append(_Open(False, True, False))
            return
        self.matters = self.text.matters(n) and not one.guard
        truth = self._is_host_code(one) or self._truth(one.name, one.rest)
        made = _Open(truth, truth, self.matters, at=n)
        self.opened.append(made)
        self._freeze(made, n)

    def _is_host_code(self, one: Directive) -> bool:
        """Whether a condition holds functions of the host alone: nvcc compiles a file for it, too."""
        if unless(one) != predefined.ARCHITECTURE or one.following >= 0 or one.end < 0:
            return False
        code = self.code[one.past : self.text.directives[one.end].start]
        return any(is_function(code, piece) for piece in pieces(code))

    def _freeze(self, opened: _Open, n: int) -> None:
        """Leave a condition out that nobody decides: every branch's macros are doubtful."""
        if not self.asked_frozen:
            return
        self.asked_frozen = False
        if opened.frozen < 0:
            opened.frozen = self.length
            first = self.text.directives[n]
            for one in self.text.directives[n : first.end if first.end >= 0 else len(self.text.directives)]:
                if one.name in ("define", "undef") and one.rest:
                    self.doubtful.add(one.rest[0].text)

    def _turn(self, one: Directive) -> None:
        top = self.opened[-1]
        if top.taken:
            top.reads = False
            return
        top.reads = True  # so far: what is outside it is read
        self.matters = top.matters
        if one.name == "else":
            truth = True
        else:
            truth = self._truth("if" if one.name == "elif" else one.name.removeprefix("el"), one.rest)
        top.reads = top.taken = truth
        if self.asked_frozen:
            self._freeze(top, top.at)

    def _close(self, one: Directive) -> None:
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

    # conditions ------------------------------------------------------------------------------------------------------

    def _truth(self, name: str, rest: list[Token]) -> bool:
        if name in ("ifdef", "ifndef"):
            if not rest or rest[0].kind != "name":
                return False
            return self._is_defined(rest[0].text) == (name == "ifdef")
        try:
            node = conditions.parse(self._read(rest))
            return conditions.holds(node, self._named, self._asked)
        except (BadError, TooLongError):
            asked = Node("asked", (), " ".join(token.text for token in rest) or "#if")
            return self._decided(conditions.spelling(asked))

    def _read(self, rest: list[Token]) -> list[Token]:
        """A condition's tokens: what asks for a name is one token each, macros are expanded."""
        self.own.steps.begin()
        made = self._asking(rest)
        made = self.expander.all_of(made)
        return self._asking(made)

    def _asking(self, given: list[Token]) -> list[Token]:
        out: list[Token] = []
        at = 0
        while at < len(given):
            token = given[at]
            words = [one.text for one in given[at + 1 : at + 4]]
            if token.text == "defined" and token.kind == "name" and words:
                bracket = words[0] == "("
                if bracket and (len(words) < 3 or words[2] != ")"):
                    raise BadError
                out.append(Token(f"defined({words[1] if bracket else words[0]})", "defined"))
                at += 4 if bracket else 2
            elif conditions.asks(token) and words[:1] == ["("]:
                past = next((n for n in range(at, len(given)) if given[n].text == ")"), len(given) - 1)
                out.append(Token("".join(one.text for one in given[at : past + 1]), "asked"))
                at = past + 1
            else:
                out.append(token)
                at += 1
        return out

    def _defined(self, name: str) -> bool | None:
        """Whether a macro is defined; None where that is unknown."""
        if name in self.doubtful:
            self.asked_frozen = True
            return name in self.macros
        if name in self.macros:
            return True
        if name in self.undefined:
            return False
        if name in predefined.UNDEFINED:
            self._presume(name, predefined.NOT_DEFINED, "this is code for nvcc")
            return False
        if name in predefined.DEFINED or name == predefined.ARCHITECTURE:
            found = predefined.number_of(name, self.own.arch)
            if found is not None:
                self._presume(name, predefined.spelled(name, found[0]), found[1])
            return True
        if name in self.text.defined and (not predefined.is_reserved(name) or not self.matters):
            if self.matters:
                self._presume(name, predefined.NOT_DEFINED, "the text defines it itself")
            return False
        if predefined.is_feature(name):
            self._presume(name, predefined.HAS, "the device that the text is for has it")
            return True
        if self.decisions.get(name):
            return True
        return None

    def _is_defined(self, name: str) -> bool:
        found = self._defined(name)
        return self._decided(f"defined({name})") if found is None else found

    def _named(self, name: str) -> Value | None:
        """The value of a name that is no macro of the text, or of `defined(name)`."""
        if name.startswith("defined("):
            defined = self._defined(name[8:-1])
            return None if defined is None else Value(int(defined))
        if name in self.doubtful:
            self.asked_frozen = True
            return Value(0)
        if name in self.macros:  # a function-like one without its brackets
            return Value(0)
        found = predefined.number_of(name, self.own.arch)
        if found is not None and name not in self.undefined:
            self._presume(name, predefined.spelled(name, found[0]), found[1])
            return found[0]
        if name == predefined.ARCHITECTURE or (predefined.is_feature(name) and name not in self.text.defined):
            return None
        if self._defined(name) is False or self.decisions.get(f"defined({name})") is False:
            return Value(0)
        return None

    def _asked(self, node: Node) -> bool:
        taken = predefined.by_feature(node, frozenset((predefined.ARCHITECTURE,)))
        if taken is not None:
            what = predefined.HAS if node.op == "name" else f"{node.op} {node.parts[1].text}"
            for name in sorted(conditions.names(node)):
                self._presume(name, what, "the device and the toolkit that the text is for have it")
            return taken
        return self._decided(conditions.spelling(node))

    def _decided(self, key: str) -> bool:
        if not self.matters:
            return self.decisions.get(key, False)
        if self.chosen is not None and key not in self.chosen:
            self.asked_frozen = True
            return False
        self.met[key] = None
        return self.decisions.get(key, False)

    def _presume(self, name: str, value: str, why: str) -> None:
        if self.matters:
            self.presumed.setdefault(name, Presumed(name, value, why, self.text.joined.original(self.at)))

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

    def _code(self, start: int, end: int, following: int) -> None:
        """A stretch of code, its macros expanded; following: the number of the directive behind it."""
        words = set(_WORD.findall(self.code, start, end))
        if words.isdisjoint(self.macros) and words.isdisjoint(_BUILTIN) and words.isdisjoint(self.doubtful):
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
            if name not in self.macros and name not in _BUILTIN and name not in self.doubtful:
                continue
            past = self._use(name, found.start(), at=at, end=end, following=following, copied=copied)
            if past is not None:
                copied = at = past
        self._copy(copied, end)

    def _use(self, name: str, start: int, *, at: int, end: int, following: int, copied: int) -> int | None:
        """Write what a use of a macro becomes, after the text in front of it; where the use ends, None for no use."""
        self.expander.builtin = {"__LINE__": lambda: self._line_of(start), "__COUNTER__": self._counter}
        self.own.steps.begin()
        macro = self.macros.get(name)
        past = at
        broken = name in self.doubtful
        if not broken and macro is not None and macro.parameters is not None:
            opened = _OPEN.match(self.code, at, end)
            if opened is None:
                return None
            past, broken = self._closed(opened.end(), end)
        made = None
        while not broken:
            try:
                found = self.expander.all_of(tokens(self.code[start:past]))
                last = found[-1] if found else None
                again = last is not None and last.kind == "name" and not last.painted and self._takes(last.text)
                opened = _OPEN.match(self.code, past, end) if again else None
                if opened is None:
                    made = spelled(found)
                    break
                past, broken = self._closed(opened.end(), end)
            except TooLongError:
                broken = True
        if made is not None and self.length + len(made) > len(self.code) + MOST_TEXT:
            made = None
        first, last_place = self._original(start, past)
        self._copy(copied, start)
        if made is None:
            self._give_up(name, start, past, (first, last_place))
        else:
            before = self.code[start - 1] if start else " "
            after = self.code[past] if past < len(self.code) else " "
            left = " " if _meets(before, made[:1]) else ""
            right = " " if _meets(made[-1:], after) else ""
            self._write(left + made + right, first, last_place - first, False)
        return past

    def _takes(self, name: str) -> bool:
        macro = self.macros.get(name)
        return macro is not None and macro.parameters is not None

    def _closed(self, at: int, end: int) -> tuple[int, bool]:
        """(where the bracket ends that was opened before a place, whether it does not or its end is too far)."""
        covered = self.text.covered
        n = self.text.inside(at + 1)
        depth, most = 1, min(end, at + MOST_SPAN)
        while (found := _BRACKET.search(self.code, at, most)) is not None:
            at = found.end()
            while n < len(covered) and covered[n][1] <= found.start():
                n += 1
            if n < len(covered) and covered[n][0] <= found.start():
                at = covered[n][1]
                continue
            depth += 1 if found[0] == "(" else -1
            if not depth:
                return at, False
        return most, True

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
        macro = self.macros.get(name)
        operand = name not in self.doubtful and macro is not None and self._is_operand(name, macro, start, past)
        if len(self.unread) < MOST_TOLD:
            self.unread.append(Unread(f"Line {line}: the macro {name} takes too long to expand; {_LEFT}", place))
        if operand:
            self.counted += 1
            self._write(f" macro_of_line_{line}_{self.counted} ", place[0], place[1] - place[0], False)
        else:
            names = self._reachable(set(_WORD.findall(self.code, start, past)), len(self.lost) > MOST_TOLD)
            self.lost.append(Lost(self.length, self.length + 1, names))
            self._write("\n" if "\n" in self.code[start:past] else " ", place[0], place[1] - place[0], False)

    def _is_operand(self, name: str, macro: Macro, start: int, past: int) -> bool:
        """Whether a macro's replacement stands in brackets of its own and cannot store anything."""
        if not self._in_brackets(macro):
            return False
        seen: set[str] = set()
        todo = [tokens(self.code[start:past])]
        while todo:
            given = todo.pop()
            for n, token in enumerate(given):
                after = given[n + 1].text if n + 1 < len(given) else ""
                before = given[n - 1] if n else None
                if token.text in _STORES or token.text == "##":
                    return False
                if token.text == "&" and (before is None or (before.kind == "op" and before.text not in ")]")):
                    return False
                if token.kind != "name":
                    continue
                if token.text in self.macros and token.text not in seen:
                    seen.add(token.text)
                    todo.append(list(self.macros[token.text].body))
                elif token.text not in self.macros and after in ("(", "["):
                    return False
        return True

    def _reachable(self, names: set[str], every: bool) -> frozenset[str]:
        """Names, and those that stand in what macros of these names are replaced by; every: of any name, which is not
        looked for anew.
        """
        if every and self.named is None:
            own = (token.text for macro in self.macros.values() for token in macro.body if token.kind == "name")
            self.named = frozenset(own)
        if every and self.named is not None:
            return self.named | names
        todo, out = set(names), set(names)
        while todo:
            macro = self.macros.get(todo.pop())
            more = {token.text for token in macro.body if token.kind == "name"} - out if macro else set()
            out |= more
            todo |= more
        return frozenset(out)

    def _in_brackets(self, macro: Macro) -> bool:
        """Whether a replacement is one pair of brackets and what is in it, or a use of a macro whose is."""
        for _ in range(len(self.macros) + 1):
            body = macro.body
            called = len(body) > 1 and body[0].kind == "name"
            depth = 0
            for n, token in enumerate(body[called:]):
                depth += (token.text == "(") - (token.text == ")")
                if not depth and n < len(body) - called - 1:
                    return False
            if not body or depth or body[-1].text != ")":
                return False
            if not called:
                return True
            following = self.macros.get(body[0].text)
            if following is None or following.parameters is None:
                return False
            macro = following
        return False


_BUILTIN = frozenset(("__LINE__", "__COUNTER__"))


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
