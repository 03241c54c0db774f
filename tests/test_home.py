"""The home page: what it says is counted, its links open, and the catalogue's old addresses lead on."""

from __future__ import annotations

import json
import re
from pathlib import Path

import lanescope
from lanescope.ptx import catalog, hardware_runs
from tests.client import Client

EVIDENCE = Path(lanescope.__file__).parent / "evidence"


def test_its_figures_are_those_of_the_files(client: Client) -> None:
    files = [json.loads(path.read_text()) for path in EVIDENCE.glob("*.json")]
    ran = [{form.removesuffix(hardware_runs.SHARED_A) for form in told["results"]} for told in files]
    ran_everywhere = [i for i in catalog.instructions() if all(i.ptx in forms for forms in ran)]
    (reads,) = {sum(row["ran"] for row in told["descriptors"].values()) for told in files if told["descriptors"]}
    every = len(catalog.instructions())
    text = client.get("/").text
    shown = re.findall(r"<b>([\d,]+(?: of [\d,]+)?)</b>", text)
    assert shown == [f"{len(ran_everywhere):,} of {every:,}", f"{reads:,}", f"{every:,}"]
    assert f"The pages of the other {every - len(ran_everywhere):,} say that they have not run." in text
    assert "H100 and H200" in text and catalog.get_assembler_release() in text
    readme = (Path(lanescope.__file__).parents[1] / "README.md").read_text()
    assert f"Descriptors: {reads} on" in readme
    assert f"element by element: {len(ran_everywhere):,} on an H100 and an H200" in readme
    assert " every NVIDIA" not in text  # tcgen05 has no page, and some forms have not run
