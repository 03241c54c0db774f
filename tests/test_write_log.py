"""The evaluator's log of writes: what a branch or a loop has written, with the values before."""

from __future__ import annotations

from lanescope.reader.code.evaluator import Evaluator
from lanescope.reader.code.naming.scopes import Cell


def test_each_cell_is_listed_once_in_the_order_of_first_writes_with_its_value_before() -> None:
    ev = Evaluator("", 100)
    before, first, second = Cell(0), Cell(1), Cell(2)
    ev.write_cell(before, 5)
    start = len(ev.write_log)
    for cell, value in ((second, 20), (first, 10), (second, 21), (first, 11), (second, 22)):
        ev.write_cell(cell, value)
    journal = list(ev.list_writes_since(start).values())
    assert [cell for cell, _ in journal] == [second, first]
    assert [old for _, old in journal] == [2, 1]


def test_a_stretch_without_writes_lists_nothing() -> None:
    ev = Evaluator("", 100)
    ev.write_cell(Cell(0), 1)
    assert ev.list_writes_since(1) == {}
