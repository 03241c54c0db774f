"""What the kit answers, held word for word: errors, settings, headers, limits, logs, files and tables of the command
line, bounds of pictures, links and rows of the catalogue.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import called_kit, called_rooms
from tests.held import held

PARTS = {
    "errors": called_kit.of_errors, "settings": called_kit.of_settings, "server": called_kit.of_server,
    "pictures": called_kit.of_pictures, "rows": called_kit.of_rows,
}  # fmt: skip


def text_of(calls: list[called_kit.Call]) -> str:
    return "".join(f"{words}\n" + "".join(f"  {line}\n" for line in called_kit.answered(call)) for words, call in calls)


@pytest.mark.parametrize("room", called_rooms.ROOMS)
def test_what_a_room_answers_at_its_bounds(room: str) -> None:
    held(f"kit/of_{room}", text_of(list(called_rooms.ROOMS[room]())))


@pytest.mark.parametrize("part", PARTS)
def test_what_the_kit_answers(part: str) -> None:
    held(f"kit/{part}", text_of(list(PARTS[part]())))


def test_what_the_command_lines_own_functions_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    held("kit/terminal", text_of(list(called_kit.of_terminal())))
