"""C++ that builds descriptors: what the reader states is what g++ computes, or it is left open.

Written by hand (tests/golden/cxx) and generated (tests/cxx_programs.py). None may be wrong; the shares that are known
must not fall. A thirty-second of them is asked, no less than 4 of a file, and more of a file with a share of its own
(tests/sample.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pytest

from tests import cpp
from tests.cxx_host import GOLDEN, HostProgram, compile_and_run, loosen_statements, make_host_program, read_programs
from tests.cxx_oracle import ProgramVerdict, compare_program, judge_programs, measure_known_share
from tests.cxx_programs import make_program
from tests.cxx_shapes import list_shapes, read_shapes
from tests.sample import choose_count, take_sample

pytestmark = pytest.mark.skipif(cpp.find_compiler() is None, reason=cpp.MISSING)
ORDINARY = 0.95  # of programs as most people write them
LEAST = {"styles": 0.9, "unseen": 0.04, "others": 0.6}  # of the files written by hand; the others mislead
LEAST_ASKED = {"styles": 20, "unseen": 70, "effects": 12}
WORD = 0x4000004000010400
CODE = """uint64_t make() {
  uint64_t desc = 0x400 | 1ull << 16 | 64ull << 32;
  return desc | 1ull << 62;
}
"""


def check_none_wrong(told: Sequence[ProgramVerdict]) -> None:
    wrong = [f"{one.program.title}: {one.reasons[0]}\n{one.program.code}" for one in told if one.kind == "wrong"]
    assert not wrong, f"{len(wrong)} of {len(told)} are wrong:\n" + "\n".join(wrong[:5])


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


def test_there_are_enough_programs_and_shapes() -> None:
    some = read_programs()
    assert len(some) >= 600 and len({one.title for one in some}) == len(some)
    assert len(list_shapes()) >= 60 and sum(map(len, read_shapes().values())) >= 100


def test_a_seed_gives_the_same_program() -> None:
    assert make_program(7) == make_program(7) != make_program(8)
    assert len({make_program(n).code for n in range(200)}) == 200


def test_gcc_computes_the_words() -> None:
    symbols = make_host_program(
        "symbols", "uint64_t make(uint32_t a) { return a >> 4; }", {"with": "make(0x40); make(0x80)"}
    )
    undefined = make_host_program("undefined", "uint64_t make() { int by = 31, x = 5; return x << by; }")
    broken = make_host_program("broken", "uint64_t make() { return nothing; }")
    told = compile_and_run([make_host_program("right", CODE), symbols, undefined, broken])
    assert told[:2] == [(WORD,), (4, 8)]
    assert "left shift of 5" in str(told[2]) and str(told[3]).startswith("g++: ")


def test_a_right_word_is_right_and_another_is_wrong() -> None:
    one = make_host_program("one", CODE)
    assert compare_program(one, (WORD,)).kind == "right"
    assert [compare_program(one, (WORD ^ 1 << bit,)).kind for bit in (0, 16, 32, 49, 62)] == ["wrong"] * 5


def test_a_claim_about_symbols_must_hold_for_every_call() -> None:
    code = "uint64_t make(uint32_t a) { uint64_t desc = (a & 0x3FFFF) >> 4 | 1ull << 16 | 1ull << 62; return desc; }"
    one = make_host_program("one", code, {"with": "make(0x1000); make(0x2000)"})
    right = 1 << 16 | 1 << 62
    assert compare_program(one, (right | 0x100, right | 0x200)).kind == "right"
    assert compare_program(one, (right | 0x100, right | 0x300)).kind == "wrong"  # start a is not 0x3000 for 0x2000
    assert compare_program(one, (right | 0x100, right | 1 << 63 | 0x200)).kind == "wrong"  # the mode depends on a


def test_what_is_left_open_is_unknown() -> None:
    told = compare_program(make_host_program("open", CODE.replace("64ull", "uint64_t(elsewhere)")), (WORD,))
    assert told.kind == "unknown" and "elsewhere" in told.reasons[0]


def test_a_false_finding_is_wrong_and_a_true_one_is_not() -> None:
    code = "uint64_t make() { uint64_t desc = 0x400 | 1ull << 16 | (uint64_t)(1u << 33) << 40; return desc; }"
    one = make_host_program("one", code)
    word = compare_word(one)
    assert compare_program(one, (word,)).kind == "wrong"
    assert compare_program(replace(one, allow=frozenset({"shifts_of_32_bits"})), (word,)).kind == "right"


def compare_word(one: HostProgram) -> int:
    """The word that the reader states."""
    from tests.found_in_code import find_builders

    return next(built.word for built in find_builders(one.text) if built.word is not None)


def test_statements_are_taken_out_of_their_function() -> None:
    loose = loosen_statements(make_host_program("one", CODE), "q")
    assert loose is not None and "desc" not in loose.text and "return" not in loose.text
    assert compile_and_run([loose]) == [(WORD,)]
