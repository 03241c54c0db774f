"""Seeded C++ programs that build a descriptor out of random shapes of code (tests.cxx_shapes).

`python -m tests.cxx_programs [COUNT [SEED]]` compares so many with g++ and prints every wrong one, then a line a shape.
`-s` has programs of one shape each. `-w` writes the section "C++ that builds descriptors" of docs/benchmarks.md.
"""

from __future__ import annotations

import datetime
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from random import Random

from tests import cxx_oracle
from tests.cxx_host import HostProgram, read_programs
from tests.cxx_oracle import ProgramVerdict, judge_programs
from tests.cxx_shapes import ProgramMaker, list_common_shapes, list_shapes

HEADING = "## C++ that builds descriptors"
AT = {"start": (0, 14), "lbo": (16, 14), "sbo": (32, 14), "base": (49, 3), "mode": (62, 2)}  # first bit, width
COUNT, SEED = 600, 29
Style = Callable[[ProgramMaker, dict[str, str]], None]
STYLES: list[Style] = []
PARAMETERS = {"a": "uint32_t", "k": "int", "flag": "bool"}


def _register_style(one: Style) -> Style:
    STYLES.append(one)
    return one


def _mask_field(name: str, text: str) -> str:
    return f"((uint64_t)({text}) & {(1 << AT[name][1]) - 1:#x})"


@_register_style
def write_in_steps(m: ProgramMaker, fields: dict[str, str]) -> None:
    word = m.pick("desc", "d", "result", "word")
    m.do(f"uint64_t {word} = {m.pick('0', '0ull', '0x0')};")
    for name, text in fields.items():
        m.do(f"{word} {m.pick('|=', '|=', '+=', '^=')} {_mask_field(name, text)} << {AT[name][0]};")
    m.do(f"return {word};")


@_register_style
def write_in_one(m: ProgramMaker, fields: dict[str, str]) -> None:
    parts = [f"{_mask_field(name, text)} << {AT[name][0]}" for name, text in fields.items()]
    m.do(f"uint64_t desc = {' | '.join(parts)};\n  return desc;")


@_register_style
def write_with_helper(m: ProgramMaker, fields: dict[str, str]) -> None:
    m.declare(
        "inline uint64_t place(uint64_t value, int at, int width) { return (value & ((1ull << width) - 1)) << at; }"
    )
    parts = [f"place({text}, {AT[name][0]}, {AT[name][1]})" for name, text in fields.items()]
    m.do("uint64_t desc = 0;\n  " + "\n  ".join(f"desc |= {part};" for part in parts) + "\n  return desc;")


@_register_style
def write_with_union(m: ProgramMaker, fields: dict[str, str]) -> None:
    layout = m.pick(
        "uint64_t start : 14, : 2, lbo : 14, : 2, sbo : 14, : 3, base : 3, : 10, mode : 2;",
        "uint64_t start : 14; uint64_t : 2; uint64_t lbo : 14; uint64_t : 2; uint64_t sbo : 14; uint64_t : 3;"
        " uint64_t base : 3; uint64_t : 10; uint64_t mode : 2;",
        "uint16_t start : 14, : 2; uint16_t lbo : 14, : 2; uint16_t sbo : 14, : 2; uint8_t : 1, base : 3, : 4;"
        " uint8_t : 6, mode : 2;",
    )
    m.declare(f"union Desc {{ uint64_t word; struct {{ {layout} }} bits; }};")
    m.do("Desc desc;\n  desc.word = 0;")
    for name, text in fields.items():
        m.do(f"desc.bits.{name} = {_mask_field(name, text)};")
    m.do("return desc.word;")


@_register_style
def write_with_methods(m: ProgramMaker, fields: dict[str, str]) -> None:
    m.declare(
        "class Builder {\n  uint64_t word_ = 0;\n public:\n"
        "  Builder& put(uint64_t v, int at) { word_ |= v << at; return *this; }\n"
        "  uint64_t word() const { return word_; }\n};"
    )
    m.do("Builder builder;")
    for name, text in fields.items():
        m.do(f"builder.put({_mask_field(name, text)}, {AT[name][0]});")
    m.do("uint64_t desc = builder.word();\n  return desc;")


@_register_style
def write_with_halves(m: ProgramMaker, fields: dict[str, str]) -> None:
    m.do("uint32_t lo = 0, hi = 0;")
    for name, text in fields.items():
        at, half = AT[name][0], "hi" if AT[name][0] >= 32 else "lo"
        m.do(f"{half} |= (uint32_t){_mask_field(name, text)} << {at % 32};")
    m.do("uint64_t desc = (uint64_t)hi << 32 | lo;\n  return desc;")


@_register_style
def write_with_reference(m: ProgramMaker, fields: dict[str, str]) -> None:
    m.declare(
        m.pick(
            "inline void put(uint64_t& d, uint64_t v, int at) { d |= v << at; }",
            "inline void put(uint64_t& d, uint64_t v, unsigned at) { d = d + (v << at); }",
        )
    )
    m.do("uint64_t desc = 0;")
    for name, text in fields.items():
        m.do(f"put(desc, {_mask_field(name, text)}, {AT[name][0]});")
    m.do("return desc;")


@_register_style
def write_with_arguments(m: ProgramMaker, fields: dict[str, str]) -> None:
    names = list(fields)
    body = " | ".join(f"{_mask_field(name, name)} << {AT[name][0]}" for name in names)
    m.declare(f"uint64_t make_desc({', '.join(f'{m.pick(*_KINDS)} {name}' for name in names)}) {{ return {body}; }}")
    m.do(f"uint64_t desc = make_desc({', '.join(fields.values())});\n  return desc;")


_KINDS = ("uint32_t", "int", "uint64_t", "unsigned", "const int&")


@_register_style
def write_with_table(m: ProgramMaker, fields: dict[str, str]) -> None:
    m.declare("struct Field { uint64_t value; int at; };")
    rows = ", ".join(f"{{{_mask_field(name, text)}, {AT[name][0]}}}" for name, text in fields.items())
    m.do(f"const Field fields[] = {{{rows}}};\n  uint64_t desc = 0;")
    m.do(
        m.pick(
            "for (const Field& f : fields) desc |= f.value << f.at;",
            f"for (int i = 0; i < {len(fields)}; ++i) desc |= fields[i].value << fields[i].at;",
        )
    )
    m.do("return desc;")


def make_program(seed: int, plain: bool = False, only: str = "") -> HostProgram:
    """A program of this seed. plain: of what most kernels have; only: of one shape beside numbers."""
    rng = Random(f"{seed} {plain} {only}")
    m = ProgramMaker(rng, (only,) if only else list_common_shapes() if plain else list_shapes())
    fields = {
        "start": str(rng.randrange(1, 1 << 10)),
        "lbo": str(rng.randrange(1, 64)),
        "sbo": str(rng.randrange(1, 256)),
    }
    if rng.random() < 0.3:
        fields["base"] = str(rng.randrange(8))
    fields["mode"] = str(rng.randrange(1, 4))
    symbols = not only and rng.random() < 0.25
    order = list(fields)
    if rng.random() < 0.3:
        rng.shuffle(order)
    m.do("//")
    styles = [one for one in STYLES if one is not write_with_table] if plain else STYLES
    style = rng.choice(styles)
    chosen = rng.sample([name for name in order if name != "start"], 1 if only else rng.randint(1, 3))
    made = {}
    for name in order:
        made[name] = m.shaped(only) if name in chosen else fields[name]
    given: tuple[str, ...] = ()
    parameters = ""
    if symbols:
        made["start"] = rng.choice(("a >> 4", "(a & 0x3FFFF) >> 4", "(a + 32 * k) >> 4", "a / 16"))
        other = rng.choice([name for name in order if name not in ("start", *chosen)] or ["mode"])
        made[other] = rng.choice(
            (
                "flag ? 1 : 2",
                "k",
                "k + 1",
                "k > 1 ? 3 : k",
                "flag ? k : 1",
                made[other],
                made[other],
                "k * 2 >> 1",
            )
        )
        if rng.random() < 0.4:
            s = m.name("s")
            m.do(
                f"int {s} = {m.small()};\n  "
                + rng.choice(
                    (
                        f"if (flag) {s} += 1;",
                        f"for (int i = 0; i < k; ++i) {s} += 2;",
                        f"if (k == 1 && ++{s}) {s} += flag;",
                        f"switch (k) {{ case 0: {s} += 1; case 1: {s} += 2; break; default: {s} = 0; }}",
                        f"for (int i = 0; i < 3; ++i) {{ if (i == k) {rng.choice(('break', 'continue'))}; {s} += 1; }}",
                        f"while (flag) {{ {s} += 3; break; }}",
                        f"{s} = flag ? {s} : k;",
                    )
                )
            )
            made[chosen[0]] = f"{made[chosen[0]]} + {s}"
        parameters = "uint32_t a, int k, bool flag"
        given = tuple(f"make({rng.randrange(1, 64) * 64:#x}, {k}, {flag})" for k in range(4) for flag in (0, 1))
    style(m, made)
    lines = [line for line in m.body if line != "//"]
    m.body.clear()
    code = "\n".join([*m.head, f"uint64_t make({parameters}) {{", *(f"  {line}" for line in lines), "}"]) + "\n"
    what = ", ".join(dict.fromkeys(m.used))
    return HostProgram(
        f"{'everyday ' if plain else ''}{seed}: {style.__name__}; {what}", code, () if given else ("make()",), given
    )


def compile_and_judge(some: Sequence[HostProgram]) -> list[ProgramVerdict]:
    """The programs that g++ compiles and that do nothing undefined, judged."""
    return [one for one in judge_programs(some) if one.kind != "failed"]


def format_by_shape(told: Iterable[ProgramVerdict]) -> str:
    """A line a shape: how often it stood in a right, unknown and wrong program."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for one in told:
        for name in one.program.title.partition("; ")[2].split(", "):
            seen[name][one.kind] += 1
    rows = sorted(seen.items(), key=lambda row: -row[1]["wrong"] / row[1].total())
    return "\n".join(f"{name:26}{c['right']:6} right{c['unknown']:6} unknown{c['wrong']:6} wrong" for name, c in rows)


# the page -------------------------------------------------------------------------------------------------------------


def format_table(rows: dict[str, list[ProgramVerdict]]) -> list[str]:
    """A row of figures for each set of programs."""
    out = ["| programs | known | left open | wrong |", "|---|---:|---:|---:|"]
    for name, told in rows.items():
        seen, n = Counter(one.kind for one in told), len(told)
        known = f"{seen['right']} of {n} ({100 * seen['right'] // n} %)"
        out.append(f"| {name} | {known} | {seen['unknown']} | {seen['wrong']} |")
    return out


def write_benchmarks() -> None:
    """Measure, and write the section of docs/benchmarks.md."""
    from tests.bench import load

    corpus = [one for one in judge_programs(read_programs()) if one.kind != "failed"]
    topics: dict[str, list[ProgramVerdict]] = defaultdict(list)
    for one in corpus:
        topics[one.program.title.partition("/")[0]].append(one)
    seeds = range(SEED, SEED + COUNT)
    seeds = range(SEED, SEED + COUNT)
    rows = {
        "generated, of what most kernels have": compile_and_judge([make_program(n, plain=True) for n in seeds]),
        "generated, of every construct": compile_and_judge([make_program(n) for n in seeds]),
        "written by hand, to mislead": corpus,
        **{f"of these, {topic}": topics[topic] for topic in sorted(topics)},
    }
    head = (
        f"Written by `make bench-cxx` on {datetime.date.today().isoformat()}: small C++17 programs whose descriptor g++"
        " computes and the reader states. Known: the whole word, or for a function of parameters every field that no"
        " parameter decides. Wrong: a number that no execution produces. The programs written by hand stand in"
        " tests/golden/cxx; the reader was mended against them and against other seeds of the generated ones."
    )
    load.write_section([HEADING, "", head, "", *format_table(rows)], HEADING)


def main(arguments: Sequence[str]) -> int:
    if "-w" in arguments:
        write_benchmarks()
        return 0
    numbers = [int(one) for one in arguments if one.isdigit()]
    count, first = (*numbers, COUNT, SEED)[:2] if len(numbers) != 1 else (numbers[0], SEED)
    if "-s" in arguments:
        some = [make_program(n, only=name) for name in list_shapes() for n in range(first, first + count)]
    else:
        some = [make_program(n, plain="-e" in arguments) for n in range(first, first + count)]
    told = judge_programs(some)
    for one in told:
        if one.kind in ("wrong", "failed") and "-q" not in arguments:
            print(f"{one.kind.upper()} {one.program.title}\n  " + "\n  ".join(one.reasons))
            if "-v" in arguments:
                print(one.program.code)
    print(format_by_shape(one for one in told if one.kind != "failed"))
    print(cxx_oracle.format_totals(told))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
