"""Pages, held: the markup of every kind of page, each line once.

What depends on the machine is left out."""

from __future__ import annotations

import re
import zlib
from functools import cache
from typing import Any

import pytest

from lanescope.app.guide.render import slugs
from lanescope.app.main import create_app
from tests import asgi
from tests.held import FOLDER, elided, held, held_sum

MMA, WGMMA = "mma.m16n8k16.row.col.f32.f16.f16.f32", "wgmma.mma_async.m64n32k16.f32.f16.f16"
SPARSE = "mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32"
PAGES = {
    "home": (
        "/",
        "/?q=m16n8k8",
        "/read",
        "/read?text=HMMA.16816.F32",
        "/read?text=mma.m16n8k12.row.col.f32.f16.f16.f32",
        "/read?text=Sw<3,4,3>+o+(8,64):(64,1)",
        "/read?text=1<<62",
        "/read?text=fp8",
        "/read?text=0x4000004000010100",
    ),
    "catalogue": (
        "/instructions",
        "/instructions?family=wmma&type=s4",
        "/instructions?q=m16n8k8",
        "/instructions?q=zzz",
        "/gallery",
        "/help",
    ),
    "instruction": (
        f"/i/{MMA}",
        f"/i/{MMA}?colour=t&label=register&lane=5",
        f"/i/{WGMMA}/d",
        f"/i/{SPARSE}/a?selector=1",
        "/i/ldmatrix.m8n8.x4.trans.shared.b16",
        "/i/movmatrix.m8n8.trans.b16",
        "/i/wmma.load.a.row.m16n16k16.f16?pointer=0x20&ldm=24",
        "/i/mma.m8n8k4.row.row.f16.f16.f16.f16?product=2",
        "/i/mma.m16n8k12.row.col.f32.f16.f16.f32",
        "/i/mma.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m1.e4m3.f32.ue8m0?byte_id=2",
        f"/metadata/{SPARSE}?words=0x44444444",
    ),
    "memory": (
        "/smem",
        "/smem?element_bits=8&major=K&swizzle=32B&mn=64&k=64&down=mn&number=memory&plain=1",
        "/smem?mn=100",
        "/smem/atoms",
        "/smem/atoms?element_bits=8",
        "/descriptor/wgmma/0x4000004004000101",
        f"/descriptor/wgmma/0x4000000104000101?instruction={WGMMA}&operand=b&major=K"
        "&storage.kind=canonical&storage.swizzle=128B&storage.mn=64&storage.k=64&storage.base=4096",
        "/descriptor/wgmma/0xzz",
        "/descriptor",
    ),
    "analysis": (
        "/banks",
        "/banks?access=ldmatrix.x4&pattern=rows&row_bytes=128",
        "/banks?access=ld.shared.b32&address=0,4,8",
        "/dump",
        "/dump?example=swizzle",
        "/capture",
        "/capture?example=k-step",
        "/dump?example=fp8&base=x",
        "/chain",
        f"/chain?mma={MMA}&operand=b&major=MN&s_pitch_bytes=16",
        f"/reuse?from={MMA}&to={MMA}",
        "/reuse",
        f"/compare?left={MMA}/a&right={MMA}/b",
        "/compare",
        "/diagram",
        f"/diagram?ptx={MMA}&operand=a&colour=t&caption=1",
        f"/steps/{MMA}?row=3&col=5",
        f"/steps/{WGMMA}?row=3&col=5",
        f"/kernel/{WGMMA}?a=major=MN,swizzle=64B",
        "/kernel/zz",
    ),
    "tiles": (
        "/tiles/mma",
        "/tiles/mma?tile=48x64x16",
        "/tiles/mma?atom=tcgen05.mma.cta_group::1.kind::f16&tile=128x256x64",
        "/tiles/mma?atom=tcgen05.mma.cta_group::1.kind::f16&idesc=x",
        "/tiles/mma/chain",
        "/tiles/mma/chain?first=x",
        "/tiles/copy",
        "/tiles/copy?tile=64x60",
        "/tiles/copy?atom=SM90_TMA_LOAD&tile=64x64&element_bits=16",
        "/tiles/loop",
        "/tiles/loop?a_pitch=7",
    ),
    "layouts": (
        "/layouts/triton",
        "/layouts/triton?text=gl.AutoLayout()",
        "/layouts/tv",
        "/layouts/tv?cute=(",
        "/cute",
        "/cute?expression=composition((4,6):(1,8),6:3)",
        "/cute?expression=zz(",
    ),
    "tensor": (
        "/tmem",
        "/tmem?m=7",
        "/tmem/epilogue",
        "/tmem/epilogue?d=f16",
        "/scale-factors",
        "/scale-factors?row=999",
        "/idesc",
        "/idesc/0x08400490?kind=f16",
        "/idesc?m=7",
        "/zero-column-mask",
        "/zero-column-mask/0x3f03029000000000?m=32&n=64",
        "/zero-column-mask?word=zz",
        "/metadata/order",
        "/metadata/order?row=999",
    ),
    "guide": (
        "/guide",
        "/guide/swizzle",
        "/guide/lbo-sbo",
        "/guide/bytes-and-trans",
        "/guide/differences",
        "/guide/shapes",
        "/guide/zz",
        "/go?q=wgmma.fence",
        f"/go?q={MMA}",
        "/go?q=0x4000004004000101",
    ),
}
MOST_LINES = 200
HELD_HEADERS = (
    "content-type",
    "content-security-policy",
    "cache-control",
    "location",
    "x-content-type-options",
    "referrer-policy",
    "vary",
    "x-frame-options",
    "allow",
)


@cache
def app() -> Any:
    return create_app()


def steady(text: str) -> str:
    """Without what a build or a day changes, a tag a line however the template breaks, long lines by checksum. Each
    pattern begins with plain letters, which a search finds at once.
    """
    text = re.sub(r"/static/([\w./-]+)[?][0-9a-f]{8,}", r"/static/\1", text)
    text = re.sub(r"v=(?<=[?&]v=)[0-9a-f]{8,}", "v=HASH", re.sub(r"/static/[0-9a-f]{8,}", "/static/HASH", text))
    for date in {"-".join(parts) for parts in re.findall(r"-(?<=(\d{4})-)(\d\d-\d\d)", text)}:
        text = text.replace(date, "DATE")
    text = re.sub(r"'(sha256|nonce)-[^']+'", r"'\1-…'", re.sub(r'nonce="[^"]+"', 'nonce="…"', text))
    rows = [re.sub(r"<svg.*?</svg>", summed, row) if "<svg" in row else row for row in text.splitlines()]
    return "\n".join(row if len(row) < 240 else f"{row[:150]} … {len(row)} {crc(row)}" for row in rows)


def summed(picture: re.Match[str]) -> str:
    return f"<svg {len(picture[0])} {crc(picture[0])}>"


def crc(text: str) -> str:
    return f"crc {zlib.crc32(text.encode()):08x}"


@cache
def page(address: str) -> tuple[int, str]:
    """The status of a page, and its headers and markup."""
    answer = asgi.get(app(), address)
    headers = [f"{name}: {answer.headers[name]}" for name in HELD_HEADERS if name in answer.headers]
    return answer.status, steady("\n".join(headers) + "\n" + answer.body.decode())


@pytest.mark.parametrize("address", [address for kind in PAGES.values() for address in kind])
def test_a_page(address: str) -> None:
    """Each by its checksum, so that a fault of one costs no other; what they say is held below."""
    held_sum("pages/sums", address, "{} {}".format(*page(address)))


@pytest.mark.parametrize("kind", PAGES)
def test_pages(kind: str) -> None:
    seen: set[str] = set()
    lines: list[str] = []
    for address in PAGES[kind]:
        status, text = page(address)
        new = elided(text, seen)
        if len(new) > MOST_LINES:
            rest = "\n".join(new[MOST_LINES:])
            new = [*new[:MOST_LINES], f"  … {rest.count(chr(10)) + 1} more of crc {zlib.crc32(rest.encode()):08x}"]
        lines += [f"{address} {status}", *new]
    held(f"pages/{kind}", "\n".join(lines) + "\n")


@pytest.mark.parametrize("slug", slugs())
def test_every_guide_page(slug: str) -> None:
    """What changes it shows in its own file, or in what the page asks of the engine."""
    status, text = page(f"/guide/{slug}")
    held_sum("pages/every_guide_page", slug, f"{status} {text.partition('<main')[2]}")


def test_no_page_is_held_that_there_is_not() -> None:
    asked = {address for kind in PAGES.values() for address in kind}
    for name, pages in (("sums", asked), ("every_guide_page", {*slugs()})):
        lines = (FOLDER / "pages" / f"{name}.txt").read_text().splitlines()
        assert {line.partition(" ")[2] for line in lines} == pages
