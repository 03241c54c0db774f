"""Everything the verifier says of many wrong words, held: each mistake of tests/blunders.py in a few programs, two at a
time, words with random fields, and words without a storage. Which cause is named first, in which words and with which
repair, changes only on purpose.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

from lanescope.app.kit.encode import dumps
from lanescope.app.memory import descriptors as memory
from tests.blunders import BLUNDERS
from tests.held import held
from tests.right_words import Program, pack, programs, word
from tests.study import AMOUNTS, PACKED


def said(given: dict[str, Any]) -> list[str]:
    """The verdict, and each diagnosis in a line."""
    told = json.loads(dumps(memory.verify_facts(given)))
    lines = [f"    {told['verdict']} {told.get('matched')} of {told.get('total')}, first {told.get('first_mismatch')}"]
    for d in told["diagnoses"]:
        fix = f" | {d['fix']['descriptor']} {d['fix']['changes']}" if d["fix"] else ""
        lines.append(f"    {d['code']}: {d['message']}{fix}" + (f" | {d['storage']}" if d["storage"] else ""))
    lines += [f"    fits {fit}" for fit in told.get("fits") or ()]
    return [*lines, *(f"    note {note}" for note in told.get("warnings") or ())]


def heading(p: Program) -> str:
    return f"{p.instruction} {p.operand} {p.major} {p.storage} at mn {p.at_mn}, k {p.at_k}"


def test_single_mistakes() -> None:
    lines: list[str] = []
    for p in programs(11, 8):
        lines.append(heading(p))
        for _, name, function in BLUNDERS:
            wrong = function(p)
            if wrong is not None:
                given, stored = wrong if isinstance(wrong, tuple) else (wrong, None)
                lines += [f"  {name} {given:#x}", *said(p.ask(given, stored))]
    held("diagnoses_single", "\n".join(lines) + "\n")


def test_two_mistakes() -> None:
    lines: list[str] = []
    for p in programs(12, 4):
        lines.append(heading(p))
        for amount, slip in AMOUNTS.items():
            wrong = slip(p)
            for packed, make in PACKED.items():
                given = make(wrong) if wrong else None
                if isinstance(given, int):
                    lines += [f"  {amount} and {packed} {given:#x}", *said(p.ask(given))]
    held("diagnoses_double", "\n".join(lines) + "\n")


def test_random_fields() -> None:
    """Nothing that anyone meant: what is left is the repair search, and the fields by their names."""
    dice = random.Random(13)
    lines: list[str] = []
    for p in programs(13, 90):
        start, lbo, sbo, base, code = p.start, p.lbo, p.sbo, 0, p.code
        for _ in range(dice.choice((1, 1, 2, 3))):
            match dice.randrange(5):
                case 0:
                    start += 16 * dice.randrange(-64, 64)
                case 1:
                    lbo = 16 * dice.randrange(0, 512)
                case 2:
                    sbo = 16 * dice.randrange(0, 512)
                case 3:
                    base = dice.randrange(8)
                case 4:
                    code = dice.randrange(4)
        given = pack(max(0, start), lbo, sbo, base, code)
        lines += [heading(p), f"  {given:#x} for {word(p):#x}", *said(p.ask(given))]
    held("diagnoses_random", "\n".join(lines) + "\n")


def test_words_without_a_storage() -> None:
    lines: list[str] = []
    for p in programs(14, 16):
        given = {key: value for key, value in p.ask(word(p)).items() if key not in ("storage", "slice")}
        lines += [heading(p), f"  {word(p):#x}", *said(given)]
        bent = replace(p, sbo=p.sbo + 16)
        lines += [f"  {word(bent):#x}", *said(given | {"descriptor": f"{word(bent):#018x}"})]
    held("diagnoses_without_storage", "\n".join(lines) + "\n")
