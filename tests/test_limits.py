"""Sizes end where the hardware's end, and texts where nothing legal is that long: each is refused before it costs
anything.
"""

from __future__ import annotations

import re

import pytest

from lanescope import reader
from lanescope.app.kit.examples import BODIES
from lanescope.app.kit.settings import Settings
from lanescope.app.main import create_app
from lanescope.descriptor.matrix import MOST_SHARED
from lanescope.errors import LayoutError
from lanescope.ptx import catalog
from lanescope.reader.words import printed_columns
from lanescope.shared.storage import storage
from lanescope.shared.swizzle import get_mode
from lanescope.shared.tiling import ELEMENT_BITS, Tile
from tests import asgi, hostile
from tests.asgi import send_request
from tests.cases import for_each
from tests.client import Client
from tests.sample import THOROUGH
from tests.test_work import LoopWatcher

EVERY, LONG = (241, 24) if THOROUGH else (723, 72)  # `make load` sends all of them
DRAWN = (".png", ".pdf")  # another process's work, and slow: `make load` asks for them


@for_each("bits", ELEMENT_BITS)
@for_each("swizzle", ["none", "32B", "64B", "128B"])
def test_a_tile_is_as_large_as_shared_memory(bits: int, swizzle: str) -> None:
    wide = Tile(bits, "K", get_mode(swizzle), 8, get_mode(swizzle).chunks * 128 // bits).k
    most = MOST_SHARED * 8 // bits // wide // 8 * 8
    assert Tile(bits, "K", get_mode(swizzle), most, wide).bytes <= MOST_SHARED
    with pytest.raises(LayoutError) as refused:
        Tile(bits, "K", get_mode(swizzle), most + 8, wide)
    assert (refused.value.code, refused.value.field) == (
        "too_large",
        "mn",
    ) and f"mn is at most {most}." in refused.value.hint


def test_the_longer_side_is_named() -> None:
    with pytest.raises(LayoutError, match="do not fit the 232448 bytes") as refused:
        Tile(16, "MN", get_mode("128B"), 128, 1024)
    assert refused.value.field == "k" and refused.value.hint.endswith("k is at most 904.")
    with pytest.raises(LayoutError) as refused:
        Tile(16, "K", get_mode("none"), 8 * 10**9, 8 * 10**9)
    assert refused.value.hint == "Make both smaller."


@for_each(
    "layout", ["(1000000,1000000):(1,1000000)", "(480,256):(256,1)", "((2,2),(1000000000000000000,3)):((1,1),(1,1))"]
)
def test_a_layout_has_as_many_elements_as_shared_memory(layout: str) -> None:
    with pytest.raises(LayoutError) as refused:
        storage({"kind": "cute", "layout": layout}, 16, "K")
    assert refused.value.field == "storage.layout"


def test_a_layout_that_fits_is_taken() -> None:
    assert storage({"kind": "cute", "layout": "(448,256):(256,1)"}, 16, "K").mn == 448


@pytest.mark.parametrize(
    "text", ["m" * 7900, "m" + "1" * 7900 + "n8k16", "m16n8k16" + ".satfinite" * 30, "m16n8k16." * 30000]
)
def test_a_long_opcode_is_refused_before_it_is_compared(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanescope.ptx.refusals.find_nearest", lambda *_: pytest.fail("compared"))
    with pytest.raises(LayoutError, match="at most 256") as refused:
        catalog.find(f"mma.sync.aligned.{text}")
    assert refused.value.code == "unknown_instruction" and len(str(refused.value)) < 400


def test_every_opcode_is_shorter() -> None:
    assert max(len(i.ptx) for i in catalog.instructions()) < catalog.LONGEST_OPCODE


# small requests that asked for much, or for what nobody had thought of ------------------------------------------------


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


def test_requests_that_mean_harm_are_refused_or_answered_and_hold_nobody_up() -> None:
    app = create_app(settings=Settings(cache_bytes=1 << 20))
    every = hostile.generate_requests(app.openapi(), BODIES)
    assert len(every) > 1500
    asgi.run_coroutine(send_request(app, "GET", "/i/nothing"))  # the error page's frame is worked out once

    async def run() -> None:
        chosen = [one for n, one in enumerate(every) if n % EVERY == 0 or ("digits" in one[0] and n % LONG == 0)]
        for name, method, address, body in chosen:
            if any(form in address for form in DRAWN):
                continue
            answer = await send_request(app, method, address, body, headers={"accept-encoding": "br"})
            assert answer.status < 500, (name, answer.status, answer.body[:300])
            assert len(answer.body) < 16 << 20, name
            assert answer.status < 400 or len(answer.body) < 20 << 10 or answer.body.startswith(b"<!doctype"), name
            assert app.state.work.cache.held_bytes <= 1 << 20 and app.state.work.jobs == 0

    with LoopWatcher() as watched:
        asgi.run_coroutine(run())
    app.state.work.close()
    app.state.hardware.pool.close()
    assert not watched.computed(), watched.computed()
