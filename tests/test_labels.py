"""An error on a page names its field as the page does: the label beside the control, read from the page itself."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from urllib.parse import quote

from tests.cases import for_each
from tests.client import Client
from tests.sample import take_sample

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
SPARSE = "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"
WORD = "/descriptor/wgmma/0x4000004000010100"
PAGES = (
    "/smem",
    f"{WORD}?s_kind=canonical",
    f"{WORD}?s_kind=rows",
    f"{WORD}?s_kind=atoms",
    f"{WORD}?s_kind=cute",
    "/chain?s_kind=canonical",
    "/chain?s_kind=rows",
    "/chain?s_kind=atoms",
    "/chain?s_kind=cute",
    "/banks",
    "/dump?example=swizzle",
    "/gpu/run?kind=banks&backend=numpy",
    f"/gpu/run?kind=mma&backend=numpy&instruction={MMA}",
    f"/gpu/run?kind=descriptor&backend=numpy&instruction={WGMMA}",
    f"/gpu/run?kind=fragment&backend=numpy&instruction={MMA}",
    f"/steps/{MMA}",
    f"/metadata/{SPARSE}",
    "/reuse",
    "/compare",
    "/diagram",
    "/diagram?form=png",
    f"/kernel/{WGMMA}",
    f"/steps/{WGMMA}",
)
FREE = {
    "title",
    "compare",
    "word",
    "start_address",
    "lbo_bytes",
    "sbo_bytes",
    "base_offset",
    "dump",
    "expected",
}  # any text, or fields of another form, tried below
CONTROLS = ("input", "select", "textarea")
TEXTS = ("select", "textarea", "small")  # whose text is not the label's


class LabelParser(HTMLParser):
    """name of a control → the text of its label."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.form = self.text = ""
        self.names: list[str] | None = None
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "label":
            self.text, self.names = "", []
        if tag in CONTROLS and self.names is not None and given.get("name") not in (None, "share"):  # the share menu
            self.names.append(str(given["name"]))
        self.inside = self.inside or tag in TEXTS

    def handle_endtag(self, tag: str) -> None:
        if tag in TEXTS:
            self.inside = False
        if tag == "label" and self.names is not None:
            self.found |= dict.fromkeys(self.names, " ".join(self.text.split()))
            self.names = None

    def handle_data(self, data: str) -> None:
        if self.names is not None and not self.inside:
            self.text += data


def read_alert(page: str) -> str:
    """The page's first alert that is not hidden, as text: a notice, or a field's label with the message beside it."""
    for attributes, text in re.findall(r'<p [^>]*class="notice" role="alert"([^>]*)>(.*?)</p>', page, re.S):
        if "hidden" not in attributes:
            return " ".join(html.unescape(re.sub("<[^>]+>", "", text)).split())
    for label, text in re.findall(
        r"<label[^>]*>([^<]*)(?:(?!</label>).)*<small\s[^>]*data-error[^>]*>(.*?)<", page, re.S
    ):
        label, message = (" ".join(html.unescape(part).split()) for part in (label, text))
        return message if message.startswith(label) else f"{label}: {message}"
    return ""


@for_each("address", PAGES, sample=8)
def test_an_error_begins_with_the_label_of_its_field(client: Client, address: str) -> None:
    labels = LabelParser(client.get(address).text).found
    tried = 0
    kind = re.search(r"s_kind=(\w+)", address)
    for name, label in take_sample([row for row in labels.items() if row[0] not in FREE], 2):
        asked = client.get(f"{address}{'&' if '?' in address else '?'}{quote(name)}=!!").text
        told = read_alert(asked)
        if not told and kind:  # a storage's fields that its kind has not
            continue
        tried += 1
        assert told.startswith((f"{label}:", f"{label} is '!!'")), (name, label, told)
    assert tried >= 1


def test_an_option_inside_a_field_is_named_with_it(client: Client) -> None:
    """Unless a control of its own shows it, as on /steps."""
    run = client.get(f"/gpu/run?kind=mma&backend=numpy&instruction={WGMMA}&b=swizzle=96B").text
    assert read_alert(run).startswith("B stored, swizzle is '96B'.")
    assert read_alert(client.get(f"/steps/{WGMMA}?b=swizzle=96B").text).startswith("B stored is '96B'.")
