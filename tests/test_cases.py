"""A table that is one test fails with every row that is wrong, and names it."""

from __future__ import annotations

import inspect

import pytest

from tests.cases import for_each


def test_every_row_is_asked_and_every_wrong_one_is_named() -> None:
    seen = []

    @for_each(("number", "square"), [(2, 4), (3, 8), (4, 16), (5, 20)])
    def test(number: int, square: int) -> None:
        seen.append(number)
        assert number * number == square

    with pytest.raises(ExceptionGroup, match="2 of 4 cases fail") as failed:
        test()
    assert seen == [2, 3, 4, 5]
    assert [error.__notes__ for error in failed.value.exceptions] == [["case 3, 8"], ["case 5, 20"]]


def test_one_wrong_row_fails_as_itself_and_by_its_name() -> None:
    @for_each("text", ["a", "b"], ids=lambda text: f"the letter {text}")
    def test(text: str) -> None:
        with pytest.raises(ValueError):
            int("x" if text == "a" else "1")

    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE") as failed:
        test()
    assert failed.value.__notes__ == ["case the letter b"]


def test_fixtures_stay_arguments_and_an_empty_table_is_an_error() -> None:
    @for_each("row", [1])
    def test(client: str, row: int) -> None:
        assert (client, row) == ("a client", 1)

    assert list(inspect.signature(test).parameters) == ["client"]
    test(client="a client")
    with pytest.raises(AssertionError, match="no cases"):
        for_each("row", [])


def test_a_table_that_is_a_function_is_listed_when_the_test_runs() -> None:
    listed, seen = [], []

    def list_rows() -> list[int]:
        listed.append(True)
        return [1, 2] if len(listed) == 1 else []

    @for_each("row", list_rows)
    def test(row: int) -> None:
        seen.append(row)

    assert not listed
    test()
    assert seen == [1, 2]
    with pytest.raises(AssertionError, match="no cases"):
        test()
