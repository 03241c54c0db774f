"""The static export: every link leads to a file, nothing is absolute, and a second run writes nothing."""

from __future__ import annotations

import html
import json
import os
import re
from pathlib import Path

import pytest

from lanescope.app import export as site
from lanescope.app.main import create_app
from lanescope.app.runs.hardware import ServerHardware
from lanescope.errors import LayoutError
from tests.client import Client
from tests.command import run_lanescope
from tests.exported import list_chosen
from tests.sample import is_chosen


@pytest.mark.thorough
def test_every_link_leads_to_a_file(exported_site: Path) -> None:
    checked, files = 0, {str(path) for path in exported_site.rglob("*") if path.is_file()}
    found: set[tuple[str, str]] = set()  # pages of a folder have most of their links in common
    for page in exported_site.rglob("*.html"):
        text = re.sub(r"<pre.*?</pre>", "", page.read_text(), flags=re.S)
        text = re.sub(r'<a href="https://github\.com/[^"]*"', "<a", text)  # a source that the guide names
        addresses = re.findall(r'\b(?:href|src|action|data-plotly)="([^"]*)"', text)
        checked += len(addresses)
        for path in {address.split("#")[0] for address in addresses} - {""}:
            if (folder := str(page.parent), path) not in found:
                assert not path.startswith(("/", "http")), (page.name, path)
                assert os.path.normpath(f"{folder}/{path}") in files, (page.name, path)
                found.add((folder, path))
    assert checked > 5000


@pytest.mark.thorough
def test_it_holds_what_was_asked_for(exported_site: Path) -> None:
    wanted = {site.name_instruction_file(i.ptx) for i in list_chosen()}
    assert (
        {path.stem for path in (exported_site / "i").glob("*.html")}
        == wanted
        == {path.stem for path in (exported_site / "i").glob("*.json")}
    )
    assert not any(":" in path.name for path in exported_site.rglob("*"))
    listed = re.findall(
        r'class="(?:cell )?variant[^"]*"\s+href="i/([^"]+)\.html"', (exported_site / "instructions.html").read_text()
    )
    assert len(listed) == len(wanted) and set(listed) == wanted
    found = json.loads((exported_site / "i" / "movmatrix.sync.aligned.m8n8.trans.b16.json").read_text())
    assert found["family"] == "movmatrix"
    for page in ("guide/ldmatrix", "gallery", "messages/wgmma-accumulator-read"):
        assert (exported_site / f"{page}.html").is_file()


# Addresses that a server computes: no export has them. Any other that a page links to must have become a file.
COMPUTED = (
    "smem descriptor banks chain deliver steps kernel tiles layouts cute compare reuse metadata dump capture"
    " emulate diagram tmem idesc targets embed picture scale-factors triton-dot weights zero-column-mask docs"
    " openapi.json api gpu/run healthz readyz metrics workbench llms.txt docs/integrations.md"
).split()


def read_visible_text(text: str) -> str:
    """What a page says and draws: its main part without scripts, addresses and blanks."""
    main = re.search(r"<main.*</main>", text, re.S)
    assert main
    added = r'<script.*?</script>|<link rel="modulepreload"[^>]*>|<details class="drop share".*?</details>'
    said = re.sub(added, "", main[0], flags=re.S)
    said = re.sub(r'\s(?:href|src|action|data-[\w-]+|title)="[^"]*"|\sdisabled', "", said)
    return re.sub(r"\s+", "", said)


@pytest.mark.thorough
def test_the_export_is_in_step_with_the_server(exported_site: Path) -> None:
    """Both walked from the home page on: what one links to the other has, and they say and draw the same."""
    site_of = site.SiteExport(exported_site, list_chosen())
    own = {"/": "index.html", "/instructions": "instructions.html", "/gpu": "gpu.html"}  # of the server, or of a choice
    waiting, seen, compared = ["/"], {"/"}, 0
    hardware = ServerHardware(why_not=site.REASON)
    with Client(create_app(hardware)) as client, Client(site_of.app) as short:
        while waiting:
            address = waiting.pop()
            text = (short if address.startswith("/i/") else client).get(address).text  # files have no long tables
            for link in re.findall(r'<a\b[^>]*?href="(/[^"#]*)', text):
                path = html.unescape(link).partition("?")[0]
                file = site_of.resolve_address(html.unescape(link)).partition("#")[0]
                if file == site.NEEDS_SERVER:
                    first = path.strip("/").partition("/")[0]
                    of_others = path.startswith("/i/") or path.startswith("/read")
                    assert of_others or first in COMPUTED or path[1:] in COMPUTED, (address, link)
                    continue
                assert (exported_site / file).is_file(), (address, link, file)
                leaf = path.startswith(("/guide/", "/messages/"))  # of many that are alike, some
                page = file.endswith(".html") and not path.endswith(".cu") and path != "/read"  # these lead on
                page = page and (not leaf or is_chosen(path, 3))
                if page and path not in seen and (not path.startswith("/i/") or len(seen) < 40):
                    seen.add(path)
                    waiting.append(path)
            if address not in own:
                file = site_of.resolve_address(address)
                told, kept = read_visible_text(text), read_visible_text((exported_site / file).read_text())
                compared += told == kept
                assert told == kept, (
                    address,
                    next(n for n, (a, b) in enumerate(zip(told, kept, strict=False)) if a != b),
                )
        for path in sorted((exported_site / "i").glob("*.json"))[:12]:
            ptx = json.loads(path.read_bytes())["ptx"]
            assert client.get(f"/api/v1/instructions/{ptx}").content == path.read_bytes()
    assert compared > 20 and {"/guide", "/gallery", "/help", "/smem/atoms"} <= seen


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="No family"):
        site.export_site(str(tmp_path), ["x"], False)
    (tmp_path / "file").write_text("")
    assert run_lanescope("export", str(tmp_path / "file"), "--family", "movmatrix").returncode == 2
