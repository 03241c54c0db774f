"""C++ that builds descriptors: what the reader states is what g++ computes, or it is left open.

Written by hand (tests/golden/cxx) and generated (tests/cxx_programs.py). None may be wrong; the shares that are known
must not fall. A thirty-second of them is asked, no less than 4 of a file, and more of a file with a share of its own
(tests/sample.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import pytest

from tests import cpp
from tests.cxx_host import GOLDEN, loosen_statements, read_programs
from tests.cxx_oracle import ProgramVerdict, judge_programs, measure_known_share
from tests.cxx_programs import make_program
from tests.cxx_shapes import list_shapes
from tests.sample import choose_count, take_sample

pytestmark = pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
ORDINARY = 0.95  # of programs as most people write them
LEAST = {"styles": 0.9, "unseen": 0.04, "others": 0.6}  # of the files written by hand; the others mislead
LEAST_ASKED = {"styles": 20, "unseen": 70, "effects": 12}


def check_none_wrong(told: Sequence[ProgramVerdict]) -> None:
    wrong = [f"{one.program.title}: {one.reasons[0]}\n{one.program.code}" for one in told if one.kind == "wrong"]
    assert not wrong, f"{len(wrong)} of {len(told)} are wrong:\n" + "\n".join(wrong[:5])


@pytest.mark.thorough
def test_programs_written_by_hand() -> None:
    """Of every file none is wrong, and enough is known; g++ compiles and runs all of them."""
    files = {}
    for file in sorted(GOLDEN.glob("*.txt")):
        some = read_programs([file])
        files[file.stem] = take_sample(some, LEAST_ASKED.get(file.stem, max(4, len(some) // 32)))
    told = iter(judge_programs([one for some in files.values() for one in some]))
    groups: dict[str, list[ProgramVerdict]] = {}
    for name, some in files.items():
        groups.setdefault(name if name in LEAST else "others", []).extend(islice(told, len(some)))
    every = [one for group in groups.values() for one in group]
    assert not [one.program.title for one in every if one.kind == "failed"]
    check_none_wrong(every)
    shares = {name: measure_known_share(group) for name, group in groups.items()}
    low = {name: share for name, share in shares.items() if share < LEAST[name]}
    assert not low, [one.program.title for one in every if one.kind == "unknown"]


def test_statements_without_a_function() -> None:
    """The same statements give the same word, whatever the variable is called."""
    every = [one for file in ("bits", "ints", "macros") for one in read_programs([GOLDEN / f"{file}.txt"])]
    closed = [one for one in every if "SOMETHING_UNDEFINED" not in one.code]  # open: a word for each choice
    some = take_sample(closed, len(closed) // 40)
    check_none_wrong(
        judge_programs([loose for one in some for name in ("", "q") if (loose := loosen_statements(one, name))])
    )


def test_generated_programs_of_one_shape_each() -> None:
    shapes = take_sample(list(enumerate(list_shapes(), 1)), 24)
    check_none_wrong(judge_programs([make_program(n, only=name) for n, name in shapes]))


def test_generated_programs_of_everyday_code() -> None:
    told = judge_programs([make_program(n, plain=True) for n in range(1, choose_count(61, 13))])
    check_none_wrong(told)
    assert measure_known_share(told) >= ORDINARY


def test_generated_programs_of_every_construct() -> None:
    told = judge_programs([make_program(n) for n in range(1, choose_count(41, 9))])
    assert sum(one.kind == "failed" for one in told) <= 2
    check_none_wrong(told)


# the oracle itself ----------------------------------------------------------------------------------------------------
