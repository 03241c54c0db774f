"""`python -m tests.mutants [FILE…] [-n 100] [--seed 1] [--jobs 2] [--budget 20]`: plant faults, run tests, write docs/mutants.md."""

from __future__ import annotations

import argparse
import os
import pickle
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.mutants import equivalent, report
from tests.mutants.operators import Mutant, Mutations
from tests.mutants.plant import Nursery, Verdict, saved
from tests.mutants.reach import Reach
from tests.mutants.texts import RULES, mutations

ROOT = Path(__file__).parents[2]


def of_file(root: Path, file: str) -> Iterator[Mutant]:
    """Every mutant of a file, by its kind."""
    source = (root / file).read_text()
    return iter(Mutations(file, source)) if file.endswith(".py") else mutations(file, source)


def sources(root: Path, names: list[str]) -> list[str]:
    """The files of the given rooms, folders or paths."""
    found = []
    for name in names:
        path = root / name
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [str(p.relative_to(root)) for p in inside if p.suffix in (".py", *RULES) and "__pycache__" not in p.parts]
    return found


def sample(root: Path, files: list[str], count: int, seed: int) -> list[Mutant]:
    """Lines drawn at random over all files, one mutant of each: a long table of constants weighs no more than its lines."""
    dice = random.Random(seed)
    lines: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for file in files:
        for mutant in of_file(root, file):
            lines[file, mutant.line].append(mutant)
    drawn = []
    for place in dice.sample(sorted(lines), len(lines)):
        if len(drawn) == count:
            break
        mutant = dice.choice(lines[place])
        if stands(root, mutant):
            drawn.append(mutant)
    return sorted(drawn, key=lambda m: (m.file, m.start))


Job = tuple[Mutant, list[str], float]


def survivors(root: Path, path: Path) -> list[Mutant]:
    """What survived the last run, as far as its text still stands."""
    verdicts: list[Verdict] = pickle.loads(path.read_bytes())[0]
    left = {(v.mutant.file, v.mutant.text, v.mutant.change) for v in verdicts if v.outcome in ("survived", "unreached")}
    found = {(m.file, m.text, m.change): m for file in {file for file, _, _ in left} for m in of_file(root, file)}
    return sorted((found[key] for key in left & found.keys()), key=lambda m: (m.file, m.start))


def stands(root: Path, mutant: Mutant) -> bool:
    """Whether a changed Python source is still one."""
    if mutant.file.endswith(".py"):
        try:
            compile(mutant.apply((root / mutant.file).read_bytes()), mutant.file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def order(reach: Reach, mutant: Mutant, budget: float) -> tuple[list[str], float]:
    """The tests that run the line, the quickest first, then the rest of their files, until their seconds are spent."""
    known = reach.of(mutant.file, range(mutant.first, mutant.last + 1))
    files = {test.split("::")[0] for test in known}
    beside = {test for test in reach.tests if test.split("::")[0] in files} - known
    chosen, seconds = [], 0.0
    for test in [*sorted(known, key=lambda t: (reach.tests[t], t)), *sorted(beside, key=lambda t: (reach.tests[t], t))]:
        if chosen and seconds + reach.tests[test] > budget:
            break
        chosen.append(test)
        seconds += reach.tests[test]
    return chosen, seconds


def control(root: Path, work: list[Job]) -> list[Job]:
    """The tests of a few mutants over the sources as they are: what fails here says nothing of a fault."""
    reached = [job for job in work if job[1]][:: max(1, len(work) // 3)]
    return [(replace(mutant, new=mutant.old, operator="none"), tests, seconds) for mutant, tests, seconds in reached]


def unharmed(verdict: Verdict) -> None:
    if verdict.outcome != "survived":
        raise SystemExit(f"{verdict.by or 'a test'} fails without any fault")


def main() -> None:
    ask = argparse.ArgumentParser(prog="make mutants")
    ask.add_argument("files", nargs="*", default=["layouts", "app"])
    ask.add_argument("-n", type=int, default=300)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", "2")))
    ask.add_argument("--budget", type=float, default=20.0, help="seconds of tests a mutant, as they take unharmed")
    ask.add_argument("--root", type=Path, default=ROOT)
    ask.add_argument("--again", action="store_true", help="only what survived the last run")
    ask.add_argument("--no-record", action="store_true", help="the recorded reach as it is")
    ask.add_argument("--no-report", action="store_true", help="print, and leave docs/mutants.md as it is")
    given = ask.parse_args()
    root, work_at = given.root, given.root / "build" / "mutants"
    files = sources(root, given.files)
    drawn = survivors(root, work_at / "verdicts.pickle") if given.again else sample(root, files, given.n, given.seed)
    reach = Reach.at(root, work_at / "reach.pickle", browser=any(not file.endswith(".py") for file in files), record=not given.no_record)
    known = equivalent.read()
    work = [(mutant, *order(reach, mutant, given.budget)) for mutant in drawn if equivalent.of(mutant, known) is None]
    same = [mutant for mutant in drawn if equivalent.of(mutant, known) is not None]
    verdicts: list[Verdict] = []

    def told(verdict: Verdict) -> None:
        verdicts.append(verdict)
        m = verdict.mutant
        print(
            f"{len(verdicts)}/{len(work)} {verdict.outcome:9} {m.file}:{m.line} {m.change[:150]} [{verdict.tests} tests, {verdict.seconds:.0f} s] {verdict.by}",
            flush=True,
        )
        saved(work_at / "verdicts.pickle", (verdicts, same, given))

    nursery = Nursery(root, work_at, given.jobs)
    nursery.run(control(root, work), unharmed)
    nursery.run(work, told)
    text = report.written(verdicts, same, given.seed)
    if given.no_report:
        print(text)
    else:
        report.kept(root / "docs" / "mutants.md", given.files, text)


if __name__ == "__main__":
    main()
