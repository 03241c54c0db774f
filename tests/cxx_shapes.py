"""Shapes of C++ code that give a small number: what the generated programs of tests.cxx_programs are put together from.

tests/golden/cxx_shapes.txt holds the shapes and says how they are written; two that write text by a rule stand here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random

FILE = Path(__file__).parent / "golden" / "cxx_shapes.txt"
MOST_NESTED = 2
NESTED = 0.4  # how often a number is one of another shape
TYPES = ("int", "unsigned", "uint64_t", "int64_t", "uint8_t", "int16_t", "uint16_t", "uint32_t", "size_t", "short")


@dataclass(frozen=True)
class CodeShape:
    """One way to write a shape: what stands outside the function, in it, and the expression."""

    declarations: str
    statements: str
    expression: str


@cache
def read_shapes() -> dict[str, tuple[CodeShape, ...]]:
    """The shapes of the file by name, each with its alternatives."""
    out: dict[str, tuple[CodeShape, ...]] = {}
    for block in re.split(r"(?m)^=== ", FILE.read_text())[1:]:
        head, _, text = block.partition("\n")
        parts = [part.strip() for part in re.split(r"(?m)^---$", text)]
        assert len(parts) == 3, block
        out[head.split()[0]] = (*out.get(head.split()[0], ()), CodeShape(*parts))
    return out


@cache
def list_common_shapes() -> tuple[str, ...]:
    """The shapes that most kernels have."""
    return (*sorted(set(re.findall(r"(?m)^=== (\w+) everyday$", FILE.read_text()))), "helper")


def list_shapes() -> tuple[str, ...]:
    """All shapes."""
    return (*sorted(read_shapes()), *BY_RULE)


@dataclass
class ProgramMaker:
    """One program while it is written. head: declarations; body: statements of the function that is being written."""

    rng: Random
    shapes: tuple[str, ...]
    head: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    deep: int = 0
    count: int = 0

    def name(self, base: str) -> str:
        """A name that the program does not have yet."""
        self.count += 1
        return f"{base}{self.count}"

    def small(self, most: int = 15) -> int:
        return self.rng.randint(0, most)

    def pick(self, *some: str) -> str:
        return self.rng.choice(some)

    def number(self) -> str:
        """An expression of a small number, at times of another shape."""
        if self.deep >= MOST_NESTED or self.rng.random() >= NESTED:
            return str(self.small())
        return self.shaped()

    def shaped(self, chosen: str = "") -> str:
        """An expression of a shape."""
        chosen = chosen or self.rng.choice(self.shapes)
        self.used.append(chosen)
        self.deep += 1
        text = BY_RULE[chosen](self) if chosen in BY_RULE else self.written(self.rng.choice(read_shapes()[chosen]))
        self.deep -= 1
        return f"({text})"

    def declare(self, text: str) -> None:
        self.head.append(text)

    def do(self, text: str) -> None:
        self.body.append(text)

    def written(self, one: CodeShape) -> str:
        """A shape with all its choices made; its expression."""
        names: dict[str, str] = {}

        def chosen(part: str) -> str:
            inner = re.compile(r"«([^«»]*)»")
            while inner.search(part):
                part = inner.sub(lambda found: self.rng.choice(found[1].split("¦")), part)
            assert not re.search("[«¦»]", part), part
            return part

        def text(part: str, nested: bool = True) -> str:
            part = re.sub(r"\$([A-Za-z]+)", lambda found: names.setdefault(found[1], self.name(found[1])), part)
            part = re.sub(r"%E\{(.*?)\}", lambda found: _make_tree(self, found[1].split(), 2), part)
            part = part.replace("%T", self.rng.choice(TYPES))
            part = re.sub(r"@@", lambda _: self.number() if nested else str(self.small()), part)
            return re.sub(r"@(\d*)", lambda found: str(self.small(int(found[1] or 15))), part)

        if one.declarations:
            self.declare(text(chosen(one.declarations), nested=False))
        for line in chosen(one.statements).splitlines():
            self.do(text(line))
        return text(chosen(one.expression))


def _make_tree(m: ProgramMaker, names: list[str], deep: int) -> str:
    """An expression over variables of several types, with every operator."""
    if deep == 0 or m.rng.random() < 0.15:
        return m.rng.choice((*names, str(m.small(40)), f"{m.small(9)}u", f"-{m.small(9) + 1}"))
    one, two = _make_tree(m, names, deep - 1), _make_tree(m, names, deep - 1)
    return m.rng.choice(
        (
            f"({one} + {two})",
            f"({one} - {two})",
            f"({one} * {m.small(5)})",
            f"({one} / {m.rng.choice((3, -3, 7))})",
            f"({one} % {m.rng.choice(('4u', '5', '-3', '16ull'))})",
            f"({one} & {two})",
            f"({one} | {two})",
            f"({one} ^ {two})",
            f"(~{one})",
            f"(-({one} & 255))",
            f"({one} >> {m.small(6)})",
            f"((unsigned)({one}) << {m.small(5)})",
            f"({one} < {two})",
            f"({one} == {two} ? {two} : {one})",
            f"(({m.rng.choice(TYPES)})({one}))",
            f"(!{one})",
            f"({one} && {two})",
            f"({one} || {two})",
            f"(({one} & 1) ? 1 : 2ull)",
        )
    )


def make_helper(m: ProgramMaker) -> str:
    """A function whose body has statements of other shapes."""
    name = m.name("encode")
    kept, m.body = m.body, []
    value = f"(x * {m.small(5)} + {m.number()}) & 255"
    lines = "".join(f"  {line}\n" for line in [*m.body, f"return {value};"])
    m.body = kept
    head = m.pick("static inline ", "", "__device__ __forceinline__ ") + m.pick("uint64_t", "int", "uint32_t", "auto")
    m.declare(f"{head} {name}(int x) {{\n{lines}}}")
    return f"{name}({m.number()})"


BY_RULE: dict[str, Callable[[ProgramMaker], str]] = {"helper": make_helper}
