"""One test for a table of cases. `pytest.mark.parametrize` makes a test of every row, and what pytest does around a
test takes longer than most rows do.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

from tests.sample import THOROUGH, take_rows

Test = TypeVar("Test", bound=Callable[..., None])
Names = Callable[[Any], object] | Sequence[str] | None

Case = tuple[int, list[Any]]  # its number and its values
Cases = Iterable[Any] | Callable[[], Iterable[Any]]


def for_each(
    names: str | Sequence[str], cases: Cases, ids: Names = None, sample: int | str | None = None
) -> Callable[[Test], Test]:
    """Return a decorator that runs a test for every case and reports every case that fails.

    Arguments are those of `pytest.mark.parametrize`; cases that take long to list are a function, called when the test
    runs and not by every process that collects it. Fixtures are set up once: use it for tests that change nothing of
    theirs. `sample` is how many of the cases `make test` runs, those that differ most, or the name of which it runs one
    case of each value; .ci/run runs all of them.
    """
    wanted = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = None if callable(cases) else list(cases)
    assert listed != [], f"no cases of {wanted}"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            rows = list(cases()) if callable(cases) else listed
            assert rows, f"no cases of {wanted}"
            failures: list[BaseException] = []
            asked = _take_part(
                [(n, [row] if len(wanted) == 1 else list(row)) for n, row in enumerate(rows)], wanted, sample
            )
            assert asked, f"no cases of {wanted} in the sample"
            for number, values in asked:
                try:
                    test(**fixtures, **dict(zip(wanted, values, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case {_name_case(ids, number, values)}")
                    failures.append(error)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(asked)} cases fail", failures)

        parameters = inspect.signature(test).parameters.values()
        left = [one.replace(kind=one.KEYWORD_ONLY) for one in parameters if one.name not in wanted]
        run_all.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        return run_all  # type: ignore[return-value]

    return decorate


def _take_part(cases: list[Case], wanted: Sequence[str], sample: int | str | None) -> list[Case]:
    """Return the cases of a sample: so many that differ most in their values, or the first of each value of a name."""
    if sample is None or THOROUGH:
        return cases
    if isinstance(sample, str):
        column = wanted.index(sample)
        return list({repr(case[1][column]): case for case in reversed(cases)}.values())[::-1]
    if len(wanted) == 1:
        return take_rows(cases, sample)
    seen: set[tuple[int, str]] = set()
    left, taken = list(cases), []
    while left and len(taken) < sample:
        values = {case[0]: set(enumerate(map(repr, case[1]))) for case in left}
        taken.append(max(left, key=lambda case: len(values[case[0]] - seen)))
        left.remove(taken[-1])
        seen |= values[taken[-1][0]]
    return sorted(taken, key=lambda case: case[0])


def _name_case(ids: Names, number: int, values: Sequence[Any]) -> str:
    """Return a name as pytest gives it: that of `ids`, else what the values print as."""
    if ids is None:
        return ", ".join(repr(value)[:200] for value in values)
    return ids[number] if isinstance(ids, Sequence) else " ".join(str(ids(value)) for value in values)
