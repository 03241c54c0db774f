"""Every parser of the engine and the pages, given any text: a value, or a refusal that says what is wrong. Nothing
else, nothing slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from lanescope import find
from lanescope.app.banks import facts as bank_facts, questions as bank_questions
from lanescope.app.hardware import user_matrices
from lanescope.app.instruction import state
from lanescope.app.kit.api import parse_json
from lanescope.app.memory import descriptors as memory
from lanescope.app.memory.verdicts import parse_view
from lanescope.app.metadata import facts as metadata
from lanescope.errors import LayoutError
from lanescope.inputs import parse_digits, parse_integer, parse_pair, parse_ranges
from lanescope.product.planning import make_plan
from lanescope.ptx import catalog
from lanescope.reader.code.descriptors.code_words import build_word
from lanescope.shared import banks
from lanescope.shared.storage import KEYS, storage
from tests.cases import for_each
from tests.sample import choose_count

MMA = find("mma.m16n8k16.row.col.f32.f16.f16.f32")
WGMMA = find("wgmma.mma_async.m64n8k16.f32.f16.f16")
COMMON = settings(max_examples=choose_count(120, 40), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def parse_or_refusal(parse: Callable[[], Any]) -> Any:
    """What the parser gives, or the LayoutError it refuses with; anything else is a fault."""
    try:
        return parse()
    except LayoutError as error:
        assert error.code and error.message and len(str(error)) < 3000
        return error


def generate_texts(*words: str) -> st.SearchStrategy[str]:
    """Any text, and text made of pieces of what is legal."""
    pieces = st.lists(st.sampled_from(words) | st.text(max_size=4), max_size=8)
    return st.text(max_size=60) | pieces.map("".join)


opcodes = generate_texts(
    "mma",
    "wgmma",
    ".mma_async",
    ".sync",
    ".aligned",
    ".m16n8k16",
    ".m64n8k16",
    ".row",
    ".col",
    ".f32",
    ".f16",
    "::",
    ".sp",
    " ",
    "(",
    "ldmatrix",
    ".x4",
    ".b16",
    "m" * 50,
    "9" * 30,
)


@COMMON
@given(opcodes)
def test_instructions(text: str) -> None:
    found = parse_or_refusal(lambda: catalog.find(text))
    if not isinstance(found, LayoutError):
        assert catalog.find(found.ptx) is found or catalog.find(found.ptx).ptx == found.ptx
    parse_or_refusal(lambda: parse_view({"instruction": text}))


@for_each("repeat", ["mma ", "mma.", "mma.sync.", "wgmma::", "mma\n", "ldmatrix.x4", "a.mma", "mma . "])
def test_long_texts_are_searched_in_one_pass(repeat: str) -> None:
    """64 KiB, the most a pasted instruction may have; a search that looks twice at everything would take minutes."""
    parse_or_refusal(lambda: catalog.find(repeat * (65536 // len(repeat))))
    parse_or_refusal(lambda: parse_view({"instruction": repeat * 100_000}))


numbers = generate_texts("0x", "0b", "00", "12", "_", "'", "ull", "Z", "-", " ", "f", "9" * 40)


@COMMON
@given(numbers)
def test_numbers(text: str) -> None:
    found = parse_or_refusal(lambda: parse_integer(text, "k"))
    if isinstance(found, int):
        read = parse_digits(text.strip())
        assert read and read[0] == found >= 0 and text.isascii()
        assert (
            parse_integer(f"0{text.strip()}", "k") == found
            if read[1] == 10
            else parse_integer(hex(found), "k") == found
        )


@COMMON
@given(
    st.integers(0, 2**64 - 1),
    st.sampled_from(["", "u", "l", "ll", "ul", "ull", "lu", "llu", "z", "U", "LL", "ULL"]),
    st.integers(0, 5),
)
def test_numbers_printed_are_read_back(value: int, suffix: str, zeros: int) -> None:
    for text in (
        "0" * zeros + str(value),
        f"{value:_}",
        f"{value:#x}",
        f"{value:#_x}",
        f"{value:#b}",
        f"{value:_}".replace("_", "'"),
    ):
        assert parse_integer(text + suffix, "k") == value


@COMMON
@given(generate_texts("0", "-", ",", "31", "99", "0x1", " ", "1-2"))
def test_ranges_and_pairs(text: str) -> None:
    spans = parse_or_refusal(lambda: parse_ranges(text, "lanes", 32))
    assert isinstance(spans, LayoutError) or all(0 <= first <= last < 32 for first, last in spans)
    parse_or_refusal(lambda: parse_pair(text, "at"))


@COMMON
@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: generate_texts("0-3", "8", "d:", "3,2", ",", "g", "lane:value", "0", "-") for name in state.SPEC
        },
    )
)
def test_states_of_a_page(query: dict[str, str]) -> None:
    """Whatever the query: a state that can be shown, and that says itself again."""
    chosen, notices = state.parse_state(MMA, query)
    assert len(notices) <= len(query)
    threads, pin = chosen.parse_threads(), chosen.pinned()
    assert threads is None or (threads and max(threads) < 32)
    assert pin is None or (pin[1] < 16 and pin[2] < 16)
    again, none = state.parse_state(MMA, {name: str(getattr(chosen, name)) for name in state.SPEC})
    assert again == chosen and not none


@COMMON
@given(generate_texts("0", "16", ",", " ", "-", "null", "0x10", ";", ":", "ldmatrix.x4", "rows"))
def test_addresses_and_accesses(text: str) -> None:
    given_ = parse_or_refusal(lambda: banks.parse_addresses(text))
    if isinstance(given_, list):
        parse_or_refusal(lambda: banks.compute_cost(banks.ACCESSES["ld.shared.b32"], given_))
    parse_or_refusal(lambda: [bank_facts.parse_use(item) for item in bank_questions.parse_accesses(text)])
    parse_or_refusal(lambda: bank_facts.parse_use({"swizzle": text}))


anything = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | generate_texts("0x10", "128B", "K", "MN", "tile", "k", "64")
    | st.lists(st.integers(), max_size=2)
)


@COMMON
@given(st.sampled_from(sorted(KEYS)), st.data())
def test_storages(kind: str, data: st.DataObject) -> None:
    """Any values of the right keys: addresses that are whole numbers of 64 bits, or a refusal that names a key of the
    storage.
    """
    values = dict.fromkeys(KEYS[kind], anything)
    spec = data.draw(st.fixed_dictionaries({"kind": st.just(kind)}, optional=values)) | {"kind": kind}
    found = parse_or_refusal(lambda: storage(spec, 16, "K"))
    if isinstance(found, LayoutError):
        assert found.field.removeprefix("storage.") in ("kind", *KEYS[kind])
    else:
        assert np.asarray(found.address(np.arange(8)[:, None], np.arange(16)[None, :])).dtype == np.int64


@COMMON
@given(
    generate_texts("swizzle=", "128B", ",", "major", "=", "MN", "from=registers", "mn=64", "k", "9" * 30),
    generate_texts("major=K", ",", "k=32", "base="),
)
def test_options_of_programs(a: str, b: str) -> None:
    parse_or_refusal(lambda: make_plan(WGMMA, a, b))


@COMMON
@given(
    generate_texts(
        "desc.bitfield.", "start_address_", " = ", "16 >> 4", ";", "return ", "uint64_t d", "(", ")", "|", "smem"
    )
)
def test_code(text: str) -> None:
    parse_or_refusal(lambda: build_word(text))
    parse_or_refusal(lambda: memory.parse_descriptor(text))


@COMMON
@given(
    generate_texts(
        "i",
        "row",
        "+",
        "0x",
        "f" * 300,
        "0b11",
        "1_000",
        "1e400",
        ".5",
        "(",
        ")",
        "?",
        ":",
        "<<",
        "[",
        "]",
        "\n",
        " ",
        "9" * 50,
    )
)
def test_matrices_of_ones_own(text: str) -> None:
    parse_or_refusal(lambda: user_matrices.check_matrices(MMA, {"a": text}))


@for_each("entry", [True, "5", None, [1], {}, 10**400, float("nan"), "1" * 50], ids=str)
def test_a_matrix_holds_numbers(entry: Any) -> None:
    with pytest.raises(LayoutError) as caught:
        user_matrices.check_matrices(MMA, {"a": [[entry] * 16] * 16})
    assert caught.value.field == "a"


@COMMON
@given(generate_texts("0x44444444", "44", " ", ",", "_", "ee", "g"))
def test_metadata_words(text: str) -> None:
    words = parse_or_refusal(lambda: metadata.parse_words(text, 32))
    assert isinstance(words, LayoutError) or (len(words) == 32 and all(0 <= word < 1 << 32 for word in words))


@COMMON
@given(
    st.binary(max_size=60)
    | generate_texts('{"', '"', ":", ",", "[", "]", "}", "NaN", "1e400", "\\ud800", "null", "9" * 50).map(
        lambda text: text.encode("utf-8", "replace")
    )
)
def test_bodies(raw: bytes) -> None:
    parse_or_refusal(lambda: parse_json(raw))
