"""Topics: pages found by name and by words, in the search, in the API and in an exported site."""

from __future__ import annotations

from lanescope.app.catalogue import topics
from lanescope.app.guide import index as guide_index
from lanescope.app.read.text_meanings import read_text
from lanescope.ptx import catalog
from lanescope.ptx.table.wgmma_order import ORDER
from lanescope.ptx.table.wmma_api import FUNCTIONS
from tests.cases import for_each
from tests.client import Client


def list_pages(text: str) -> list[str]:
    return [topic.page.removeprefix("/guide/") for topic in topics.find_topics(text)]


@for_each(
    ("text", "first"),
    [
        ("wgmma.fence", "wgmma.fence"),
        ('asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");', "wgmma.fence"),
        ("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group"),
        ("wait_group 1", "wgmma.wait_group"),
        ("warpgroup_commit_batch();", "wgmma.commit_group"),
        ("fence.proxy.async.shared::cta;", "fence.proxy.async"),
        ("wmma::load_matrix_sync(a, A, 16);", "load_matrix_sync"),
        ("nvcuda::wmma::mma_sync(c, a, b, c)", "wmma-cpp"),
        ("bmma_sync(d, a, b, c, bmmaBitOpAND)", "bmma_sync"),
        ("wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;", "wmma-fragment"),
        ("satf", "mma_sync"),
        ("ldm", "load_matrix_sync"),
        ("errata", "differences"),
        ("how to read PTX", "read-ptx"),
        ("swizzle", "swizzle"),
        ("LBO", "one-tile"),
    ],
)
def test_what_is_found_first(text: str, first: str) -> None:
    assert list_pages(text)[0] == first


def test_a_name_is_whole() -> None:
    """mma_sync is not found in bmma_sync, nor an opcode in a longer one."""
    assert list_pages("bmma_sync(") == ["bmma_sync"] and "mma_sync" not in list_pages("bmma_sync")
    assert topics.find_named_topics("wgmma.fences") == [] and topics.find_named_topics("tcgen05.wgmma.fence") == []


def test_instructions_are_no_topics() -> None:
    for i in catalog.instructions()[::53]:
        assert topics.find_named_topics(i.ptx) == [] and list_pages(i.ptx) == [], i.ptx
    assert list_pages("") == list_pages("0x4000004000010100") == list_pages("{ % ;") == []


def test_every_function_and_ordering_has_a_page() -> None:
    for name in (*(row.name for row in ORDER), *(f.name for f in FUNCTIONS if f.name != "fragment")):
        assert list_pages(name)[0] == name
    assert {topic.page for topic in topics.list_topics()} == {f"/guide/{slug}" for slug in guide_index.ORDER}
    assert all(topic.summary.endswith((".", "?")) for topic in topics.list_topics())


def test_the_api(client: Client) -> None:
    every = client.get("/api/v1/topics").json()
    assert every["count"] == len(every["topics"]) == len(topics.list_topics())
    assert (
        client.get("/api/v1/topics", params={"q": "wait_group"}).json()["topics"][0]["page"]
        == "/guide/wgmma.wait_group"
    )
    assert client.get("/api/v1/topics", params={"q": "zz"}).json() == {"count": 0, "topics": []}
    assert client.get("/api/v1/topics", params={"q": "x" * 2001}).status_code == 422


def test_a_typed_instruction_is_read_word_by_word(client: Client) -> None:
    own = client.get("/guide/read-ptx").text
    assert "type of B&#x27;s elements" in own or "type of B's elements" in own
    typed = client.get("/guide/read-ptx", params={"ptx": "wgmma.mma_async.m64n8k16.f32.f16.f16"}).text
    assert "all 128 threads of the warpgroup" in typed and 'role="status"' not in typed
    wrong = client.get(
        "/guide/read-ptx", params={"ptx": 'mma.m16n8k12.row.col.f32.f16.f16.f32"><script>alert(1)</script>'}
    )
    assert wrong.status_code == 200 and 'role="status"' in wrong.text and "<script>alert" not in wrong.text


def test_a_question_in_the_catalogue_is_answered_and_filters_nothing(client: Client) -> None:
    page = client.get("/instructions", params={"q": "A[5][9] of mma.m16n8k16 bf16", "part": "rows"}).text
    assert "A[5][9] is in lane 20, register R2, bits 31:16." in page and "<strong>1</strong>" in page
    page = client.get("/instructions", params={"q": "A[5][99] of mma.m16n8k16 bf16", "part": "rows"}).text
    assert "columns from 0 to 15" in page and "<strong>0</strong>" in page
    page = client.get("/instructions", params={"q": "m16n8k16 bf16", "part": "rows"}).text
    assert "card asked" not in page


@for_each(
    ("text", "link"),
    [
        ("sm_120", "/targets?target=sm_120"),
        ("compute_90a", "/targets?target=sm_90a"),
        ("what does sm_100a have?", "/targets?target=sm_100a"),
        ("which GPU has wgmma", "/targets"),
    ],
)
def test_a_target_opens_what_it_has(text: str, link: str) -> None:
    assert read_text(text).link == link


def test_a_target_that_does_not_exist_names_the_one_that_may_be_meant() -> None:
    wrong = read_text("sm_90b")
    assert wrong.kind == "unknown" and "Did you mean sm_90a?" in wrong.notices[0]
    assert wrong.also[0].link == "/targets?target=sm_90a"
