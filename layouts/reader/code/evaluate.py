"""One text, evaluated: what it defines is entered, its loose lines are run, then every function that nothing calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from layouts.reader.code import cxx, python, tree
from layouts.reader.code.expressions import BudgetError, Frame
from layouts.reader.code.finding import Assembled, Found, Made, Pitfall
from layouts.reader.code.known import PRELUDE
from layouts.reader.code.machine import Machine
from layouts.reader.code.preprocess import plain, prepare
from layouts.reader.code.values import Closure, Object, Scope, Template, Term
from layouts.reader.code.word import Span

BUDGET = 8_000  # steps of one text's evaluation
MOST_STEPS = 3_000  # of one function, so that a long one leaves some for the others
MOST_TEXT = 1 << 16
# Words without which a text builds neither a descriptor nor a tensor map.
CLUE = re.compile(
    r"desc|<<|\|=|bitfield|layout_type|start_address|byte_offset|(?<!nvgpu\.)tensor_?map|make_tma|tma_atom"
    r"|make_tensor_desc|swizzle|gmma"
    r"|umma|matrix_d|:\s?14\s?[,;]",
    re.I,
)
# Lines that are no code and that a parser would read into the code below them: bare PTX and SASS, atoms alone, CuTe's
# layouts, what a debugger and printf say.
_PRINTED = re.compile(
    r"^[ \t]*(?:(?:wgmma|mma|wmma|ldmatrix|stmatrix)\.[\w.:]+[^;\n\"]*;?|SM\d{2,3}_\w+(?:<[^;\n]{0,120}>)?"
    r"|\((?:cuda-)?gdb\)[^\n]*|\$\d{1,6} = [^;\n]*|(?:/\*\w{4,6}\*/[ \t]*)?(?:@!?U?P\w+ )?[A-Z]{1,3}MMA\.[^\n]*"
    r"|(?:[\w. \[\]()*]{1,40}[:=]? *)?(?:Sw|Swizzle|S)<\d[^;\n]*:[^;\n]*"
    r"|(?:[\w. ]{1,40}: *)?\([\d_,() ]{1,200}\):\([\d_,() ]{1,200}\)"
    r"|(?:[A-Za-z_][\w .\[\]]{0,40}[ :])?(?:0x[0-9a-fA-F]{9,16}[ \t,]{0,8})+)[ \t\r]*$",
    re.M,
)
_PRINT = re.compile(
    r"mma\.|matrix\.|^[ \t]*SM\d\d|gdb\)|^[ \t]*\$\d|MMA\.|S(?:w|wizzle)?<\d|\):\(|0x[0-9a-fA-F]{9}", re.M
)
_WORDS = re.compile(r"[A-Za-z_]\w*")
# behind a name that is called; kernel[grid](…) of Triton
_CALLED = r"\s{0,8}(?:<[^;{}()]{0,120}>\s{0,8}(?:::\w+\s{0,8})?)?(?:[({]|<<<|\[[^\]\n;]{1,80}\]\()"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of a text. unfinished: (function, where its name stands) of each that the budget did not suffice for,
    "" for the lines outside all.
    """

    found: tuple[Found, ...]
    made: tuple[Made, ...]
    warnings: tuple[Pitfall, ...]
    unfinished: tuple[tuple[str, Span], ...]
    python: bool
    assembled: tuple[Assembled, ...] = ()
    endless: frozenset[str] = frozenset()  # variables of loops whose end the text leaves open
    recast: frozenset[str] = frozenset()  # undeclared names that are cast to pointers to a type
    text: str = ""
    taken: tuple[str, ...] = ()  # functions without code that were taken as PTX's matrix-descriptor-encode
    widened: frozenset[str] = frozenset()  # undeclared names that are cast to an integer with a step added

    @property
    def complete(self) -> bool:
        """Whether the budget sufficed."""
        return not self.unfinished


@cache
def _prelude() -> tuple[tree.Statement, ...]:
    return cxx.read(plain(PRELUDE))


def is_python(text: str) -> bool:
    """Whether a text reads as Python rather than C++."""
    score = 0
    for pattern, weight in (
        (r"^\s*(?:def|class)\s+\w+[^;{]*:\s*(?:#.*)?$", 3), (r"^\s*(?:from\s+[\w.]+\s+)?import\s+[\w.]", 3),
        (r"^\s*(?:if|for|while|elif|else|with)\b[^;{]*:\s*(?:#.*)?$", 2), (r"^\s*#\s?[^\s!#]", 1), (r"\bself\.", 1),
        (r"^\s*@\w", 2), (r"\bNone\b|\bTrue\b|\bFalse\b|\bnot in\b", 1), (r"\w\s*=\s*\[[^;]*\]\s*$", 2),
        (r"\b\w+=[\[(]", 2), (r"\b(?:tl|torch|triton|gl|np|ctypes)\.", 2),
        (r"^\s*[\w.]+\s*(?:\||<<|\+)?=[^=;{]*[^;{},\s]\s*$", 1),
        (r";\s*(?://.*)?$", -2), (r"^\s*#\s*(?:include|define|if|ifdef|pragma|endif)\b", -4), (r"//|/\*", -1),
        (r"\b(?:uint\d+_t|__device__|constexpr|template|static_cast|reinterpret_cast|auto|void|unsigned)\b", -2),
        (r"^\s*[{}]\s*$|\{\s*$", -1), (r"::\w", -1), (r"\d(?:u?ll|ULL)\b", -2), (r"->", -1),
    ):  # fmt: skip
        score += weight * len(re.findall(pattern, text[:8192], re.M))
    return score > 0


@lru_cache(maxsize=4)
def evaluate(text: str, patience: int = 1, standard: tuple[tuple[str, str], ...] = ()) -> Evaluation | None:
    """What a text of C++ or Python builds; None where it has none of the words, or is no code that can be parsed.
    standard: functions without code, and the swizzle of the K-major tile whose descriptor each builds.

    patience: how many times as many steps it may take as a server grants one. The last few are kept: the reader, the
    workbench and `check` ask for the same text one after the other.
    """
    text = text[: MOST_TEXT * patience]
    if not CLUE.search(text):
        return None
    is_py = is_python(text)
    written = _without_printed(text)
    body = python.read(written) if is_py else cxx.read(prepare(written))
    if not body:
        return None
    machine = Machine(text, BUDGET * patience, is_py)
    machine.standard = dict(standard)
    unfinished: list[tuple[str, Span]] = []
    root = Scope()
    machine.frames.append(Frame("", (0, len(text))))
    try:
        for one in () if is_py else _prelude():
            machine.define(one, root)
        below = Scope(root)  # what loose lines use before the line that gives it
        scope = Scope(below, "function")
        for one in _given_later(body):
            below.names.setdefault(one.name, machine.later(one, scope))
        for one in body:
            machine.define(one, scope)
        for one in body:
            if not isinstance(one, tree.Function | tree.Struct | tree.Alias | tree.Enum):
                machine.execute(one, scope)
    except (BudgetError, RecursionError):
        unfinished.append(("", (0, 0)))
    entries = list(_entries(machine, body, text))
    for n, (function, owner) in enumerate(entries):
        if id(function) in machine.called:
            continue
        if machine.left <= 0:
            unfinished.append((function.name, _name_at(text, function)))
            break
        share = max(MOST_STEPS * patience, machine.left // (len(entries) - n))
        rest = max(machine.left - share, 0)
        machine.left -= rest
        try:
            _enter(machine, function, owner, scope)
        except (BudgetError, RecursionError):
            unfinished.append((function.name, _name_at(text, function)))
        finally:
            machine.left = max(machine.left, 0) + rest
            del machine.frames[1:]
            machine.loops.clear()
            machine.journal = None
            machine.nested = 0
    return Evaluation(
        tuple(machine.found), tuple(machine.made), tuple(machine.warned.values()), tuple(unfinished), is_py,
        tuple(machine.assembled), frozenset(machine.endless), frozenset(machine.recast), text,
        tuple(machine.taken), frozenset(machine.widened),
    )  # fmt: skip


def _name_at(text: str, function: tree.Function) -> Span:
    """Where a function's name stands."""
    at = text.find(function.name, *function.span)
    return (at, at + len(function.name)) if function.name and at >= 0 else (function.span[0], function.span[0])


def _without_printed(text: str) -> str:
    """A text with blanks for what is printed in it: only a line that has a part of such is looked at."""
    out: list[str] = []
    done = 0
    for hint in _PRINT.finditer(text):
        if hint.start() < done:
            continue
        first = text.rfind("\n", done, hint.start()) + 1 or done
        past = text.find("\n", first)
        past = len(text) if past < 0 else past + 1
        line = text[first:past]
        out += text[done:first], _PRINTED.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), line)
        done = past
    return "".join((*out, text[done:]))


def _given_later(body: tuple[tree.Statement, ...]) -> Iterator[tree.Declare]:
    """Loose lines that give a name a list of values or a layout: people paste them behind the call that takes them."""
    for one in body:
        if isinstance(one, tree.Declare) and one.name and one.type and one.type.dims:
            if isinstance(one.value, tree.Items):
                yield one
        elif isinstance(one, tree.Do) and isinstance(one.value, tree.Assign) and not one.value.op:
            target, value = one.value.target, one.value.value
            layout = isinstance(value, tree.Call) and "ayout" in "".join(_last(value.function))
            if isinstance(target, tree.Name) and len(target.path) == 1 and (layout or isinstance(value, tree.Items)):
                yield tree.Declare(None, target.last, value, span=one.span)


def _last(function: tree.Expression) -> tuple[str, ...]:
    """The names of a called function: NVMMASharedLayout.get_default_for."""
    if isinstance(function, tree.Member):
        return (*_last(function.value), function.name)
    return tuple(name for name, _ in function.path) if isinstance(function, tree.Name) else ()


def _enter(machine: Machine, function: tree.Function, owner: tree.Struct | None, scope: Scope) -> None:
    if owner is None:
        machine.entry(function, scope)
        return
    kind = machine.applied(Template(owner, scope, owner.templates), [])
    record = kind.record
    if function.name == owner.name:
        this: Object | Term = machine.instance(record, "")
        for name, values in function.starts:
            inner = machine.bound(Closure((function,), record.scope, this), function, [], {}, symbolic=True)
            if values:
                machine.store(machine.member(this, name, function.span), machine.value(values[0], inner), function.span)
    else:
        this = machine.instance(record, "this") if record.fields is None else Term("this", kind)
    machine.entry(function, record.scope, this)


def _entries(
    machine: Machine, body: tuple[tree.Statement, ...], text: str
) -> Iterator[tuple[tree.Function, tree.Struct | None]]:
    """Functions worth running by themselves, callers first: those with a clue, or that call one with a clue."""
    functions = list(_functions(body, None))
    words = {id(f): set(_WORDS.findall(text[f.span[0] : f.span[1]])) for f, _ in functions}
    wanted = {f.name for f, _ in functions if CLUE.search(text[f.span[0] : f.span[1]])}
    while True:
        more = {f.name for f, _ in functions if f.name not in wanted and words[id(f)] & wanted}
        if not more:
            break
        wanted |= more
    called: set[str] = set()
    for f, _ in functions:
        for name in (words[id(f)] & wanted) - {f.name} - called:
            if re.search(rf"\b{name}{_CALLED}", text[f.span[0] : f.span[1]]):
                called.add(name)
    chosen = [(f, owner) for f, owner in functions if f.name in wanted]
    yield from [(f, owner) for f, owner in chosen if f.name not in called]
    yield from [(f, owner) for f, owner in chosen if f.name in called]


def _functions(
    body: tuple[tree.Statement, ...], owner: tree.Struct | None
) -> Iterator[tuple[tree.Function, tree.Struct | None]]:
    for one in body:
        if isinstance(one, tree.Function):
            yield one, owner
        elif isinstance(one, tree.Struct):
            yield from _functions(one.members, one)
