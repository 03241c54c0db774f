"""Small C++ programs that build descriptors: what g++ computes, and what the reader says of the same text.

`python -m tests.cxx_oracle FILE_OR_FOLDER…` prints a line a program and the totals; tests/cxx_host.py says how the
files are written.

Right: every word is known and right, or for a function of parameters every field that no parameter decides. Unknown: a
word or a field is left open. Wrong: a number that no execution produces, or a finding of level error about a program
whose words are right.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lanescope import reader
from lanescope.reader.code.descriptors.builders import DescriptorBuilder
from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.expression.integer_values import get_integer
from lanescope.workbench.check import check_text
from tests import cpp
from tests.cxx_host import GOLDEN, HostProgram, compile_and_run, loosen_statements, read_programs
from tests.found_in_code import find_builders

MASK = (1 << 64) - 1
_FIELDS = {  # field → (first bit, width, unit), by format
    "wgmma": {"lbo_bytes": (16, 14, 16), "sbo_bytes": (32, 14, 16), "base_offset": (49, 3, 1), "swizzle": (62, 2, 1)},
    "tcgen05": {"lbo_bytes": (16, 14, 16), "sbo_bytes": (32, 14, 16), "base_offset": (49, 3, 1), "swizzle": (61, 3, 1)},
}
_MODES = {
    "wgmma": {0: "none", 1: "128B", 2: "64B", 3: "32B"},
    "tcgen05": {0: "none", 1: "128B_base32B", 2: "128B", 4: "64B", 6: "32B"},
}


@dataclass
class ProgramVerdict:
    """What came of one program. words: g++'s, in the order of the calls of `use`; followed: the evaluator hands it the
    same ones.
    """

    program: HostProgram
    kind: str = "right"  # right unknown wrong failed
    reasons: list[str] = field(default_factory=list)
    words: tuple[int, ...] = ()
    notes: list[str] = field(default_factory=list)
    followed: bool = False

    def wrong(self, why: str) -> None:
        self.kind = "wrong"
        self.reasons.append(why)

    def unknown(self, why: str) -> None:
        if self.kind == "right":
            self.kind = "unknown"
        self.reasons.append(f"unknown: {why}")


# what the reader says -------------------------------------------------------------------------------------------------


def read_fields(word: int, form: str) -> dict[str, int | str | None]:
    """The fields of a word as its format has them."""
    out: dict[str, int | str | None] = {}
    for name, (low, width, unit) in _FIELDS[form].items():
        value = (word >> low & ((1 << width) - 1)) * unit
        out[name] = _MODES[form].get(value) if name == "swizzle" else value
    return out


def compare_program(program: HostProgram, words: tuple[int, ...]) -> ProgramVerdict:
    """What the reader says of a program whose words are known."""
    out = ProgramVerdict(program, words=words)
    built = find_builders(program.text)
    _compare_used(out)
    if program.given and not program.calls:
        _compare_symbols(out, built)
    else:
        _compare_words(out, built)
    _compare_read(out)
    _compare_alone(out)
    if out.kind != "wrong":
        _compare_findings(out, built)
    return out


def _compare_used(out: ProgramVerdict) -> None:
    """The values that the evaluator hands to `use`, which has no body, in the order of execution."""
    made = evaluate_text(out.program.text)
    if made is None:
        return
    told: list[int | None] = []
    for one in made.bodiless_calls:
        if one.term.head == "use" and one.term.arguments:
            given = get_integer(one.term.arguments[0])
            known = None if given is None else given.known
            told.append(None if known is None else known & MASK)
    for value in told:
        if value is not None and value not in out.words:
            out.wrong(f"use() is given {value:#x}, g++ {_format_words(out.words)}")
    out.followed = tuple(told) == out.words
    if len(told) == len(out.words):
        for n, (value, word) in enumerate(zip(told, out.words, strict=True)):
            if value is not None and value != word and value in out.words:
                out.wrong(f"use() no. {n} is given {value:#x}, g++ {word:#x}")
    elif all(value is not None for value in told) and told:
        out.notes.append(f"{len(told)} of {len(out.words)} calls of use() were followed")
    if out.kind != "wrong" and not out.program.given:
        missing = sum(value is None for value in told)
        if missing or (not told and not out.program.loose):
            out.notes.append(f"use(): {missing} of {len(told)} values open")


def _format_words(words: Iterable[int]) -> str:
    return " ".join(dict.fromkeys(f"{word:#x}" for word in words))


def _list_stated(one: DescriptorBuilder) -> Iterator[tuple[str, int | str | None]]:
    for name, value in one.fields.items():
        if value is not None:
            yield name, value
    if isinstance(one.start, int):
        yield "start", one.start


def _list_contradictions(one: DescriptorBuilder, word: int) -> list[str]:
    """What a builder states that a word does not have."""
    if one.word is not None:
        return [] if one.word == word else [f"{one.name}: word {one.word:#018x}, g++ {word:#018x}"]
    actual = {**read_fields(word, one.format), "start": (word & 0x3FFF) * 16}
    wrong = [f"{one.name}: {k} {v}, g++ {actual[k]}" for k, v in _list_stated(one) if actual[k] != v]
    version = word >> 46 & 7
    if (one.format == "tcgen05") != (version == 1) and not wrong:
        wrong.append(f"{one.name}: format {one.format}, g++'s version {version}")
    return wrong


def _compare_words(out: ProgramVerdict, built: Sequence[DescriptorBuilder]) -> None:
    found: set[int] = set()
    stray: list[str] = []
    opened: list[str] = []
    for one in built:
        words = {one.word} if one.word is not None else {s.word for s in one.steps if s.word is not None}
        if words and (one.word is not None or len(words) == len(one.steps)):
            found |= words & set(out.words)
            on_the_way = " in a loop" if one.steps and out.followed else ""
            stray += [
                f"{one.name}{on_the_way}: word {word:#018x}, g++ {_format_words(out.words)}"
                for word in sorted(words - set(out.words))
            ]
            continue
        wrong = [_list_contradictions(one, word) for word in out.words]
        if all(wrong):
            stray.append(min(wrong, key=len)[0])
        else:
            opened.append(f"{one.name}: {dict(one.free) or one.start}")
    missing = set(out.words) - found
    used = {*re.findall(r"\buse\(\s*(\w+)\s*\)", out.program.text), out.program.loose}
    finished = [line for line in stray if line.partition(":")[0] in used]  # the others may be on the way to a word
    if finished:
        out.wrong(finished[0])
    elif missing:
        out.unknown("; ".join(opened) or ("nothing is found" if not built else "not found"))
    out.notes += [f"also {line}" for line in stray if out.kind != "wrong"]


def _compare_symbols(out: ProgramVerdict, built: Sequence[DescriptorBuilder]) -> None:
    """Fields that are stated must hold for every call; those that every call has alike should be stated."""
    if not built:
        out.unknown("nothing is found")
        return
    values = list(_list_arguments(out.program))
    reasons: list[list[str]] = []
    for one in built:
        wrong = [why for word in out.words for why in _list_contradictions(one, word)]
        if isinstance(one.start, str) and not wrong and len(values) == len(out.words):
            wrong += [
                why for given, word in zip(values, out.words, strict=True) for why in _compare_start(one, given, word)
            ]
        reasons.append(wrong)
        if not wrong:
            alike = {
                name
                for name in (*one.fields, *(["start"] if isinstance(one.start, int) or one.start == "?" else []))
                if len({(read_fields(w, one.format) | {"start": w & 0x3FFF})[name] for w in out.words}) == 1
            }
            missing = alike - {name for name, _ in _list_stated(one)}
            if one.word is None and missing:
                out.unknown(f"{one.name}: {', '.join(sorted(missing))}: {dict(one.free)} {one.start}")
    if all(reasons):
        out.wrong(reasons[0][0])
    else:
        out.notes += [f"also {why[0]}" for why in reasons if why]


def _list_arguments(program: HostProgram) -> Iterator[dict[str, int]]:
    """The parameters of `make` in each call, where all are numbers."""
    found = re.search(r"\bmake\s*\(([^()]*)\)\s*(?:->\s*\w+\s*)?\{", program.code)
    names = [re.findall(r"\w+", part)[-1] for part in found[1].split(",") if part.strip()] if found else []
    for call in program.given:
        inside = call.partition("(")[2].rpartition(")")[0]
        parts = [part.strip() for part in inside.split(",")]
        if len(parts) == len(names) and all(re.fullmatch(r"-?(?:0x[0-9a-fA-F]+|\d+)", part) for part in parts):
            yield {name: int(part, 0) for name, part in zip(names, parts, strict=True)}


def _compare_start(one: DescriptorBuilder, given: dict[str, int], word: int) -> Iterator[str]:
    text = str(one.start).replace("·", "*")
    if re.fullmatch(r"\([^()]*\)", text):
        return  # what the start is made of, not how
    if set(re.findall(r"[A-Za-z_]\w*", text)) <= set(given) and re.fullmatch(r"[\w\s+*\-()>&]*", text):
        told = int(eval(text, {"__builtins__": {}}, dict(given)))
        actual = (word & 0x3FFF) * 16
        if told & 0x3FFF0 != actual:
            yield f"{one.name}: start {one.start} is {told:#x} for {given}, g++ {actual:#x}"


def _compare_read(out: ProgramVerdict) -> None:
    """What the reader's front door says of the text: the word of its first reading."""
    for one in reader.recognise_text(out.program.text).found:
        word = one.facts.get("word") if isinstance(one.facts, dict) else None
        if one.kind in ("descriptor", "word") and isinstance(word, str):
            value = int(word, 16)
            if value not in out.words:
                out.wrong(f"read() as {one.kind}: {value:#018x}, g++ {_format_words(out.words)}")


def _compare_alone(out: ProgramVerdict) -> None:
    """The text without the calls that were appended to it: what `make` returns there."""
    code, at = out.program.code, out.program.code.rfind("uint64_t make()")
    if out.program.calls != ("make()",) or at < 0:
        return
    returned = {"make", *re.findall(r"\breturn\s+(\w+)\s*;", code[at:])}
    for one in find_builders(code):
        if one.word is not None and one.name in returned and one.span[0] > at and one.word not in out.words:
            out.wrong(f"alone, {one.name}: word {one.word:#018x}, g++ {_format_words(out.words)}")


def _compare_findings(out: ProgramVerdict, built: Sequence[DescriptorBuilder]) -> None:
    told = check_text(out.program.text)
    for one in told.findings:
        if one.level != "error" or one.code in out.program.allow:
            continue
        if out.kind == "right":
            out.wrong(f"check says {one.code}: {one.message}")
        else:
            out.notes.append(f"check says {one.code}: {one.message}")


def judge_programs(some: Sequence[HostProgram], jobs: int = 1) -> list[ProgramVerdict]:
    """Every program compiled, run, read and compared."""
    out = []
    for program, words in zip(some, compile_and_run(some, jobs), strict=True):
        if isinstance(words, str):
            out.append(ProgramVerdict(program, "failed", [words]))
            continue
        try:
            out.append(compare_program(program, words))
        except Exception as error:  # a crash is a finding, and the others are still of use
            out.append(ProgramVerdict(program, "wrong", [f"crash: {type(error).__name__}: {error}"], words))
    return out


def measure_known_share(some: Iterable[ProgramVerdict]) -> float:
    """How many of the programs that g++ ran are known, of 1."""
    seen = Counter(one.kind for one in some)
    return seen["right"] / max(1, seen.total() - seen["failed"])


def format_totals(some: Iterable[ProgramVerdict]) -> str:
    """How many are right, unknown and wrong, in words."""
    seen = Counter(one.kind for one in some)
    asked = seen.total() - seen["failed"]
    share = f" ({100 * seen['right'] / asked:.1f} % known)" if asked else ""
    failed = f", {seen['failed']} do not compile or stop" if seen["failed"] else ""
    return f"{asked} programs: {seen['right']} right{share}, {seen['unknown']} unknown, {seen['wrong']} wrong{failed}"


def main(paths: Sequence[str]) -> int:
    """Print a line a program: -q only those that are not right, -n without notes, -l of one function its statements."""
    flags = {path for path in paths if path.startswith("-")}
    some = read_programs([Path(path) for path in paths if not path.startswith("-")] or (GOLDEN,))
    if "-l" in flags:
        some = [loose for one in some for name in ("", "q") if (loose := loosen_statements(one, name)) is not None]
    told = judge_programs(some)
    for one in told:
        if one.kind == "right" and "-q" in flags and not one.notes:
            continue
        sign = {"wrong": "WRONG", "failed": "FAILED"}.get(one.kind, one.kind)
        print(f"{sign:8}{one.program.title}" + "".join(f"\n          {why}" for why in one.reasons))
        if "-n" not in flags:
            print("".join(f"          ({note})\n" for note in one.notes), end="")
    print(format_totals(told))
    return int(any(one.kind in ("wrong", "failed") for one in told))


if __name__ == "__main__":
    assert cpp.find_compiler() is not None, cpp.MISSING
    sys.exit(main(sys.argv[1:]))
