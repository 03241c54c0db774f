"""Patterns: parse, print, evaluate, inverse, CuTe, linear layouts and formulas, on sizes that cannot be confused."""

from __future__ import annotations

import itertools
from math import prod

import numpy as np
import pycute
import pytest
from hypothesis import given, strategies as st

from lanescope.cute.text import parse_layout
from lanescope.errors import LayoutError
from lanescope.ptx.pattern import FormulaWords, Pattern
from tests.cases import for_each

A = Pattern.parse("(g:8 t:4) (j:2 i:2 e:2) -> (i g) (j t e)")


@st.composite
def generate_patterns(draw: st.DrawFn, sizes: tuple[int, ...] = (2, 3, 5, 4, 7), copies: bool = True) -> Pattern:
    """Any pattern with up to five digits over two or three coordinates."""
    chosen = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=5).filter(lambda c: prod(c) <= 400))
    names = [f"d{n}" for n in range(len(chosen))]
    cut = draw(st.integers(0, len(names)))
    left = (
        f"({' '.join(f'{n}:{s}' for n, s in zip(names[:cut], chosen[:cut], strict=True))})"
        f" ({' '.join(f'{n}:{s}' for n, s in zip(names[cut:], chosen[cut:], strict=True))})"
    )
    used = draw(st.permutations(names))
    if copies:
        used = used[: draw(st.integers(0, len(used)))]
    axes = draw(st.integers(1, 3))
    cuts = sorted(draw(st.lists(st.integers(0, len(used)), min_size=axes - 1, max_size=axes - 1)))
    groups = [used[a:b] for a, b in itertools.pairwise([0, *cuts, len(used)])]
    return Pattern.parse(f"{left} -> {' '.join(f'({chr(32).join(g)})' for g in groups)}")


def evaluate_by_hand(pattern: Pattern, thread: int, value: int) -> tuple[int, ...]:
    """Digit by digit, with no NumPy: the definition itself."""
    digit = {}
    for number, group in ((thread, pattern.threads), (value, pattern.values)):
        for d in reversed(group):
            number, digit[d.name] = divmod(number, d.size)
    size = {d.name: d.size for d in pattern.digits}
    out = []
    for group_names in pattern.coords:
        total = 0
        for name in group_names:
            total = total * size[name] + digit[name]
        out.append(total)
    return tuple(out)


@given(generate_patterns())
def test_every_element_and_its_owners_are_found_one_at_a_time_too(pattern: Pattern) -> None:
    """As the arrays have them, in the same order."""
    places = [(t, v) for t in range(pattern.thread_count) for v in range(pattern.value_count)]
    for thread, value in places:
        assert pattern.element_at(thread, value) == evaluate_by_hand(pattern, thread, value)
    threads, values = pattern.inverse()
    for coords in itertools.product(*map(range, pattern.extents)):
        assert pattern.owners(*coords) == list(zip(threads[coords].tolist(), values[coords].tolist(), strict=True))


def test_an_element_outside_the_fragment_is_refused() -> None:
    for place in ((32, 0), (0, 8), (-1, 0)):
        with pytest.raises(LayoutError) as refused:
            A.element_at(*place)
        assert refused.value.code == "bad_coordinate"


@given(generate_patterns())
def test_prints_what_it_parses(pattern: Pattern) -> None:
    assert Pattern.parse(str(pattern)) == pattern


@given(generate_patterns())
def test_evaluates_to_its_definition(pattern: Pattern) -> None:
    arrays = pattern.evaluate()
    for thread in range(pattern.thread_count):
        for value in range(pattern.value_count):
            assert tuple(int(a[thread, value]) for a in arrays) == evaluate_by_hand(pattern, thread, value)


@given(generate_patterns())
def test_inverse_names_every_owner_once(pattern: Pattern) -> None:
    thread, value = pattern.inverse()
    pairs = sorted(zip(thread.ravel().tolist(), value.ravel().tolist(), strict=True))
    assert pairs == sorted(itertools.product(range(pattern.thread_count), range(pattern.value_count)))
    for coords in itertools.product(*map(range, pattern.extents)):
        owners = pattern.owners(*coords)
        assert len(set(owners)) == pattern.copies
        assert all(evaluate_by_hand(pattern, t, v) == coords for t, v in owners)


@given(generate_patterns())
def test_cute_text_means_the_same_to_pycute(pattern: Pattern) -> None:
    found = parse_layout(pattern.to_cute())
    layout = pycute.Layout(found.shape, found.stride)
    extents = pattern.extents
    for thread in range(pattern.thread_count):
        for value in range(pattern.value_count):
            index, expected = layout(thread, value), evaluate_by_hand(pattern, thread, value)
            coords = []
            for extent in extents:
                index, at = divmod(index, extent)
                coords.append(at)
            assert tuple(coords) == expected


@given(generate_patterns(sizes=(2, 4, 8)))
def test_linear_layout_adds_up_over_bits(pattern: Pattern) -> None:
    bases = pattern.linear_layout(warp_threads=4)
    assert bases is not None
    on_thread = bases["lane"] + bases["warp"]
    for thread, value in itertools.product(range(pattern.thread_count), range(pattern.value_count)):
        total = np.zeros(len(pattern.coords), dtype=int)
        for number, rows in ((thread, on_thread), (value, bases["register"])):
            for bit, basis in enumerate(rows):
                total ^= np.array(basis) * (number >> bit & 1)
        assert tuple(total) == evaluate_by_hand(pattern, thread, value)


@given(generate_patterns(copies=False))
def test_formulas_compute_the_map_and_its_inverse(pattern: Pattern) -> None:
    axes = tuple("xyz"[: len(pattern.coords)])
    words = FormulaWords("thread", "i")
    forward, inverse = pattern.forward_formula(axes, words), pattern.inverse_formula(axes, words)

    def compute(expression: str, **names: int) -> int:
        return int(eval(expression.replace("/", "//"), {}, names))

    for thread, value in itertools.product(range(pattern.thread_count), range(pattern.value_count)):
        coords = {axis: compute(forward[axis], thread=thread, i=value) for axis in axes}
        assert tuple(coords.values()) == evaluate_by_hand(pattern, thread, value)
        assert (compute(inverse["thread"], **coords), compute(inverse["i"], **coords)) == (thread, value)


def test_unit_digits_are_dropped_and_letters_bound() -> None:
    bound = Pattern.parse("(g:8 t:4) (j:k/4/v i:m/8 e:v) -> (i g) (j t e)", m=8, k=16, v=4)
    assert str(bound) == "(g:8 t:4) (e:4) -> (g) (t e)"


def test_a_known_element() -> None:
    assert A.owners(11, 2) == [(13, 2)]
    assert A.extents == (16, 16) and A.copies == 1
    assert prod(A.extents) == A.thread_count * A.value_count


@for_each(
    ("text", "complaint"),
    [
        ("(g:8) (e:2)", "no '->'"),
        ("(g:8) -> (g)", "1 groups left of"),
        ("(g:8) (e:2) ->", "nothing follows '->'"),
        ("(g:8) (e:2) -> (g) (x)", "'x' occurs on the right"),
        ("(g:8) (g:2) -> (g)", "twice on the left"),
        ("(g:8) (e:2) -> (g g)", "twice on the right"),
        ("(g:8 t) (e:2) -> (g)", "'t' is not a digit"),
        ("(g:8 t:) (e:2) -> (g)", "'' is not a size"),
        ("(g:q) (e:2) -> (g)", "'q' in the size of 'g'"),
        ("(g:8/3) (e:2) -> (g)", "not a multiple of 3"),
        ("g (g:8) (e:2) -> (g)", "outside parentheses"),
    ],
)
def test_a_bad_pattern_is_refused_with_the_part(text: str, complaint: str) -> None:
    with pytest.raises(LayoutError) as caught:
        Pattern.parse(text)
    assert complaint in caught.value.message and text in caught.value.message


@for_each(
    "text", ["", "(2,2)", "(2,2:1,2)", "((2,2):(1,2)", "(2,2):(1,2))", "(2,,2):(1,2)", "(2,2):(1,(2,3))", "(2,2):(1,x)"]
)
def test_a_bad_cute_text_is_refused(text: str) -> None:
    with pytest.raises(LayoutError):
        parse_layout(text)


def test_a_coordinate_outside_is_refused() -> None:
    for at in (16, -1, 1.5, "x", None):
        with pytest.raises(LayoutError, match="is not an integer from 0 to 15"):
            A.owners(at, 0)  # type: ignore[arg-type]
    with pytest.raises(LayoutError, match="It takes 2"):
        A.owners(1)


def test_no_linear_layout_without_powers_of_two() -> None:
    assert Pattern.parse("(g:8) (j:3) -> (g) (j)").linear_layout() is None
