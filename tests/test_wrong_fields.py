"""Forms with several wrong fields: each keeps what was typed and says what is wrong of it; the answer is 422."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

from lanescope.app.kit.question import declare_question, fields_of, number_field, read_question, text_field, word_field
from lanescope.app.kit.question_form import answer_without_wrong, find_wrong_fields, form_of
from lanescope.errors import LayoutError, join_errors
from tests.cases import for_each
from tests.client import Client

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
LDMATRIX = "ldmatrix.sync.aligned.m8n8.x4.shared.b16"
# Address of a page → its wrong fields as typed.
WRONG = {
    "/scale-factors": {"m": "abc", "n": "-1", "tile_k": ""},
    "/tmem": {"m": "abc", "n": "", "access": "zz"},
    "/tmem/epilogue": {"m": "1.5", "n": "zz", "access": "tcgen05.cp"},
    "/triton-dot": {"m": "0", "n": "abc", "k": ""},
    "/idesc": {"kind": "f16", "a": "pink", "m": "abc", "n": "zz"},
    "/zero-column-mask": {"m": "abc", "n": "zz", "skip_span": "99999"},
    f"/kernel/{MMA}": {"a.pitch_bytes": "17", "a.swizzle": "77", "b.pitch_bytes": "abc"},
    f"/kernel/{WGMMA}": {"a.kind": "pink", "b.mn": "7", "d.scale": "2"},
    f"/kernel/{LDMATRIX}": {"data.pitch_bytes": "17", "data.swizzle": "x"},
    f"/steps/{MMA}": {
        "k_step": "9",
        "s_pitch_bytes": "abc",
        "row": "16",
        "col": "x",
        "seed": "-1",
        "a": "(",
        "c": ")",
    },
    f"/steps/{MMA}?": {"load_a": "pink", "load_b": "blue", "major_a": "T", "col": "8", "row": "16"},
    f"/steps/{WGMMA}": {"a_swizzle": "77", "b_major": "T", "b_descriptor": "zz", "data_a": "(", "seed": "x"},
    f"/steps/{LDMATRIX}": {"values": "(", "addresses": "zz", "s_pitch_bytes": "x", "s_base": "yy"},
    "/diagram": {"ptx": MMA, "cell": "xx", "lanes": "99", "scale": "77", "rows": "abc", "theme": "pink", "colour": "q"},
}
WRONG |= {
    "/descriptor/wgmma": {"sbo_bytes": "99999999", "lbo_bytes": "abc", "swizzle": "pink", "slice_mn": "q", "s_mn": "x"},
    "/descriptor/tcgen05": {"sbo_bytes": "12", "version": "9", "start_address": ""},
    "/descriptor/wgmma/0x4000004000010100": {
        "s_mn": "abc",
        "s_base": "",
        "slice_k": "q",
        "compare": "zz",
        "operand": "c",
    },
    "/smem": {"mn": "", "k": "abc", "base": "-1"},
    "/chain": {"mma": "zz", "s_pitch_bytes": "abc", "s_base": "", "operand": "z"},
    "/layouts/tv?": {"cute": "(4,8", "stored": "zz", "to": "pink", "element_bits": "abc"},
    "/layouts/tv": {"slice": "zz", "to": "pink", "element_bits": "abc", "axes": "q"},
    "/layouts/triton": {"to": "zz", "axes": "q", "at": "z"},
    "/tiles/copy": {"bits": "abc", "element_bits": "q", "pitch_bytes": "-1", "swizzle": "pink"},
    "/tiles/copy?": {"bits": "100", "element_bits": "7", "atom": "zz", "tile": "q"},
    "/idesc?": {"m": "", "n": "zz"},
    f"/metadata/{SPARSE}": {"words": "zz", "selector": "99"},
    "/banks": {"access": "pink", "row_bytes": "abc", "pad": "", "swizzle": "7", "accesses": "ldmatrix.x4:rows, blue"},
    "/deliver": {"instruction": "zz", "pitch_bytes": "abc", "moves": "pink"},
    "/dump": {"descriptor": "zz", "instruction": "blue", "base": "-1", "slice_k": "q"},
    "/weights": {"k": "abc", "n": "0x"},
}
RIGHT = {("/diagram", "ptx"), ("/idesc", "kind")}
KINDS = {
    "/idesc?": {"kind": "f16", "a": "bf16", "negate_a": "no", "transpose_a": "K", "sparse": "no"},
    "/descriptor/wgmma": {"s_kind": "canonical"},
    "/descriptor/wgmma/0x4000004000010100": {"s_kind": "canonical"},
    "/chain": {"s_kind": "rows"},
    f"/steps/{MMA}": {"s_kind": "rows"},
    f"/steps/{LDMATRIX}": {"s_kind": "rows"},
}


@dataclass
class Forms(HTMLParser):
    """The controls of a page: name → typed value, of those that are marked as wrong and of the others."""

    wrong: dict[str, str] = field(default_factory=dict)
    right: dict[str, str] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)  # id → text of an error

    def __post_init__(self) -> None:
        super().__init__()
        self._control: tuple[dict[str, str], str] | None = None  # (where it belongs, its name)
        self._shown = False  # whether text is the control's value
        self._message = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        if tag in ("input", "select", "textarea") and "name" in given and given.get("type") not in ("hidden", "file"):
            found = self.wrong if given.get("aria-invalid") == "true" else self.right
            found[given["name"]] = given.get("value", "")
            self._control = None if tag == "input" else (found, given["name"])
            self._shown = tag == "textarea"
        elif tag == "option" and self._control:
            self._shown = "selected" in given and "value" not in given  # a word that is not offered is its own text
            if "selected" in given and "value" in given:
                self._control[0][self._control[1]] = given["value"]
        elif "data-error" in given:
            self._message = given["id"]

    def handle_data(self, data: str) -> None:
        if self._control and self._shown:
            self._control[0][self._control[1]] += data.strip()
        if self._message:
            self.messages[self._message] = self.messages.get(self._message, "") + data

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._control = None
        if tag in ("option", "textarea"):
            self._shown = False
        if tag == "small":
            self._message = ""


def read_forms(client: Client, path: str, query: dict[str, str]) -> tuple[int, Forms]:
    answer, forms = client.get(path, params=query), Forms()
    forms.feed(answer.text)
    return answer.status_code, forms


@for_each("path", list(WRONG), sample=10)
def test_every_wrong_field_says_so_and_keeps_what_was_typed(client: Client, path: str) -> None:
    typed = {name: text for name, text in WRONG[path].items() if (path, name) not in RIGHT}
    status, forms = read_forms(client, path, WRONG[path] | KINDS.get(path, {}))
    assert status == 422
    assert {name: text for name, text in forms.wrong.items() if text} == {n: t for n, t in typed.items() if t}
    assert set(forms.wrong) == set(typed)
    for name in typed:
        assert len(forms.messages[f"{name}-error"]) > 10, name


def test_a_banner_names_the_wrong_fields(client: Client) -> None:
    assert "M is wrong. The picture" in " ".join(client.get("/tmem?m=abc").text.split())
    assert "M and N are wrong. The picture" in " ".join(client.get("/tmem?m=abc&n=").text.split())
    assert "K is 5. kind::f16 has 16 here." in client.get("/tmem?k=5").text  # the form does not show K


def test_another_access_of_the_banks_page_is_named_in_its_error(client: Client) -> None:
    """The fields of the first access are its own; that of the others names each of them."""
    said = [
        ({"accesses": "st.shared.b128:diagonal"}, "accesses", "diagonal"),
        ({"accesses": "ldmatrix.x4, st.shared.b32:0 1 2"}, "accesses", "3 addresses for st.shared.b32"),
        ({"address": "0 1 2"}, "address", "3 addresses for ldmatrix.x4"),
    ]
    for query, name, words in said:
        status, forms = read_forms(client, "/banks", query)
        assert status == 422 and set(forms.wrong) == {name}
        message = forms.messages[f"{name}-error"]
        assert words in message and "accesses." not in message and "1.access" not in message, message


@declare_question
class Sheet:
    """A sheet of paper."""

    width: int = number_field(8, "Width", "In centimetres.", least=1, most=100)
    height: int | None = number_field(None, "Height", "In centimetres.")
    colour: str = word_field(("white", "grey"), "Colour", "Of the paper.")
    text: str = text_field("none", "Text", "On it.")


def test_a_question_reports_all_its_wrong_fields() -> None:
    with pytest.raises(LayoutError) as refused:
        read_question(Sheet, {"width": "0", "height": "x", "colour": "pink"})
    assert [error.field for error in refused.value.every] == ["width", "height", "colour"]
    controls = form_of(Sheet, {"width": "0", "height": "x"}, error=refused.value)
    assert controls["width"].error == "Width is '0'. Give an integer from 1 to 100."
    assert controls["height"].error and controls["colour"].error and not controls["text"].error


def test_an_emptied_field_is_wrong_if_it_has_a_default() -> None:
    error = find_wrong_fields(fields_of(Sheet), {"width": " ", "height": "", "text": ""})
    assert error and [one.field for one in error.every] == ["width", "text"]
    assert find_wrong_fields(fields_of(Sheet), {"height": "", "colour": "grey"}) is None


def test_an_answer_without_the_wrong_fields_names_them_all() -> None:
    def answer(kept: dict[str, str]) -> int:
        for name, text in kept.items():
            if not text.isdecimal():
                raise LayoutError("bad_number", f"{name} is '{text}'.", "A number.", name)
        if int(kept.get("rows", 1)) < int(kept.get("row", 0)):
            raise LayoutError("bad_row", "There is no such row.", "", "row")
        return sum(map(int, kept.values()))

    total, error = answer_without_wrong(answer, {"a": "1", "b": "x", "c": "y"})
    assert total == 1 and error and [one.field for one in error.every] == ["b", "c"]
    assert answer_without_wrong(answer, {"a": "1"}) == (1, None)
    total, error = answer_without_wrong(answer, {"a": "1", "row": "3"}, find_name=lambda error: "")
    assert total == 0 and error and error.code == "bad_row"  # an error that names none of them
    sent = {"rows": "x", "row": "3"}  # whether row 3 exists is not known
    total, error = answer_without_wrong(answer, sent, depends=lambda name, wrong: (name, wrong) == ("row", "rows"))
    assert error and [one.field for one in error.every] == ["rows"]


def test_joined_errors_have_one_error_for_each_field() -> None:
    first, second = (LayoutError("bad", f"{name} is wrong.", field=name) for name in "ab")
    joined = join_errors((None, first, second, LayoutError("bad", "a again.", field="a")))
    assert joined and [(one.field, one.message) for one in joined.every] == [("a", "a is wrong."), ("b", "b is wrong.")]
    assert joined.move_to_field("c").every[1].field == "b" and join_errors(()) is None
    assert not joined.every[0].others


def test_a_descriptor_with_wrong_fields_has_no_verdict_and_keeps_the_others(client: Client) -> None:
    query = {"sbo_bytes": "17", "lbo_bytes": "0x10", "start_address": "0x2000", "swizzle": "64B", "instruction": WGMMA}
    _, forms = read_forms(client, "/descriptor/wgmma", query | {"s_kind": "rows", "s_pitch_bytes": "144"})
    assert forms.right["word"] == "0x8000????00010200"  # the digits with bits of SBO are not known
    kept = {
        "lbo_bytes": "0x10",
        "start_address": "0x2000",
        "swizzle": "64B",
        "instruction": WGMMA,
        "s_pitch_bytes": "144",
    }
    assert forms.right.items() >= kept.items()
    assert forms.messages["sbo_bytes-error"] == "SBO, bytes [45:32] is 17, not a multiple of 16. Nearest: 16."
    for path in ("/descriptor/wgmma?sbo_bytes=17", "/descriptor?word=0xzz", "/descriptor/wgmma/zz?s_kind=canonical"):
        answer = client.get(path)
        assert answer.status_code == 422 and 'id="verdict"' not in answer.text
        assert "This word reads" not in answer.text and "No verdict while the word is not known" in answer.text
    _, forms = read_forms(client, "/descriptor", {"word": "0xzz"})
    assert forms.wrong == {"word": "0xzz"} and forms.right["sbo_bytes"] == forms.right["start_address"] == ""


def test_a_page_ignores_what_it_does_not_know_and_a_program_is_told(client: Client) -> None:
    """Old and shared links keep opening; a program that misspells a parameter must not get another answer."""
    pages = ("/idesc", "/zero-column-mask", f"/kernel/{MMA}", f"/i/{MMA}", "/scale-factors", "/smem", "/diagram")
    for path in pages:
        assert client.get(path, params={"unknown": "1"}).status_code == 200, path
    for path in (f"/kernel/{MMA}.cu", f"/i/{MMA}.svg", "/smem.svg", "/api/v1/smem/tile", f"/api/v1/instructions/{MMA}"):
        assert client.get(path, params={"unknown": "1"}).status_code == 422, path


def test_a_program_without_rows_still_has_the_field_of_their_pitch(client: Client) -> None:
    """The program is written without "rows"; the error of their pitch needs its field."""
    answer = client.get(f"/kernel/{WGMMA}", params={"b": "kind=rows,major=K"})
    assert answer.status_code == 422 and 'name="b.pitch_bytes"' in answer.text
    assert re.search(r'id="b.pitch_bytes-error" role="alert">[^<]*is empty', answer.text)
