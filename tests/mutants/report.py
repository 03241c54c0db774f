"""docs/mutants.md: what share of the planted faults the tests killed, and which survived."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from tests.mutants.operators import Mutant
from tests.mutants.plant import Verdict

LEFT = ("survived", "unreached")
HEAD = """# Deliberate faults

`make mutants` plants one small fault at a time in a copy of the tree and runs the tests that reach it. A fault that no
test notices survives, and says which test is missing. A line of the code is drawn at random, then one change of it:
arithmetic, comparison, boolean, a condition negated, a constant one more or less, two letters more in a text, two
arguments exchanged, a statement or an operand removed, nothing returned. Killed means that a test failed or that the
run came to no end; a mutant gets the tests that run its line, those of the quickest files first, then those that hold
whole answers, those of files named as its own, and others, each up to a bound of seconds, so that the true share is
rather higher. What cannot change an answer is not planted: an assertion that no input reaches, the order of a maximum's
arguments. Other mutants that change nothing are listed with their reasons in tests/mutants/equivalent.toml and counted
apart. A section has the figures of one run as it fell: tests written for its survivors change none of them, and the
survivors that they notice are marked. `make planted` plants the faults of tests/mutants/by_hand.toml, which somebody
thought of: a picker that loses the pin, a copy that no label names, LBO and SBO exchanged in generated code. The
sections are written by the programs, one for the rooms of a run.
"""


def share(killed: int, of: int) -> str:
    return f"{100 * killed / of:.0f} %" if of else "–"


def counted(verdicts: Iterable[Verdict]) -> Counter[str]:
    return Counter(verdict.outcome for verdict in verdicts)


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def code(text: str) -> str:
    fence = "``" if "`" in text else "`"
    return f"{fence}{cell(text)}{fence}"


def room(file: str) -> str:
    return file.split("/")[0]


def folder(file: str) -> str:
    return "/".join(file.split("/")[:-1])


def row(name: str, verdicts: Sequence[Verdict], same: int) -> str:
    count = counted(verdicts)
    killed = count["killed"] + count["timeout"]
    cells = (name, len(verdicts), killed, share(killed, len(verdicts)), count["survived"], count["unreached"], same)
    return "| " + " | ".join(map(str, cells)) + " |"


def written(
    verdicts: Sequence[Verdict],
    same: Sequence[Mutant],
    seed: int,
    drawn: int,
    since: Set[tuple[str, str, str]] = frozenset(),
) -> str:
    """The tables of one run: total, a row a room of several, a folder and a file, and the survivors; `since` says what
    those are known by that have a test since.
    """
    files = sorted({v.mutant.file for v in verdicts} | {m.file for m in same})
    rooms = sorted({room(file) for file in files})
    groups = {
        "**all**": files,
        **{f"**{name}**, all of it": [f for f in files if room(f) == name] for name in rooms if len(rooms) > 1},
        **{f"**{name}/**": [f for f in files if folder(f) == name] for name in sorted({folder(f) for f in files})},
    }
    groups |= {file: [file] for file in files}
    count = len(verdicts) + len(same)
    early = f" of {drawn} drawn (the run was ended before the rest)" if count < drawn else ""
    late = f"{counted(verdicts)['timeout']} of the killed ran into the time limit."
    head = f"Date {datetime.date.today()}, seed {seed}, {count} mutants{early} in {len(files)} files; {late}"
    out = [
        head,
        "",
        "| Where | mutants | killed | share | survived | reached by no test | equivalent, beside these |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, inside in groups.items():
        out.append(row(name, [v for v in verdicts if v.mutant.file in inside], sum(m.file in inside for m in same)))
    left = sorted((v for v in verdicts if v.outcome in LEFT), key=lambda v: (v.mutant.file, v.mutant.line))
    if noticed := sum(v.mutant.known_by in since for v in left):
        out += ["", f"Of the {len(left)} that survived this run, {noticed} have a test that notices them since."]
    out += ["", "Survivors:" if left else "No survivors.", ""]
    for verdict in left:
        m = verdict.mutant
        note = " (reached by no test)" if verdict.outcome == "unreached" else ""
        note += " (noticed since)" if m.known_by in since else ""
        out.append(f"- {m.file}:{m.line} {m.operator}{note}: {code(m.change)}")
    return "\n".join(out).rstrip() + "\n"


def kept(path: Path, names: Sequence[str], text: str) -> None:
    """Put the run's section into the page; sections of other runs stay."""
    title = f"## {' '.join(names)}"
    page = path.read_text() if path.is_file() else HEAD
    sections = dict(re.findall(r"^(## [^\n]*)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    sections[title] = f"\n{text}\n"
    path.write_text(HEAD + "\n" + "\n".join(f"{name}\n{body.rstrip()}\n" for name, body in sorted(sections.items())))
