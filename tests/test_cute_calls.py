"""CuTe's algebra as text: the steps against pycute over random layouts, the page, the API and the command."""

from __future__ import annotations

from html import unescape
from urllib.parse import quote

import numpy as np
import pycute
import pytest

from lanescope.cute import algebra
from lanescope.cute.calls import OPS, evaluate_statements, find_nearest_fits, format_value
from lanescope.cute.layout import CuteLayout
from lanescope.cute.spelling import format_cxx, format_python
from lanescope.cute.tuples import list_leaves
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client
from tests.test_algebra import make_random_layout, to_pycute

THEIRS = {  # pycute's function of an operation that both define alike
    "composition": "composition",
    "complement": "complement",
    "coalesce": "coalesce",
    "right_inverse": "right_inverse",
    "logical_divide": "logical_divide",
}


@for_each("name", THEIRS)
def test_expressions_are_pycutes(name: str) -> None:
    """In three spellings each; where both give a layout it is the same function, and refusals name their condition."""
    rng = np.random.default_rng(sum(map(ord, name)))
    spellings = (str, format_cxx, format_python)
    told = refused = 0
    for number in range(120):
        a, b = make_random_layout(rng, 96), make_random_layout(rng, 24)
        if name in ("complement", "right_inverse") and 0 in list_leaves(a.stride):
            continue
        pair = not OPS[name].takes(1)
        spell = spellings[number % 3]
        text = f"{name}({spell(a)}{f', {spell(b)}' if pair else ''})"
        last = evaluate_statements(text)[-1]
        if last.error:
            refused += 1
            assert last.error.field == "expression" and last.error.hint, text
            continue
        try:
            want = getattr(pycute, THEIRS[name])(*([to_pycute(a), to_pycute(b)] if pair else [to_pycute(a)]))
        except (AssertionError, ZeroDivisionError):
            continue
        if name == "composition" and b.cosize > a.size:
            continue  # past A's end each goes on in its own way
        if (
            name == "logical_divide"
            and [want(at) for at in range(last.result.size)] != last.result.list_indices().tolist()
        ):
            continue  # pycute counts the complement differently past the end: test_algebra holds ours
        assert [want(at) for at in range(last.result.size)] == last.result.list_indices().tolist(), text
        told += 1
    assert told >= 30, (told, refused)


@for_each(
    ("text", "results"),
    [
        ("(6,2):(8,2) o (4,3):(3,1)", ["((2,2),3):((24,2),8)"]),
        ("A = (6,2):(8,2)\nB = (4,3):(3,1)\nA o B", ["(6,2):(8,2)", "(4,3):(3,1)", "((2,2),3):((24,2),8)"]),
        ("auto A = make_layout(make_shape(4, 8), LayoutRight{}); cute::size(A)", ["(4,8):(8,1)", "32"]),
        ("A = (4,8):(8,1); A(2,_); A(2,3); A(9)", ["(4,8):(8,1)", "(8):(1)", "19", "10"]),
        ("slice((2,_), (4,8):(8,1))", ["(8):(1)"]),
        ("cute.zipped_divide(cute.make_layout((8,16), stride=(16,1)), (4,8))", ["((4,8),(2,2)):((16,1),(64,8))"]),
        ("upcast<2>((8,4):(1,8))", ["(4,4):(1,4)"]),
        (
            "logical_divide((9,(4,8)):(59,(13,1)), <3:3,(2,4):(1,8)>)",
            ["((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"],
        ),
        ("composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})(1,_)", ["Sw<3,3,3> o 64 o (64):(1)"]),
        ("flatten(coalesce(((2,2),4):((1,2),4)))  # a comment", ["16:1", "16:1"]),
        ("tile_to_shape((2,2):(1,2), (4,4))", ["((2,2),(2,2)):((1,4),(2,8))"]),
        ("tile_to_shape((2,2):(1,2), (4,4), Step<_0,_1>)", ["((2,2),(2,2)):((1,4),(2,8))"]),
        ("tile_to_shape((2,2):(1,2), (4,4), Step<_1,_0>)", ["((2,2),(2,2)):((1,8),(2,4))"]),
    ],
)
def test_statements_in_every_dialect(text: str, results: list[str]) -> None:
    assert [format_value(step.result) for step in evaluate_statements(text)] == results


@for_each(
    ("text", "parts"),
    [
        ("convert_layout_acc_rowcol((4,1,8):(1,0,4))", ["((2,2),1,8):((1,2),0,4)"]),
        ("convert_layout_acc_rowcol(((2,2),1,8):((1,2),0,4))", []),
        ("convert_layout_acc_Aregs((4,2,8):(1,4,8))", ["(4,2,(2,4)):(1,4,(8,16))"]),
        ("convert_layout_acc_Aregs<16>(((2,2,8),2,2):((1,2,4),32,64))", ["8:4", "(2,4):(4,8)"]),
        ("convert_layout_acc_Aregs<8>(((2,2,8),2,2):((1,2,4),32,64))", ["8:4", "((2,2),2):((4,8),16)"]),
    ],
)
def test_a_conversion_of_accumulators_says_how_flashattention_divides_them(text: str, parts: list[str]) -> None:
    """FlashAttention 3, hopper/utils.h: convert_layout_acc_rowcol and convert_layout_acc_Aregs."""
    (step,) = evaluate_statements(text)
    assert [str(part.result) for part in step.parts] == parts


def test_a_divide_says_what_cute_makes_of_it() -> None:
    (step,) = evaluate_statements("logical_divide((4,2,3):(2,1,8), 4:2)")
    assert [(part.op, str(part.result)) for part in step.parts] == [
        ("complement", "(2,3):(1,8)"),
        ("composition", "((2,2),(2,3)):((4,1),(2,8))"),
    ]
    assert str(step.parts[-1].result) == str(step.result)


@for_each(
    ("text", "said"),
    [
        ("composition((4,6):(1,8), 6:3)", "Shape Divisibility Condition"),
        ("composition((4,6,2):(1,8,50), 2:6)", "Stride Divisibility Condition"),
        ("complement((4,2):(1,3), 24)", "Non-injective"),
        ("left_inverse((3,2):(2,3))", "Left inverse divisibility"),
        ("(4,8):(8,1)(4,_)", "past the end of a mode of size 4"),
        ("complement(Sw<3,3,3> o (8,64):(64,1))", "ComposedLayout"),
        ("zipped_divide((4,8):(8,1), (2,2,2))", "has 3 modes"),
        ("complement(4:2, (2,_))", "not sizes"),
        ("upcast((4,8):(8,1), 2:1)", "not a number"),
        ("composition((4,8):(8,1))", "has 1 argument."),
    ],
)
def test_a_refused_step_says_why(client: Client, text: str, said: str) -> None:
    last = evaluate_statements(text)[-1]
    assert last.error is not None and last.result is None and said in last.error.message
    answer = client.get(f"/api/v1/cute?expression={quote(text)}")
    assert answer.status_code == 422 and answer.json()["error"]["field"] == "expression"
    page = client.get(f"/cute?expression={quote(text)}")
    assert (
        page.status_code == 200
        and unescape(page.text).count(last.error.message) == page.text.count('role="alert"') == 1
    )


@for_each(
    ("text", "said"),
    [
        ("", "is empty"),
        ("4", "is not an operation"),
        ("compositon(4:1, 2:1)", "Did you mean composition?"),
        ("A o B", "has the name 'A'"),
        ("composition(4:1, 2:1", "ends before a bracket"),
        ("size = 4:1", "is an operation"),
        ("x" * 5000, "characters"),
        ("composition((1024,1024):(1,1024), 4:1)", "elements"),
        (";".join(["size(4:1)"] * 70), "more than 64 steps"),
        ("(1024,1024):(1,1024)", "elements"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, said: str) -> None:
    with pytest.raises(LayoutError) as caught:
        made = evaluate_statements(text)
        if made[-1].error:
            raise made[-1].error
    assert said in str(caught.value)


def test_what_would_fit_fits() -> None:
    a = CuteLayout((4, 6), (1, 8))
    fits = find_nearest_fits(a, CuteLayout(6, 3), algebra.composition)
    assert [str(one) for one in fits] == ["6:2", "6:4", "2:3"]
    for one in fits:
        made = algebra.composition(a, one)
        assert [made(at) for at in range(one.size)] == [a(int(one(at))) for at in range(one.size)]


def test_an_expression_that_cannot_be_read_is_a_bad_request(client: Client) -> None:
    page = client.get("/cute?expression=compositon(4:1)")
    assert page.status_code == 422 and "Did you mean composition?" in unescape(page.text)
