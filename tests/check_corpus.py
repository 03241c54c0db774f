"""`make corpus REPOS="DIR …"`: what check says of checked-out repositories, and of planted mistakes.

A file counts if it, or a header that it includes, multiplies with wgmma or tcgen05.mma and builds a matrix descriptor
in code; these are found by their words, not by the reader that is measured. Headers that a counted file includes are
counted with it. tests/golden/check_findings.txt has which findings in public files are mistakes: precision is taken
over these, and a finding that is not judged there is printed. `-w` writes both tables into docs/check.md.
"""

from __future__ import annotations

import argparse
import gc
import re
import resource
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lanescope.app.check import checking
from lanescope.app.check.facts import CheckFinding, CheckReport, find_sources
from lanescope.app.check.headers import HeaderFinder
from lanescope.app.check.merging import merge_reports
from lanescope.app.check.running import UNREAD, describe_missing
from lanescope.workbench.source.gaps import find_multiplier

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "check.md"
JUDGED = Path(__file__).parent / "golden" / "check_findings.txt"
BUILDER = re.compile(
    r"<<\s*(?:46|61|62)\b|\bbitfield\b|(?:Smem|Gmma|Matrix|UMMA)_?Desc(?:riptor)?\b|matrix_?desc|smem_?desc"
    r"|make_\w*desc|desc\w*\s*\|="
)
STORED = re.compile(
    r"cuTensorMapEncode|make_tma_(?:copy|atom)|tensorMapEncode|init_tensor_map|st\.shared|cp\.async\.c[ag]"
)
HEAD = (
    "| Repository | Files with a builder and an MMA | Descriptor seen | With their storage | Read verified | Reads"
    " | Findings | False |"
)


@dataclass(frozen=True)
class RepositoryRow:
    """What came of one repository. counted: names of the files that count; stored: those that also say how a tile is
    stored; seconds: of processor time; lines: of the files that were checked, with what they include.
    """

    name: str
    report: CheckReport
    counted: frozenset[str]
    stored: frozenset[str]
    lines: int
    seconds: float

    def format(self, judged: dict[tuple[str, str, int, str], bool]) -> str:
        files = [source for source in self.report.sources if source.file in self.counted]
        seen = sum(source.descriptors > 0 for source in files)
        verified = [source for source in files if source.verified]
        with_storage = sum(source.file in self.stored for source in files)
        false = sum(judged.get(self._key(finding)) is False for finding in self.report.findings)
        unjudged = sum(self._key(finding) not in judged for finding in self.report.findings)
        findings = f"{len(self.report.findings)}" + (f" ({unjudged} not judged)" if unjudged else "")
        return (
            f"| {self.name} | {len(files)} | {seen} | {with_storage} | {len(verified)}"
            f" | {sum(source.verified for source in files):,} | {findings} | {false} |"
        )

    def _key(self, finding: CheckFinding) -> tuple[str, str, int, str]:
        place = finding.place
        folder = self.name.replace("/", "+")  # as it is checked out
        return self.name, place.file.partition(f"{folder}/")[2], place.line, finding.code

    def list_unjudged(self, judged: dict[tuple[str, str, int, str], bool]) -> Iterator[str]:
        for finding in self.report.findings:
            if self._key(finding) not in judged:
                yield f"{finding.place.file}:{finding.place.line}: {finding.message} [{finding.code}]"

    def list_missing(self) -> Iterator[str]:
        """Yield what each counted file without a verified read lacks."""
        for source in self.report.sources:
            if source.file in self.counted and not source.verified:
                left = "not read" if UNREAD in source.gaps else "nothing"
                yield f"{source.file}: {describe_missing(source) or left}"

    def count_gaps(self) -> Counter[str]:
        files = [source for source in self.report.sources if source.file in self.counted]
        return sum((Counter(source.gaps) for source in files), Counter[str]())


def read_judged() -> dict[tuple[str, str, int, str], bool]:
    """Return (repository, file, line, code) → whether the finding is a mistake of the file."""
    judged: dict[tuple[str, str, int, str], bool] = {}
    for line in JUDGED.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            name, file, number, code, verdict, *_ = line.split()
            judged[name, file, int(number), code] = verdict == "mistake"
    return judged


def measure_repository(folder: Path, seconds: float, jobs: int, defines: dict[str, str]) -> RepositoryRow:
    """Check the files of a checked-out repository that count. seconds: for each file."""
    includes = [folder, *(path for path in sorted(folder.rglob("include")) if path.is_dir())]
    finder = HeaderFinder([path.as_posix() for path in includes])
    sources = checking.join_sources(list(find_sources([str(folder)])), finder, defines, seconds)
    code = [job for job in sources.jobs if not job.source.name.endswith(".txt")]  # prose about kernels
    counted = [job for job in code if find_multiplier(job.source.text) and BUILDER.search(job.source.text)]
    within = {piece.name for job in counted for piece in job.source.pieces if piece.name != job.source.name}
    counted = [job for job in counted if job.source.name not in within]
    gc.set_threshold(100_000, 20, 50)  # as the command has it (app/check/verbs.py)
    begin = _measure_processor_time()
    report = merge_reports(checking.run_jobs(counted, jobs))
    return RepositoryRow(
        folder.name.replace("+", "/"),
        report,
        frozenset(job.source.name for job in counted),
        frozenset(job.source.name for job in counted if STORED.search(job.source.text)),
        sum(job.source.text.count("\n") for job in counted),
        _measure_processor_time() - begin,
    )


def _measure_processor_time() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def list_lines(rows: Sequence[RepositoryRow]) -> Iterator[str]:
    """List the table of repositories, what is missing for the rest, and the speed."""
    judged = read_judged()
    yield HEAD
    yield "|---" * (HEAD.count("|") - 1) + "|"
    yield from (row.format(judged) for row in rows)
    yield ""
    gaps = sum((row.count_gaps() for row in rows), Counter[str]())
    told = "; ".join(f"{count:,} {gap}" for gap, count in gaps.most_common(8))
    yield f"Descriptors without a verdict, by the reason: {told or 'none'}."
    lines, seconds = sum(row.lines for row in rows), sum(row.seconds for row in rows)
    yield ""
    rate = lines / max(seconds, 0.01)
    yield f"{lines:,} lines with their includes took {seconds:,.0f} s of processor time: {rate:,.0f} lines a second."


def write_section(name: str, lines: Sequence[str]) -> None:
    """Replace what stands in docs/check.md between two comments."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    _, _, after = rest.partition(end)
    PAGE.write_text(f"{before}{begin}\n\n" + "\n".join(lines) + f"\n\n{end}{after}", "utf-8")


def main() -> None:
    from tests import planted_mistakes

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folders", nargs="*", type=Path, help="checked-out repositories, named owner+name")
    parser.add_argument("-w", "--write", action="store_true", help="write the tables into docs/check.md")
    parser.add_argument("--details", action="store_true", help="print what each file without a verified read lacks")
    parser.add_argument("--planted", action="store_true", help="also plant the mistakes")
    parser.add_argument("--seconds", type=float, default=120.0, help="that one file may take")
    parser.add_argument("--jobs", type=int, default=checking.count_processors())
    given = parser.parse_args()
    rows = []
    for folder in given.folders:
        row = measure_repository(folder, given.seconds, given.jobs, {})
        rows.append(row)
        print(row.format(read_judged()), flush=True)
        for line in (*row.list_unjudged(read_judged()), *(row.list_missing() if given.details else ())):
            print(f"    {line}", flush=True)
    if rows:
        lines = list(list_lines(rows))
        print("\n".join(lines))
        if given.write:
            write_section("corpus", lines)
    if given.planted:
        lines = list(planted_mistakes.list_lines(planted_mistakes.plant_all()))
        print("\n".join(lines))
        if given.write:
            write_section("planted", lines)


if __name__ == "__main__":
    main()
