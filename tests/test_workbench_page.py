"""The workbench outside: POST /read, the page /read, and its address. tests/golden/terminal has the command."""

from __future__ import annotations

import re
import zlib
from base64 import urlsafe_b64encode
from html import unescape
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest

from lanescope import workbench
from lanescope.app.read import workbench as benches
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.client import Client
from tests.guilty_kernels import CODE, KERNELS, RIGHT as KERNEL
from tests.sample import choose_count
from tests.workbench_cases import CASES

ROOT = Path(__file__).parents[1]
TEXT = next(case.text for case in CASES if case.title.startswith("the tensor map, the builder"))
# More than the 7 KiB that an address holds, however it is compressed.
NOISE = "".join(f"// {n:x}\n" for n in Random(0).sample(range(1 << 62), 750))
RIGHT = next(case.text for case in CASES if case.title == "K-major, 128B, all right")


def get_page(client: Client, text: str, **more: str) -> str:
    answer = client.get("/read", params={"text": text, **more}, follow_redirects=False)
    assert answer.status_code == 200
    return unescape(answer.text)


def test_the_answer_keeps_its_contract_and_gains_the_bench(client: Client) -> None:
    told = client.post("/api/v1/read", json={"text": TEXT}).json()
    assert {"kind", "title", "link", "facts", "also", "notices"} <= set(told)
    made = told["bench"]
    assert made["verdict"] == "mismatch" and made["headline"] == "K steps 4 to 7 of A read past the swizzle atom"
    a = made["operands"][0]
    assert [s["verdict"] for s in a["steps"]] == ["match"] * 4 + ["mismatch"] * 4
    wrong = a["steps"][4]
    assert wrong["diagnoses"][0]["code"] == "k_advance_past_atom" and wrong["slice"]["k"] == 64
    verified = {
        "descriptor": wrong["descriptor"],
        "instruction": a["instruction"],
        "operand": "a",
        "major": a["major"],
        "storage": a["storage"],
        "slice": {"mn": wrong["slice"]["mn"], "k": wrong["slice"]["k"]},
    }
    again = client.post("/api/v1/descriptors/verify", json=verified).json()
    assert again["verdict"] == "mismatch" and again["matched"] == wrong["matched"]
    assert again["diagnoses"][0]["fix"]["descriptor"] == wrong["diagnoses"][0]["fix"]
    fixed = client.post("/api/v1/descriptors/verify", json=verified | {"descriptor": wrong["diagnoses"][0]["fix"]})
    assert fixed.json()["verdict"] == "match"
    plain = client.post("/api/v1/read", json={"text": "0x4000004000010100"}).json()
    assert "bench" not in plain


@for_each("at", [0, 4, 12, 25])
def test_a_character_without_room_moves_no_mark(at: int) -> None:
    """A zero-width space in or before a word: the piece ends where the word does."""
    word = "desc_a: 0x4000004000010040"
    text = f"{word[:at]}\u200b{word[at:]}\nwgmma.mma_async.m64n8k16.f32.f16.f16"
    descriptor, instruction = (piece for piece in workbench.build_workbench(text).pieces)
    (span,) = descriptor.spans
    assert text[slice(*span)].replace("\u200b", "").endswith("0x4000004000010040")
    assert span[1] == len(word) + 1
    assert text[slice(*instruction.spans[0])] == "wgmma.mma_async.m64n8k16.f32.f16.f16"


@pytest.mark.thorough
def test_a_step_s_page_says_what_the_bench_says(client: Client) -> None:
    compared = 0
    for case in CASES[:: choose_count(6, 12)]:
        for one in client.post("/api/v1/read", json={"text": case.text}).json().get("bench", {}).get("operands", ()):
            for step in [*(s for s in one["steps"] if s["verdict"] == "mismatch")][:1]:
                if {cause["code"] for cause in step["diagnoses"]} & {"tma_destination", "operands_exchanged"}:
                    continue  # not the word's fault: its page finds it right
                shown = client.get(step["link"]).text
                bad, total = step["total"] - step["matched"], step["total"]
                said = f"All {bad:,}" if bad == total else f"{bad:,} of {total:,}"
                assert f"{said}\n  elements are read from the wrong place" in shown, (case.title, said)
                compared += 1
    assert compared > 3


def test_what_is_assumed_can_be_given(client: Client) -> None:
    def a_of(**assume: str) -> dict[str, object]:
        told = client.post("/api/v1/read", json={"text": TEXT, "assume": assume})
        assert told.status_code == 200, told.text
        return dict(told.json()["bench"]["operands"][0])

    moved = a_of(**{"at.sA": "0x2000"})
    assert moved["steps"][0]["read"] == 0x2000  # type: ignore[index]
    near = a_of(**{"panel.a": "128"})  # the steps are right where the panels overlap so
    assert near["verdict"] == "match" and near["storage"]["inner_stride"] == 128  # type: ignore[index]
    for assume, field in (
        ({"at.sA": "x"}, "assume.at.sA"),
        ({"inner.a": "Q"}, "assume.inner.a"),
        ({"way": "1"}, "assume.way"),
        ({"instruction": "wgmma.m64n8k9"}, "assume.instruction"),
    ):
        refused = client.post("/api/v1/read", json={"text": TEXT, "assume": assume})
        assert refused.status_code == 422 and refused.json()["error"]["field"] == field
    assert client.post("/api/v1/read", json={"text": TEXT, "assume": []}).status_code == 422


def test_the_page_marks_the_text_and_opens_the_first_wrong_step(client: Client) -> None:
    shown = get_page(client, TEXT)
    line = 1 + TEXT.count("\n", 0, TEXT.index("make_desc(sA + k * 16)"))
    assert f">K steps 4 to 7 of A read past the swizzle atom (line {line})</h2>" in shown
    marks = re.findall(r'<mark class="(k-\w+)( wrong)?"[^>]*>([^<]*)</mark>', shown)
    assert ("k-tensor_map", "", "CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE") in [
        (kind, wrong, text.rsplit(",", 1)[0]) for kind, wrong, text in marks
    ]
    assert [text for _, wrong, text in marks if wrong] == ["make_desc(sA + k * 16)"]
    raw = client.get("/read", params={"text": TEXT}).text
    lines = re.findall(
        r"<li [^>]*>(.*?)</li>", raw[raw.index('<ol class="lines">') : raw.index("</ol>", raw.index("lines"))]
    )
    plain = [unescape(re.sub(r"<[^>]+>", "", line)).replace("\u200b", "") for line in lines]
    assert plain == TEXT.rstrip("\n").split("\n")
    assert shown.count('<tr class="cause">') == 1 and shown.count("✗<span") == 4
    assert shown.count('<tr class="step-match"') == 4 and "0x490 ≠ 0x4400" in shown
    right = get_page(client, RIGHT)
    assert 'class="verdict ok"' in right and 'class="cause"' not in right


def test_a_wrong_value_stands_beside_the_bench(client: Client) -> None:
    answer = client.get("/read", params={"text": TEXT, "at.sA": "nowhere"})
    assert answer.status_code == 422 and "nowhere" in answer.text and 'aria-invalid="true"' in answer.text
    assert "K steps 4 to 7 of A" in answer.text


@pytest.mark.thorough
def test_a_kernel_stays_out_of_the_address_and_a_link_to_it_is_offered(client: Client) -> None:
    """An address of more than 2,000 characters is for whoever wants it: it still opens, up to 7 KiB."""
    long = TEXT + "".join(f"// a comment that says nothing, number {n}\n" for n in range(400))
    answer = client.post("/read", data={"text": long}, follow_redirects=False)
    assert answer.status_code == 200 and "K steps 4 to 7 of A read past" in unescape(answer.text)
    (link,) = re.findall(r'<a href="(/read\?z=[^"]*)">A link', answer.text)
    assert 2000 < len(link) < 8192
    assert "K steps 4 to 7 of A read past" in client.get(link).text
    told = client.get(link.replace("/read?", "/read.json?")).json()
    assert told["bench"]["headline"] == "K steps 4 to 7 of A read past the swizzle atom"
    assert told == client.post("/api/v1/read", json={"text": long}).json()


def test_the_compressed_form_is_bounded_and_says_what_is_wrong(client: Client) -> None:
    assert benches.expand_text(benches.compress_text(TEXT)) == TEXT
    bomb = urlsafe_b64encode(zlib.compress(b"x" * (64 << 20), 9)).decode()
    cut = benches.compress_text(TEXT)[:-9]
    for z in (
        bomb,
        cut,
        "!!!",
        "AAAA",
        benches.compress_text(TEXT) + "AAAA",
        urlsafe_b64encode(zlib.compress(b"\xff")).decode(),
    ):
        with pytest.raises(LayoutError) as refused:
            benches.expand_text(z)
        assert refused.value.field == "z"
    for z in (cut, "!!!"):
        answer = client.get("/read", params={"z": z})
        assert answer.status_code == 422 and "no text that can be unpacked" in answer.text


def test_applying_one_assumption_leaves_the_others_as_they_are_taken(client: Client) -> None:
    """The form sends every value; the address has the one that was changed."""
    code = (
        "for (int k = 0; k < 64; k += 16) { uint64_t desc_a = (((uint64_t)(pA + k) & 0x3FFFF) >> 4) | 1ull << 16"
        " | 64ull << 32 | 1ull << 62; wgmma_m64n64k16(acc, desc_a); }"
    )
    made = client.post("/api/v1/read", json={"text": code}).json()["bench"]
    values = {one["key"]: one["value"] for one in made["assumed"] if one["value"]}
    assert values["size.pA"] == "2" and "instruction" in values
    answer = client.post("/read", data={"text": code, **values, "size.pA": "1"}, follow_redirects=False)
    query = parse_qs(urlsplit(answer.headers["location"]).query)
    assert set(query) == {"text", "size.pA"} and query["size.pA"] == ["1"]


@pytest.mark.thorough
def test_a_storage_chosen_by_name_counts_what_the_verifier_counts(client: Client) -> None:
    """Worked by hand for core matrices: SBO 512 of a word with the 128B swizzle meets one row of 8 elements."""
    code = CODE.replace("(1024 >>", "(512 >>")
    counts = {"box": 128, "atoms": 128, "cores": 8, "rows": 16}
    for name, matched in counts.items():
        told = client.post("/api/v1/read", json={"text": code, "assume": {"stored.a": name}}).json()["bench"]
        a = told["operands"][0]
        assert a["steps"][0]["matched"] == matched and a["storage"]["base"] == 0x400
        body = {
            "descriptor": a["steps"][0]["descriptor"],
            "instruction": a["instruction"],
            "operand": "a",
            "major": "K",
            "storage": a["storage"],
            "slice": {"mn": 0, "k": 0},
        }
        assert client.post("/api/v1/descriptors/verify", json=body).json()["matched"] == matched
    refused = client.post("/api/v1/read", json={"text": code, "assume": {"stored.a": "heap"}})
    assert refused.status_code == 422 and refused.json()["error"]["field"] == "assume.stored.a"


def test_a_right_operand_beside_an_open_one_is_not_green(client: Client) -> None:
    shown = get_page(client, KERNEL)
    assert 'class="verdict care"' in shown and "B not judged" in shown
    assert 'class="verdict ok"' in get_page(client, KERNEL, **{"stored.a": "box", "stored.b": "box"})


def test_a_repair_without_an_address_is_applied_and_undone_by_forms(client: Client) -> None:
    """A text that no address holds is sent along, with the repairs."""
    text = KERNELS[0].text + NOISE
    first = client.post("/read", data={"text": text}, follow_redirects=False)
    assert first.status_code == 200
    apply = re.search(r'name="apply" value="([^"]+)"', first.text)
    assert apply
    after = client.post("/read", data={"text": text, "apply": apply[1]}, follow_redirects=False)
    assert after.status_code == 200 and 'class="line-mended"' in after.text and 'class="line-guilty"' not in after.text
    fix = re.search(r'name="fix" value="([^"]+)"', after.text)
    assert fix and fix[1] == apply[1]
    undone = client.post("/read", data={"text": text, "fix": fix[1], "undo": "1"}, follow_redirects=False)
    assert 'class="line-guilty"' in undone.text and 'name="fix"' not in undone.text


@for_each("count", [14_000, 100_000])
def test_a_text_beyond_the_limit_stays_in_the_box(client: Client, count: int) -> None:
    """The second has 588,889 characters, more than the body of any other page may have."""
    text = " ".join(str(n) for n in range(count))
    page = client.post("/read", data={"text": text})
    assert page.status_code == 422 and "<title>Too long" in page.text
    assert f"The text has {len(text):,} characters; this box reads up to 65,536." in page.text and text in page.text


def test_an_opcode_in_a_comment_of_code_is_not_an_instruction(client: Client) -> None:
    """`mma.m16n8k16` in the first line of an example is a word about its instructions."""
    code = (ROOT / "examples" / "ldmatrix_padded.cu").read_text()
    answer = client.post("/api/v1/read", json={"text": code}).json()
    assert answer["notices"] == [] and "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in answer["facts"]["all"]
    wrong = code.replace('asm volatile("mma.sync.aligned.m16n8k16', 'asm volatile("mma.sync.aligned.m16n8k17')
    assert "m16n8k17" in client.post("/api/v1/read", json={"text": wrong}).json()["notices"][0]
    alone = client.post("/api/v1/read", json={"text": "// mma.m16n8k17.row.col.f32.f16.f16.f32"}).json()
    assert alone["kind"] == "unknown" and "m16n8k17" in alone["notices"][0]


def test_a_page_with_a_red_verdict_does_not_say_that_there_is_no_mistake(client: Client) -> None:
    """The mismatch rests on an assumption, so that check reports none."""
    title = "the tensor map, the builder and the call of one kernel"
    text = next(case.text for case in CASES if case.title == title)
    page = client.get("/read", params={"text": text}).text
    assert 'class="verdict bad"' in page and "No mistake that is certain" in page and "No mistake found" not in page
    assert "that rests on bytes from one panel of A" in page
