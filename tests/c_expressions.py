"""Random C++ expressions over every integer type, and what g++ makes of them: values, types, undefined behaviour.

`python -m tests.c_expressions COUNT [SEED]` compares so many of each kind with the module, the reader of single
expressions and the reader of code, and prints what differs.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lanescope.cxx import integers as c_integers
from lanescope.cxx.expression import evaluate_constant
from lanescope.cxx.integers import ULONG, IntegerType
from lanescope.errors import LayoutError
from lanescope.reader.code.calling.call_frames import CallFrame
from lanescope.reader.code.calling.overloads import OverloadCandidate
from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.naming.scopes import NameScope
from lanescope.reader.code.preprocessing.preprocessor import prepare_source
from lanescope.reader.code.running.statement_run import BUDGET
from lanescope.reader.code.symbolic_integers import LinearExpression, SymbolicInt, convert_int, get_exact_linear
from lanescope.reader.code.syntax import cxx, tree
from tests import cpp

NAMES = (
    "bool",
    "char",
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned",
    "long",
    "unsigned long",
    "long long",
    "unsigned long long",
    "int8_t",
    "uint8_t",
    "uint16_t",
    "int32_t",
    "uint32_t",
    "int64_t",
    "uint64_t",
    "size_t",
    "wchar_t",
    "char16_t",
    "char32_t",
)
LITERALS = (
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "31",
    "64",
    "255",
    "1024",
    "65535",
    "0x7FFFFFFF",
    "2147483648",
    "0x80000000",
    "0xFFFFFFFF",
    "4294967296",
    "0x3FFFF",
    "0x3FFF",
    "0x7FFFFFFFFFFFFFFF",
    "0x8000000000000000",
    "1u",
    "3u",
    "16u",
    "0xF0u",
    "1l",
    "3ul",
    "64ll",
    "1ull",
    "0x3FFFull",
    "0b1011",
    "010",
    "1'000",
    "true",
    "false",
    "'a'",
    "'\\n'",
    "'\\x41'",
    "'\\0'",
    "5LLU",
    "2lu",
)
BINARY = ("+", "-", "*", "/", "%", "&", "|", "^", "==", "!=", "<", ">", "<=", ">=", "&&", "||", "<<", ">>")
# parameters of functions: name → type
PARAMETERS = {
    "p": "int",
    "q": "unsigned",
    "r": "uint64_t",
    "s": "long long",
    "t": "short",
    "u": "uint8_t",
    "v": "bool",
    "w": "int64_t",
}
EDGES = (
    0,
    1,
    2,
    3,
    5,
    15,
    16,
    31,
    64,
    255,
    4096,
    0x12340,
    0x3FFF0,
    0x7FFFFFFF,
    -1,
    -2,
    -16,
    -4097,
    1 << 31,
    1 << 40,
    (1 << 63) - 1,
    -(1 << 63),
)


@dataclass(frozen=True)
class TypedExpression:
    """One expression: `text` as the readers get it, `live` with every literal hidden from the compiler's folding."""

    text: str
    live: str


class ExpressionMaker:
    """Random expressions; operands: names of parameters, () for constants only."""

    def __init__(self, seed: int, operands: Sequence[str] = (), characters: bool = True) -> None:
        self.pick = random.Random(seed)
        self.operands = operands
        self.literals = [one for one in LITERALS if characters or ("\\" not in one and not one.startswith("'"))]

    def make_expression(self, depth: int) -> TypedExpression:
        pick = self.pick
        if not depth or pick.random() < 0.08:
            return self._make_leaf()
        if self.operands and pick.random() < 0.2:
            return self._make_field()
        form = pick.randrange(12)
        if form < 6:
            op = pick.choice(BINARY)
            left, right = self.make_expression(depth - 1), self.make_expression(depth - 1)
            if op in ("<<", ">>") and pick.random() < 0.8:
                count = str(pick.choice((0, 1, 2, 4, 5, 8, 13, 16, 31)))
                right = TypedExpression(count, f"L({count})")
            return TypedExpression(f"({left.text} {op} {right.text})", f"({left.live} {op} {right.live})")
        if form == 6:
            mask = pick.choice(("0xFF", "0x3FFFF", "15", "0x3FFFu", "0xFFFF0000", "-16", "~7", "1"))
            inner = self.make_expression(depth - 1)
            return TypedExpression(f"({inner.text} & {mask})", f"({inner.live} & {mask})")
        if form in (7, 8):
            kind, inner = pick.choice(NAMES), self.make_expression(depth - 1)
            form_ = pick.choice(("({}){}", "static_cast<{}>({})"))
            return TypedExpression(form_.format(kind, inner.text), form_.format(kind, inner.live))
        if form == 9:
            op, inner = pick.choice("-~!+"), self.make_expression(depth - 1)
            return TypedExpression(
                f"({op}{inner.text})".replace("--", "- -").replace("++", "+ +"),
                f"({op}{inner.live})".replace("--", "- -").replace("++", "+ +"),
            )
        if form == 10:
            a, b, c = (self.make_expression(depth - 1) for _ in range(3))
            return TypedExpression(f"({a.text} ? {b.text} : {c.text})", f"({a.live} ? {b.live} : {c.live})")
        return self._make_leaf()

    def _make_field(self) -> TypedExpression:
        """A value cut and moved to a place of a word, as descriptors are put together."""
        pick = self.pick
        kind = pick.choice(("uint64_t", "uint32_t", "int", "long long", "uint64_t"))
        name, mask = pick.choice(list(self.operands)), pick.choice(("0x3FFFF", "0x3FFF", "0xFF", "7", "0x3FF0", "-16"))
        inner = pick.choice(("{0} & {1}", "({0} & {1}) >> 4", "({0} >> 4) & {1}", "{0} >> 4", "({0} + 32) & {1}"))
        text = f"(({kind})({inner.format(name, mask)}) << {pick.choice((0, 0, 4, 8, 16, 32 if '64' in kind else 13))})"
        if pick.random() < 0.5:
            op, more = pick.choice("+|^-"), pick.choice(("2", "0x10000", "1ull << 62", "64", "1", "p", "q", "r"))
            text = f"({text} {op} ({more}))"
        return TypedExpression(text, text)

    def _make_leaf(self) -> TypedExpression:
        if self.operands and self.pick.random() < 0.6:
            name = self.pick.choice(list(self.operands))
            return TypedExpression(name, name)
        if self.pick.random() < 0.06:
            kind = self.pick.choice(NAMES)
            return TypedExpression(f"sizeof({kind})", f"sizeof({kind})")
        one = self.pick.choice(self.literals)
        return TypedExpression(one, f"L({one})")


# A trap of the sanitizer ends one evaluation; CODE is a type's identity, RESULT its bits widened by its sign.
HEAD = r"""
#include <cstdint>
#include <cstdio>
#include <csetjmp>
#include <csignal>
#include <cstddef>
template <class T> [[gnu::noinline]] T L(T x) { asm volatile("" : "+m"(x)); return x; }
static sigjmp_buf here;
static void trapped(int) { siglongjmp(here, 1); }
template <class T> struct Code;
#define TYPE(n, ...) template <> struct Code<__VA_ARGS__> { static constexpr int value = n; };
TYPES
template <class F> void tell(F one) {
  if (sigsetjmp(here, 1)) { std::puts("-"); return; }
  auto x = one();
  std::printf("%d %llx\n", Code<decltype(x)>::value, (unsigned long long)x);
}
"""
_CODES = "\n".join(f"TYPE({n}, {kind.name})" for n, kind in enumerate(c_integers.TYPES) if "__int128" not in kind.name)


def render_program(bodies: Sequence[str], functions: str = "") -> str:
    """A program that evaluates each body, and prints its type's number and its 64 bits, or - where it is undefined."""
    chunks = [bodies[n : n + 200] for n in range(0, len(bodies), 200)]
    texts = ["static void part{}() {{\n{}\n}}".format(n, "\n".join(chunk)) for n, chunk in enumerate(chunks)]
    calls = " ".join(f"part{n}();" for n in range(len(chunks)))
    main = f"int main() {{ std::signal(SIGILL, trapped); {calls} }}"
    return HEAD.replace("TYPES", _CODES) + functions + "\n".join(texts) + "\n" + main + "\n"


Answer = tuple[IntegerType, int] | None  # type and 64 bits; None where C++ leaves it undefined


def compile_and_run(bodies: Sequence[str], functions: str = "") -> list[Answer]:
    """What g++ makes of each body."""
    options = ("-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
    told = cpp.build_and_run(render_program(bodies, functions), options=options).decode().split("\n")
    out: list[Answer] = []
    for line in told[: len(bodies)]:
        code, _, bits = line.partition(" ")
        out.append((c_integers.TYPES[int(code)], int(bits, 16)) if code != "-" else None)
    return out


# constants ------------------------------------------------------------------------------------------------------------


def parse_as_code(text: str) -> SymbolicInt | None:
    """What the reader of code makes of a constant expression, or of a function's first return: its symbolic integer."""
    source = text if "{" in text else f"auto f() {{ return {text}; }}"
    body = cxx.parse_cxx(prepare_source(source))
    machine = Evaluator(source, BUDGET * 20)
    machine.frames.append(CallFrame("", (0, len(source))))
    scope = NameScope()
    for one in body:
        machine.define(one, scope)
    function = next(one for one in body if isinstance(one, tree.Function))
    inner = machine.bind_parameters(scope.names["f"], OverloadCandidate(function, (), {}), [], {}, symbolic=True)
    machine.enter_function("f", function.span, entry=True)
    left = machine.run_body(function, inner)
    return left.value if left is not None and isinstance(left.value, SymbolicInt) else None


def make_constants(count: int, seed: int) -> Iterator[tuple[TypedExpression, Answer]]:
    """So many constant expressions with what g++ makes of them."""
    maker = ExpressionMaker(seed, characters=False)
    shapes = [maker.make_expression(maker.pick.randrange(1, 5)) for _ in range(count)]
    yield from zip(shapes, compile_and_run([f"tell([] {{ return {one.live}; }});" for one in shapes]), strict=True)


def find_wrong_constants(count: int, seed: int) -> list[str]:
    """Every constant expression that a reader gives another value or type than g++."""
    out = []
    for shape, answer in make_constants(count, seed):
        if answer is None:
            continue
        kind, bits = answer
        try:
            said = evaluate_constant(shape.text)
        except LayoutError as error:
            out.append(f"expression refuses {shape.text}: {error.message}")
        else:
            if (said.word, said.type) != (bits, kind.name):
                out.append(f"expression: {shape.text} = {said.word:#x} {said.type}, g++ {bits:#x} {kind.name}")
        made = parse_as_code(shape.text)
        if made is None or made.known is None:
            out.append(f"code does not know {shape.text}: {made}")
        elif (made.known & (1 << 64) - 1, made.type) != (bits, kind):
            out.append(f"code: {shape.text} = {made.known:#x} {made.type.name}, g++ {bits:#x} {kind.name}")
    return out


# symbols --------------------------------------------------------------------------------------------------------------


def list_claims(made: SymbolicInt, values: dict[str, int]) -> list[tuple[int, int, str]]:
    """(mask, bits, why) of everything that a symbolic integer says of its value for these values of its symbols."""
    mask = (1 << made.type.bits) - 1
    open_ = 0
    for piece in made.pieces:
        open_ |= piece.mask
    surely = made.const & mask
    out = [(~open_ & mask | surely, surely, "known bits")]
    told, hidden = surely, 0
    for piece in made.pieces:
        line = evaluate_linear(piece.source, values)
        if line is None:
            hidden |= piece.mask
        else:
            told |= (line >> piece.shift & (1 << piece.width) - 1) << piece.low
    out.append((~hidden & made.type.mask & mask, told, "pieces"))
    whole = get_exact_linear(made)
    if whole is not None and (line := evaluate_linear(whole, values)) is not None:
        out.append((mask, line & mask, "exact"))
        if not made.type.can_hold(line):
            out.append((mask, ~line & mask, "exact beyond the type"))
    return [(m, bits & m, why) for m, bits, why in out]


def evaluate_linear(line: LinearExpression, values: dict[str, int]) -> int | None:
    """A linear expression's value; None where it has another symbol than these."""
    if any(name not in values for name, _ in line.terms):
        return None
    return line.const + sum(factor * values[name] for name, factor in line.terms)


def is_premise_met(made: SymbolicInt, values: dict[str, int]) -> bool:
    """Whether what a symbolic integer rests on is so for these values; it is not asked where that cannot be told."""
    for one in made.assumed:
        line = evaluate_linear(one.source, values)
        low, high = (-1 << one.bits - 1, 1 << one.bits - 1) if one.signed else (0, 1 << one.bits)
        if line is None or not low <= line < high:
            return False
    return True


@dataclass
class Tally:
    """wrong: what is said and is not so; known and bits: shares of the results' bits."""

    wrong: list[str]
    asked: int = 0
    known: int = 0
    bits: int = 0
    resting: int = 0


def find_wrong_claims(count: int, seed: int, each: int = 12) -> Tally:
    """Every claim of the reader of code about an expression of parameters that is not true for some of their values."""
    maker = ExpressionMaker(seed, tuple(PARAMETERS))
    pick = maker.pick
    shapes = [maker.make_expression(pick.randrange(1, 5)) for _ in range(count)]
    listed = ", ".join(f"{kind} {name}" for name, kind in PARAMETERS.items())
    functions = "\n".join(f"static auto f{n}({listed}) {{ return {one.live}; }}" for n, one in enumerate(shapes))
    given = []
    bodies = []
    for n in range(count):
        for _ in range(each):
            values = {name: _pick_value(pick, kind) for name, kind in PARAMETERS.items()}
            given.append((n, values))
            sent = ", ".join(
                f"({kind}){values[name]:#x}ull" if values[name] >= 0 else f"({kind})-{-values[name]:#x}ull"
                for name, kind in PARAMETERS.items()
            )
            bodies.append(f"tell([] {{ return f{n}({sent}); }});")
    answers = compile_and_run(bodies, functions)
    tally = Tally([])
    made = {n: parse_as_code(f"auto f({listed}) {{ return {one.text}; }}") for n, one in enumerate(shapes)}
    for (n, values), answer in zip(given, answers, strict=True):
        own = made[n]
        if answer is None or own is None:
            continue
        kind, bits = answer
        if own.type != kind:
            tally.wrong.append(f"{shapes[n].text}: type {own.type.name}, g++ {kind.name}")
        if not is_premise_met(own, values):
            tally.resting += 1
            continue
        tally.asked += 1
        tally.bits += 64 + own.type.bits
        every = [
            *list_claims(own, values),
            *list_claims(convert_int(own, ULONG), values),
        ]  # as it is, and put into a uint64_t
        for mask, told, why in every:
            tally.known += bin(mask).count("1") if why == "pieces" else 0
            if bits & mask != told:
                tally.wrong.append(
                    f"{shapes[n].text} with {values}: {why} {told:#x} of {mask:#x}, g++ {bits:#x}; {own!r}"
                )
    return tally


def _pick_value(pick: random.Random, kind: str) -> int:
    """A value of a type, often one at its edge."""
    found = c_integers.find_integer_type(kind)
    assert found is not None
    raw = pick.choice(EDGES) if pick.random() < 0.7 else pick.getrandbits(64) >> pick.randrange(64)
    return found.wrap(raw)


def main(count: int, seed: int) -> int:
    failed = 0
    for start in range(0, count, 2000):
        part = min(2000, count - start)
        wrong = find_wrong_constants(part, seed + start)
        tally = find_wrong_claims(part, seed + start + 1)
        failed += len(wrong) + len(tally.wrong)
        print(
            f"{start + part}: {len(wrong)} + {len(tally.wrong)} differ; asked {tally.asked}, resting {tally.resting},"
            f" {100 * tally.known / max(tally.bits, 1):.1f} % of the bits told"
        )
        print("\n".join(dict.fromkeys(line[:700] for line in (*wrong[:8], *tally.wrong[:8]))), flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(bool(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)))
