"""Random programs whose #if depend on macros that they leave open, for g++ to run under every choice of them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path

SWITCHES = "UA UB UC UD UE".split()


def make_program(rng: random.Random) -> str:
    """A function `build` that gives `use` a word; which word it is the macros in SWITCHES decide, or do not."""
    count = rng.choice([1, 1, 2, 2, 3, 3, 4, 5])
    own = SWITCHES[:count]
    out = ["#ifndef TEXT_H", "#define TEXT_H"]
    for n in range(3):
        out += _make_conditional(rng, own, partial(_make_constant, rng, n), always=True)
    if rng.random() < 0.5:
        out += ["#ifndef BM", f"#define BM {rng.randint(1, 9)}", "#endif"]
    else:
        out += ["#define BM 3"]
    for n in range(2):
        name = f"helper{n}"
        first = f"  uint64_t a = x + {rng.choice(['N0', 'N1', '3'])};"
        body = [first, *_make_statements(rng, own, "a", 2, False), "  return a;"]
        out += [f"uint64_t {name}(uint64_t x) {{", *body, "}"]
    out += _make_conditional(rng, own, lambda: [f"constexpr uint64_t kOwn = {rng.randint(0, 99)};"], always=True)
    out += ["void build() {", "  uint64_t desc = BM;", "  uint64_t other = 1;"]
    out += _make_statements(rng, own, "desc", 4)
    out += _make_statements(rng, own, "other", 2)
    out += ["  desc |= (uint64_t)kOwn << 32;", "  use(desc, 0);", "  use(other, 1);"]
    out += _make_conditional(rng, own, lambda: ["  desc += helper1(N2);"])
    return "\n".join([*out, "  use(desc, 2);", "}", "#endif", ""])


def _make_constant(rng: random.Random, n: int) -> list[str]:
    return [f"#define N{n} {rng.randint(0, 9)}"]


def _make_statements(rng: random.Random, own: list[str], name: str, count: int, calls: bool = True) -> list[str]:
    out: list[str] = []
    for _ in range(count):
        one = f"  {name} {rng.choice(['+=', '|=', '=', '^='])} {_make_value(rng, calls)};"
        out += _make_conditional(rng, own, partial(list, [one])) if rng.random() < 0.5 else [one]
    return out


def _make_value(rng: random.Random, calls: bool) -> str:
    plain = [str(rng.randint(0, 200)), "N0", "N1", "(uint64_t)N2 << 16", "BM * 2ull", "(N0 + N1)"]
    return rng.choice([*plain, "helper0(N1)", "helper0(2)"] if calls else plain)


def _make_condition(rng: random.Random, own: list[str]) -> str:
    name, other = rng.choice(own), rng.choice(own)
    return rng.choice(
        [
            f"#ifdef {name}",
            f"#ifndef {name}",
            f"#if defined({name})",
            f"#if !defined {name}",
            f"#if {name}",
            f"#if {name} > 1",
            f"#if {name} <= 1",
            f"#if defined({name}) && {name} == 2",
            f"#if defined({name}) || {other}",
            f"#if defined({name}) != defined({other})",
            "#if __cplusplus >= 201703L",
            "#if __cplusplus > 201703L",
            "#if BM",
            "#if 1",
            f"#if {name} ? {other} : 0",
        ]
    )


def _make_conditional(
    rng: random.Random, own: list[str], lines: Callable[[], list[str]], always: bool = False
) -> list[str]:
    """Lines under a condition; always: others where it does not hold."""
    if rng.random() < 0.15:
        return list(lines())
    out = [_make_condition(rng, own), *lines()]
    if rng.random() < 0.2:
        out += [_make_condition(rng, own), "  " if always else lines()[0], "#endif"]
    if rng.random() < 0.3:
        other = _make_condition(rng, own).replace("#ifdef ", "#if defined ").replace("#ifndef ", "#if !defined ")
        out += [other.replace("#if", "#elif"), *lines()]
    if always or rng.random() < 0.5:
        out += ["#else", *lines()]
    return [*out, "#endif"]


def list_assignments(text: str) -> list[tuple[str, ...]]:
    """What g++ is given so that every switch of a text has every value that its conditions ask for."""
    own = [name for name in SWITCHES if name in text]
    choices = ([f"-U{name}", f"-D{name}=0", f"-D{name}=1", f"-D{name}=2"] for name in own)
    return list(product(*choices))


_AROUND = (
    "#include <cstdint>\n#include <cstdio>\n"
    'static void use(uint64_t word, int n) {{ printf("%d %llu\\n", n, (unsigned long long)word); }}\n'
    "{}int main() {{ build(); }}\n"
)


def run_program(text: str, flags: tuple[str, ...], gxx: str, folder: Path) -> list[tuple[int, int]]:
    """(number of the use, word) of each use, as g++ runs the program under a choice of its macros."""
    source, binary = folder / "program.cpp", folder / "program"
    source.write_text(_AROUND.format(text))
    subprocess.run([gxx, "-w", "-std=c++17", *flags, str(source), "-o", str(binary)], check=True)
    out = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return [(int(n), int(word)) for n, word in (line.split() for line in out.splitlines())]
