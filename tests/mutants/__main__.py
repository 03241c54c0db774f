"""`python -m tests.mutants [FILE…] [-n 100] [--seed 1] [--jobs 2] [--budget 20]`: plant faults, run tests,
write docs/mutants.md."""

from __future__ import annotations

import argparse
import itertools
import math
import os
import pickle
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.mutants import equivalent, report
from tests.mutants.operators import Mutant, Mutations
from tests.mutants.plant import Job, Nursery, Verdict, saved
from tests.mutants.reach import WHOLE, Reach
from tests.mutants.texts import RULES, mutations

COLLECTED = 0.002  # seconds a test of its file costs before the first runs
QUICK_FILES = 7
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
        found += [
            str(p.relative_to(root)) for p in inside if p.suffix in (".py", *RULES) and "__pycache__" not in p.parts
        ]
    return found


def sample(root: Path, files: list[str], count: int, seed: int) -> list[Mutant]:
    """Lines drawn at random over all files, one mutant of each: a long table weighs no more than its lines."""
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


def survivors(root: Path, verdicts: list[Verdict]) -> list[Mutant]:
    """What survived a run, as far as its text still stands."""
    left = {v.mutant.known_by for v in verdicts if v.outcome in report.LEFT}
    found = {
        m.known_by: m for file in {file for file, _, _ in left if (root / file).is_file()} for m in of_file(root, file)
    }
    return sorted((found[key] for key in left & found.keys()), key=lambda m: (m.file, m.start))


def stands(root: Path, mutant: Mutant) -> bool:
    """Whether a changed Python source is still one."""
    if mutant.file.endswith(".py"):
        try:
            compile(mutant.apply((root / mutant.file).read_bytes()), mutant.file, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True


def namesakes(test: str, file: str) -> bool:
    """Whether a test file is named as a source, or as its folder: tests/test_tiles_page.py as app/tiles/forms.py is."""
    return not {Path(file).stem, Path(file).parent.name}.isdisjoint(Path(test).stem.split("_")[1:])


def order(reach: Reach, mutant: Mutant, budget: float) -> list[Job]:
    """The mutant with the tests that reach its line, as one run after another: those of the quickest files, those that
    hold whole answers, those of files named as its own or as its folder, those of the other files.

    Several runs, as collecting a file costs as much as many of its tests: most mutants die in the first. What a table
    says is looked for in the tests that hold whole answers at once.
    """
    known = reach.of(mutant.file, range(mutant.first, mutant.last + 1), mutant.local)
    files: dict[str, list[str]] = defaultdict(list)
    for test in sorted(known, key=lambda t: (reach.tests[t], t)):
        files[test.split("::")[0]].append(test)
    sizes = Counter(test.split("::")[0] for test in reach.tests)
    costs = {file: COLLECTED * sizes[file] + sum(reach.tests[test] for test in tests) for file, tests in files.items()}
    ordered = sorted(files, key=lambda f: (costs[f], f))
    holding = [file for file in ordered if WHOLE.search(f"{file}::")]
    quick = ordered[:QUICK_FILES] if mutant.local or not holding else []
    held = [file for file in holding if file not in quick]
    own = [file for file in ordered if file not in quick and file not in held and namesakes(file, mutant.file)]
    others = [file for file in ordered if file not in quick and file not in held and file not in own]
    runs: list[Job] = []
    for names, most, of_file in (
        (quick, budget, budget), (held, 2 * budget, budget), (own, 2 * budget, budget), (others, budget, budget / 3)
    ):  # fmt: skip
        chosen, seconds = [], 0.0
        for file in names:
            spent = 0.0
            for test in files[file]:
                if chosen and (seconds + reach.tests[test] > most or spent > of_file):
                    break
                chosen.append(test)
                seconds, spent = seconds + reach.tests[test], spent + reach.tests[test]
        if chosen:
            runs.append((mutant, chosen, seconds))
    return runs or [(mutant, [], 0.0)]


def tried(nursery: Nursery, waiting: list[list[Job]], told: Callable[[Verdict], None], end: float = math.inf) -> None:
    """Every mutant's first run, unless it would begin after `end`; then the second of those that survived it; then the
    third.
    """
    while waiting:
        further = {runs[0][0]: runs[1:] for runs in waiting}
        survived: list[Mutant] = []

        def heard(verdict: Verdict, further: dict[Mutant, list[Job]] = further, to: list[Mutant] = survived) -> None:
            if verdict.outcome == "survived" and further[verdict.mutant]:
                to.append(verdict.mutant)
            else:
                told(verdict)

        nursery.run(
            itertools.takewhile(
                lambda _, end=end: time.monotonic() < end,  # type: ignore[misc]
                [runs[0] for runs in waiting],
            ),
            heard,
        )
        waiting, end = [further[mutant] for mutant in survived], math.inf


def main() -> None:
    ask = argparse.ArgumentParser(prog="make mutants")
    ask.add_argument("files", nargs="*", default=["layouts", "app"])
    ask.add_argument("-n", type=int, default=300)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS", "2")))
    ask.add_argument("--budget", type=float, default=20.0, help="seconds of tests a mutant, as they take unharmed")
    ask.add_argument("--root", type=Path, default=ROOT)
    ask.add_argument(
        "--minutes",
        type=float,
        default=1e9,
        help="begin no mutant later; the report counts those that ran, in random order",
    )
    ask.add_argument(
        "--resume", action="store_true", help="keep the kills of an earlier run of this sample, and try the others"
    )
    ask.add_argument(
        "--again", action="store_true", help="only what survived the last run; its section says what is noticed since"
    )
    ask.add_argument(
        "--slow", type=float, default=1e9, help="tests that took longer are not recorded anew when their file changed"
    )
    ask.add_argument("--no-record", action="store_true", help="the recorded reach as it is")
    ask.add_argument("--no-report", action="store_true", help="print, and leave docs/mutants.md as it is")
    given = ask.parse_args()
    root, work_at = given.root, given.root / "build" / "mutants"
    files = sources(root, given.files)
    last: list[Verdict] = []
    if given.again or given.resume:
        last, equal, seed, count = pickle.loads((work_at / "verdicts.pickle").read_bytes())
    drawn = survivors(root, last) if given.again else sample(root, files, given.n, given.seed)
    reach = Reach.at(
        root,
        work_at / "reach.pickle",
        browser=any(not file.endswith(".py") for file in files),
        record=not given.no_record,
        slow=given.slow,
    )
    known = equivalent.read()
    same = [mutant for mutant in drawn if equivalent.of(mutant, known) is not None]
    verdicts = [v for v in last if v.mutant in drawn and v.outcome not in report.LEFT]
    left = [
        mutant
        for mutant in drawn
        if mutant not in {v.mutant for v in verdicts} and equivalent.of(mutant, known) is None
    ]
    random.Random(given.seed).shuffle(left)

    def told(verdict: Verdict) -> None:
        m = verdict.mutant
        verdicts.append(verdict)
        spent = f"[{verdict.tests} tests, {verdict.seconds:.0f} s]"
        print(
            f"{len(verdicts)}/{len(drawn)} {verdict.outcome:9} {m.file}:{m.line} {m.change[:150]} {spent} {verdict.by}",
            flush=True,
        )
        if not given.again:
            saved(work_at / "verdicts.pickle", (verdicts, same, given.seed, len(drawn)))

    tested = sorted({test.split("::")[0] for test in reach.tests if "/browser/" not in test})
    nursery = Nursery(root, work_at, given.jobs, tested, reach.runs_in_tests_alone)
    end = time.monotonic() + 60 * given.minutes
    tried(nursery, [order(reach, mutant, given.budget) for mutant in left], told, end)
    while spurious := nursery.fail_unharmed(sorted({v.by for v in verdicts if v.by and "(collection)" not in v.by})):
        print("these fail without a fault, too:", *sorted(spurious))
        undone = [v.mutant for v in verdicts if v.by in spurious]
        verdicts[:] = [v for v in verdicts if v.by not in spurious]
        for test in spurious:
            reach.tests.pop(test, None)
        tried(nursery, [order(reach, mutant, given.budget) for mutant in undone], told)
    nursery.close()
    if given.again:
        since = {v.mutant.known_by for v in verdicts if v.outcome not in report.LEFT}
        equal += [v.mutant for v in last if v.outcome in report.LEFT and equivalent.of(v.mutant, known) is not None]
        text = report.written([v for v in last if v.mutant not in equal], equal, seed, count, since)
    else:
        text = report.written(verdicts, same, given.seed, len(drawn))
    if given.no_report:
        print(text)
    else:
        report.kept(root / "docs" / "mutants.md", given.files, text)


if __name__ == "__main__":
    main()
