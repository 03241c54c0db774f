"""Random texts of macros and conditions, for gcc's preprocessor to judge."""

from __future__ import annotations

import random
from collections.abc import Iterator

NAMES = "AA BB CC DD EE FF GG".split()
PARAMETERS = "x y z".split()
WORDS = "a b1 3 0x1F + - * ( ) , \"s\" 'c' 1.5f << :: w".split()


def make_program(rng: random.Random, conditions: bool = False) -> str:
    """A text of definitions, conditions and uses."""
    out: list[str] = []
    kinds: dict[str, int] = {}
    for _ in range(rng.randint(2, 7)):
        out += _make_definition(rng, kinds)
        if rng.random() < 0.5:
            out.append(_make_use(rng, kinds, 3))
        if conditions and rng.random() < 0.6:
            out += _make_condition(rng, kinds, 2)
    out += [_make_use(rng, kinds, 4) for _ in range(3)]
    return "\n".join(out) + "\n"


def _make_balanced(words: list[str]) -> list[str]:
    depth, out = 0, []
    for word in words:
        if word == ")" and not depth:
            continue
        depth += (word == "(") - (word == ")")
        out.append(word)
    return out + [")"] * depth


def _make_definition(rng: random.Random, kinds: dict[str, int]) -> list[str]:
    name = rng.choice(NAMES)
    out = [f"#undef {name}"]
    count = rng.randint(-1, 3)
    variadic = count >= 0 and rng.random() < 0.3
    own = PARAMETERS[: max(count, 0)]
    rest = rng.choice(["...", "r..."]) if variadic else ""
    named = ("__VA_ARGS__" if rest == "..." else "r") if variadic else ""
    words = _make_body(rng, own, named, count >= 0)
    head = "" if count < 0 else "(" + rng.choice([",", ", "]).join([*own, *([rest] if rest else [])]) + ")"
    if rng.random() < 0.1:
        words = " \\\n".join(words.split(" ", 1))
    kinds[name] = -1 if count < 0 else len(own) + (10 if variadic else 0)
    return [*out, f"#define {name}{head} {words}"]


def _make_body(rng: random.Random, own: list[str], rest: str, takes: bool) -> str:
    words: list[str] = []
    usable = [*own, *([rest] if rest else [])]
    for _ in range(rng.randint(0, 6)):
        kind = rng.random()
        if kind < 0.35 and usable:
            words.append(rng.choice(usable))
        elif kind < 0.45 and usable and takes:
            words.append("#" + rng.choice(["", " "]) + rng.choice(usable))
        elif kind < 0.6 and usable:
            words.append(f"{rng.choice([*usable, 'p', 'AA', 'BB'])} ## {rng.choice([*own, 'q', '7'])}")
        elif kind < 0.7 and rest:
            words.append(f", ## {rest}")
        elif kind < 0.78 and rest:
            words.append(f"__VA_OPT__( {rng.choice(['o', ',', 'AA', rest])} ) k")
        elif kind < 0.9:
            words.append(rng.choice(NAMES) + rng.choice(["", "", "(x)" if "x" in own else "(1)", " (2, 3)"]))
        else:
            words.append(rng.choice(WORDS))
    return " ".join(_make_balanced(" ".join(words).replace("(", " ( ").replace(")", " ) ").split(" ")))


def _make_use(rng: random.Random, kinds: dict[str, int], deep: int) -> str:
    return " ".join(_make_part(rng, kinds, deep) for _ in range(rng.randint(1, 4))) + " ;"


def _make_part(rng: random.Random, kinds: dict[str, int], deep: int) -> str:
    name = rng.choice([*NAMES, "w", "k"])
    if deep == 0 or rng.random() < 0.2:
        return rng.choice([name, "1", "v", "a+b", '"t\\"u"', "/* AA */", "'\\''"])
    count = kinds.get(name, -1)
    if count < 0:
        return name + rng.choice(["", " (1)", " + 1"])
    most = rng.randint(count - 10, count - 7) if count >= 10 else count
    given = [_make_part(rng, kinds, deep - 1) if rng.random() < 0.8 else "" for _ in range(max(most, 0))]
    return f"{name}{rng.choice(['', ' ', chr(10)])}({','.join(given)})"


def _make_condition(rng: random.Random, kinds: dict[str, int], deep: int) -> list[str]:
    name = rng.choice(NAMES)
    opening = rng.choice(
        [
            f"#ifdef {name}",
            f"#ifndef {name}",
            f"#if defined({name})",
            f"#if {make_expression(rng, 3)}",
            f"#if !defined {name} || {make_expression(rng, 2)}",
        ]
    )
    out = [opening, _make_use(rng, kinds, 2)]
    if deep and rng.random() < 0.4:
        out += _make_condition(rng, kinds, deep - 1)
    if rng.random() < 0.4:
        out += [f"#elif {make_expression(rng, 3)}", _make_use(rng, kinds, 2)]
    if rng.random() < 0.6:
        out += ["#else", _make_use(rng, kinds, 2)]
    return [*out, "#endif"]


def make_expression(rng: random.Random, deep: int) -> str:
    """An integer expression that #if takes and C++ defines."""
    if not deep or rng.random() < 0.2:
        return rng.choice(
            "0 1 2 7 0xFF 3u 9223372036854775807 0xFFFFFFFFFFFFFFFF 1'000 'a' true false 0b11 017 UU 5ull".split()
        )
    kind = rng.random()
    left, right = make_expression(rng, deep - 1), make_expression(rng, deep - 1)
    if kind < 0.15:
        return f"{rng.choice(['!', '~', '-', '+'])}({left})"
    if kind < 0.25:
        return f"({left} ? {right} : {make_expression(rng, deep - 1)})"
    if kind < 0.4:
        return f"({left} {rng.choice(['<<', '>>'])} {rng.randint(0, 9)})"
    if kind < 0.5:
        return f"({left} {rng.choice('/%')} {rng.choice(['3', '7u', '(-2)'])})"
    return f"({left} {rng.choice('+ - * | & ^ == != < > <= >= && ||'.split())} {right})"


def make_programs(count: int, seed: int, conditions: bool = False) -> Iterator[str]:
    """So many texts."""
    for n in range(count):
        yield make_program(random.Random(f"{seed} {n}"), conditions)
