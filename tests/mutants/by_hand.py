"""`python -m tests.mutants.by_hand [WORD…]`: plant faults that somebody thought of, one at a time, and run the tests
that ought to notice each. by_hand.toml holds them: what a random fault seldom hits, as a link that loses a pin.

WORD: only those whose kind, file or text has it.
"""

from __future__ import annotations

import argparse
import datetime
import os
import pickle
import signal
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutants import report
from tests.mutants.chosen import Chosen, run_tests
from tests.mutants.fault import Fault, faults, fits
from tests.mutants.operators import flat
from tests.mutants.plant import copied, load_libraries, planted, saved

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "build" / "mutants" / "by-hand.pickle"
TITLE = "planted by hand"


class Named(Chosen):
    """The tests that the names stand for, and why the first failed."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for name in self.order for item in items if fits(item.nodeid, name)]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        super().pytest_runtest_logreport(report)
        if report.failed and not self.reason:
            lines = [line[1:].strip() for line in report.longreprtext.split("\n") if line.startswith("E ")]
            self.reason = next(iter(lines), "")


def tried(tree: Path, fault: Fault, number: int) -> tuple[str, str]:
    """(the test that failed, why); ("", "") where all passed. RuntimeError: no test ran."""
    out = Path(tempfile.mkdtemp()) / "failed"
    mutant = fault.mutant((tree / fault.file).read_text())
    with planted(tree, mutant, number):
        pid = os.fork()
        if pid == 0:
            run_tests(tree, list(fault.tests), out, chosen=Named(list(fault.tests)))
        _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return f"{fault.tests[0]} (crashed)", signal.Signals(os.WTERMSIG(status)).name
    log = out.with_name("log").read_text()
    if not out.is_file() or os.waitstatus_to_exitcode(status) not in (0, 1, 2, 4):
        raise RuntimeError(f"{fault.tests}: {log[-2000:]}")
    failed, _, reason = out.read_text().partition("\n")
    return failed, reason


def written(told: Sequence[tuple[Fault, str]]) -> str:
    """The section of docs/mutants.md: a row a kind, and the survivors."""
    planted, found = Counter(f.kind for f, _ in told), Counter(f.kind for f, by in told if by)
    out = [
        f"Date {datetime.date.today()}. {len(told)} faults that somebody thought of (tests/mutants/by_hand.toml), each"
        f" against the tests that ought to notice it: {sum(found.values())} were noticed.",
        "",
        "| A fault of | planted | noticed |",
        "|---|---:|---:|",
        *(f"| {kind} | {count} | {found[kind]} |" for kind, count in sorted(planted.items())),
    ]
    left = [fault for fault, by in told if not by]
    out += ["", "Survivors:" if left else "No survivors.", ""]
    out += [f"- {f.file}, {f.kind}: {report.code(flat(f'{f.old} → {f.new}'))}" for f in left]
    return "\n".join(out).rstrip() + "\n"


def earlier() -> dict[Fault, str]:
    """What earlier runs found: each fault with the test that noticed it, "" for none."""
    found: dict[Fault, str] = pickle.loads(KEPT.read_bytes()) if KEPT.is_file() else {}
    return found


def main() -> None:
    ask = argparse.ArgumentParser(prog="make planted")
    ask.add_argument("words", nargs="*")
    ask.add_argument("--patience", default="10", help="seconds that a browser test waits for what does not come")
    ask.add_argument("--resume", action="store_true", help="keep what an earlier run found, and try the others")
    ask.add_argument("--only", choices=["live", "other"], help="scripts that a browser is handed, or the rest")
    given = ask.parse_args()
    os.environ["LANESCOPE_PATIENCE"] = given.patience
    if not given.resume:
        KEPT.unlink(missing_ok=True)
    kept = earlier()
    chosen = [f for f in faults() if all(word in f"{f.kind} {f.file} {f.old}" for word in given.words)]
    left = [f for f in chosen if not kept.get(f) and (not given.only or f.live is (given.only == "live"))]

    def tell(fault: Fault, by: str, reason: str) -> None:
        kept.update(earlier() | {fault: by})  # another run may go on beside this one
        saved(KEPT, kept)
        print(f"{'found   ' if by else 'SURVIVED'} {fault.kind}: {fault.file} {flat(fault.new)[:90]}", flush=True)
        print(f"         {by} {reason[:200]}" if by else f"         {fault.tests}", flush=True)

    if live := [fault for fault in left if fault.live]:
        from tests.mutants.live import Live  # and with it how long browser tests wait

        files = sorted({test.split("::")[0] for fault in live for test in fault.tests})
        options = "-q -o addopts= -p no:cacheprovider -p no:xdist --benchmark-disable".split()
        pytest.main([*options, *files], [Live(live, tell)])
    if other := [fault for fault in left if not fault.live]:
        load_libraries()
        tree = copied(ROOT, ROOT / "build" / "mutants" / "by-hand")
        for number, fault in enumerate(other):
            tell(fault, *tried(tree, fault, number))
    told = [(fault, kept[fault]) for fault in chosen if fault in kept]
    print(f"{sum(bool(by) for _, by in told)} of {len(told)} found")
    if len(told) == len(faults()):
        report.kept(ROOT / "docs" / "mutants.md", [TITLE], written(told))


if __name__ == "__main__":
    main()
