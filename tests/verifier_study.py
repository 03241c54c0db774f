"""What the verifier says of the programs and mistakes of tests/blunders.py, alone and two at a time; `make diagnoses`
writes docs/diagnoses.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from lanescope.app.memory.verdicts import Verified, build_verified
from tests import blunders
from tests.blunders import BLUNDERS, compute_first_start
from tests.right_programs import MASK, TMA, WIDTH, DescriptorProgram, build_word, make_programs


@dataclass
class StudyRow:
    """What was said of one kind of mistake."""

    code: str
    asked: int = 0
    named: int = 0
    alike: int = 0  # another of these mistakes gives the same word for the same data, and it was named
    second: int = 0  # named, after another cause
    other: int = 0
    harmless: int = 0  # the wrong word reads the right bytes


FIRST = 5


def run_study(seed: int, count: int, every: int = 1) -> dict[str, StudyRow]:
    """Ask the verifier about every mistake of `count` programs, or about one in `every` wrong words: of the next
    program about others, and about each mistake's first FIRST; ValueError where a verdict, a repair or a storage is
    wrong.
    """
    rows: dict[str, StudyRow] = {}
    for number, p in enumerate(make_programs(seed, count)):
        if build_verified(p.ask(build_word(p))).verdict != "match":
            raise ValueError(f"called wrong: {p}")
        made: dict[tuple[int, str], set[tuple[str, str]]] = {}
        where: dict[str, dict[str, Any] | None] = {}
        for code, name, function in BLUNDERS:
            wrong = function(p)
            if wrong is not None:
                given, stored = wrong if isinstance(wrong, tuple) else (wrong, None)
                where[repr(stored)] = stored
                made.setdefault((given & MASK, repr(stored)), set()).add((code, name))
        for turn, ((given, key), names) in enumerate(made.items(), number):
            if turn % every and all(name in rows and rows[name].asked >= FIRST for _, name in names):
                continue
            told = build_verified(p.ask(given, where[key]))
            for code, name in names:
                row = rows.setdefault(name, StudyRow(code))
                row.asked += 1
                if told.verdict == "match":
                    row.harmless += 1
                    continue
                said = [d.code for d in told.diagnoses]
                row.named += said[0] == code
                row.alike += said[0] != code and said[0] in {c for c, _ in names}
                row.second += code in said[1:]
                row.other += said[0] not in {c for c, _ in names} and code not in said
            _is_repair_sound(p, given, where[key], told)
    return rows


def _is_repair_sound(p: DescriptorProgram, given: int, stored: dict[str, Any] | None, told: Verified) -> None:
    """A repair verifies, and the word verifies under the storage that is named for it."""
    for diagnosis in told.diagnoses:
        fix = diagnosis.fix
        if fix and build_verified(p.ask(int(fix.descriptor, 16), stored)).verdict != "match":
            raise ValueError(f"no repair: {p} {given:#x} {fix}")
        if (
            diagnosis.storage
            and diagnosis.code.startswith("stored_")
            and build_verified(p.ask(given, diagnosis.storage)).verdict != "match"
        ):
            raise ValueError(f"no storage: {p} {given:#x} {diagnosis.storage}")


def format_table(rows: dict[str, StudyRow]) -> str:
    """The study as Markdown."""
    lines = [
        "| mistake | its name | words | named first | the same word as another | second | another cause |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in sorted(rows.items(), key=lambda item: (item[1].code, item[0])):
        shown = (
            name.replace("_", " "),
            f"`{row.code}`",
            row.asked - row.harmless,
            row.named,
            row.alike,
            row.second,
            row.other,
        )
        lines.append("| " + " | ".join(map(str, shown)) + " |")
    return "\n".join(lines)


def count_totals(rows: dict[str, StudyRow]) -> tuple[int, int, int]:
    """(wrong words asked about, named first or as an equal word's mistake, given another cause)."""
    values = rows.values()
    return (
        sum(r.asked - r.harmless for r in values),
        sum(r.named + r.alike for r in values),
        sum(r.other for r in values),
    )


# two mistakes ---------------------------------------------------------------------------------------------------------

# A wrong amount, and then a wrong way to pack the amounts: each program that makes both.
AMOUNTS: dict[str, Callable[[DescriptorProgram], DescriptorProgram | None]] = {
    "k_step_missing": lambda p: replace(p, start=compute_first_start(p)) if p.at_k else None,
    "k_advance_past_atom": lambda p: replace(p, start=compute_first_start(p) + p.at_k * p.size) if p.at_k else None,
    "tma_swizzle_enum": lambda p: replace(p, code=TMA[p.swizzle]) if TMA[p.swizzle] != p.code else None,
    "lbo_sbo_swapped": lambda p: replace(p, lbo=p.sbo, sbo=p.lbo),
    "sbo_is_row_pitch": lambda p: replace(p, sbo=WIDTH[p.swizzle]) if p.swizzle != "none" else None,
    "other_slice": lambda p: (
        replace(p, start=blunders.replace_fields(p, at_mn=0).start) if p.at_mn and not p.at_mn % p.rows else None
    ),
}
PACKED: dict[str, Callable[[DescriptorProgram], Any]] = {
    "bytes_not_shifted": blunders.everything_in_bytes,
    "high_word_missing": blunders.cut_to_32_bits,
    "words_exchanged": blunders.halves_exchanged,
    "generic_pointer": blunders.pointer_not_masked,
    "shifts_of_32_bits": blunders.mode_shifted_as_int,
}


def study_pairs(seed: int, count: int) -> dict[tuple[str, str], list[int]]:
    """(mistake, mistake) → [words, both named, one of them named] of `count` programs that make two mistakes; words
    that show one alone are left out.
    """
    out: dict[tuple[str, str], list[int]] = {}
    for p in make_programs(seed, count):
        alone = {w for w in (function(p) for _, _, function in BLUNDERS) if isinstance(w, int)} | {build_word(p)}
        for amount, slip in AMOUNTS.items():
            wrong = slip(p)
            for packed, pack in PACKED.items():
                given = pack(wrong) if wrong else None
                if wrong is None or given is None or given in alone or given == pack(p) or given == build_word(wrong):
                    continue
                told = build_verified(p.ask(given))
                if told.verdict == "match":
                    continue
                _is_repair_sound(p, given, None, told)
                said = {d.code for d in told.diagnoses}
                row = out.setdefault((amount, packed), [0, 0, 0])
                row[0] += 1
                row[1] += {amount, packed} <= said
                row[2] += bool({amount, packed} & said)
    return out


if __name__ == "__main__":
    from pathlib import Path

    SEED, COUNT = 20261121, 1000
    found = run_study(SEED, COUNT)
    asked, good, bad = count_totals(found)
    harmless = sum(r.harmless for r in found.values())
    Path("docs/diagnoses.md").write_text(
        "# What the verifier says about known mistakes\n\n"
        f"Written by `make diagnoses`: {COUNT} random right programs (types, operands, majors, swizzle modes, sizes, "
        f"slices, kinds of storage; seed {SEED}), each with every\n"
        "mistake of `tests/blunders.py` that applies to it. The mistakes are made by that file's own arithmetic.\n\n"
        f"Of {asked} wrong words the true cause was named first for {good} ({100 * good / asked:.1f} %), another cause "
        f"for {bad} ({100 * bad / asked:.1f} %). All verdicts were right, every\n"
        f"repair verified. {harmless} more words were wrong only in bits that nothing reads, and verified.\n\n"
        + format_table(found)
        + "\n"
    )
    print(f"{asked} words, {good} named, {bad} another cause")
