"""Small requests that asked for much, or for what nobody had thought of: each is answered or refused, and soon."""

from __future__ import annotations

import re

from lanescope import reader
from lanescope.reader.words import printed_columns
from tests.cases import for_each
from tests.client import Client


@for_each(
    "expression",
    [
        "logical_product(65536:0, 65536:1)",
        "blocked_product(65536:0, 65536:1)",
        "logical_divide(65536:1, 65536:65536)",
        "complement(65536:1, 2147418112)",
        "composition(Sw<2,0,3> o 1:0, 0)",
    ],
)
def test_a_result_too_large_to_draw_is_not_drawn(client: Client, expression: str) -> None:
    """Gigabytes, once: the operands are bounded, the result of a product is not."""
    answer = client.get("/cute", params={"expression": expression})
    assert answer.status_code == 200 and len(answer.text) < 400_000


@for_each("expression", ["complement(4:1, 2:1)", "with_shape(4:1, 2:1)", "tile_to_shape(2, 24, 4:2)"])
def test_a_layout_where_sizes_are_due_is_refused(client: Client, expression: str) -> None:
    answer = client.get("/api/v1/cute", params={"expression": expression})
    assert answer.status_code == 422 and re.search("not sizes|not an order of modes", answer.json()["error"]["message"])


@for_each(
    "query",
    [
        {"d_at": "400", "n": "256", "look": "512"},
        {"d_at": "400", "n": "256", "access": "tcgen05.ld.32x32b.x32", "at": "0:510"},
    ],
)
def test_beyond_the_columns_of_tensor_memory(client: Client, query: dict[str, str]) -> None:
    assert client.get("/tmem", params=query).status_code == 200


def test_a_form_without_its_text_and_with_a_long_other(client: Client) -> None:
    assert client.post("/layouts/triton", data={"text": "", "to": "x" * 8000}).status_code < 500


@for_each("text", ["p/x $R12\n$1 = 0123\np/x $R13\n$2 = 0x1\ndesc", "p/x $R12\n$1 = " + "1" * 5000])
def test_odd_answers_of_a_debugger_are_read(text: str) -> None:
    assert reader.recognise_text(text) is not None


def test_blanks_after_a_question_cost_their_length() -> None:
    """By steps, not by time: a pattern of several unbounded runs would try them all against each other."""
    assert printed_columns.find_debugger_questions("p" + " " * 60_000 + "x\n$1 = 0x1") == {}
    assert printed_columns.find_debugger_questions("p/x desc_a  \n$1 = 0x4000") == {
        len("p/x desc_a  \n$1 = "): "desc_a"
    }


@for_each("path", ["/layouts/tv", "/layouts/triton"])
def test_a_thread_in_hex_is_the_thread_that_is_named(client: Client, path: str) -> None:
    page = client.get(path, params={"thread": "0x5"}).text
    assert "<h2>Thread 5 <small>" in page


def test_a_load_that_faults_has_no_wavefronts(client: Client) -> None:
    page = client.get("/tiles/loop", params={"a_pitch": "100", "a_swizzle": "none"}).text
    assert "A: Thread 1 reads 16 bytes at byte 100" in page and "no bank conflicts" not in page
