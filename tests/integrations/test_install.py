"""The release: wheel, source distribution, bill of materials and the workflow that publishes them; used as pip installs
it into an environment with nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from markdown_it import MarkdownIt
from packaging.utils import canonicalize_name

from tests.build_release import build_release
from tests.release import ROOT, build_wheel as build_wheel_of_tree

WORKFLOWS = ROOT / ".github" / "workflows"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MEGABYTE = 1_000_000
OF_THE_ENVIRONMENT = {"pip", "setuptools"}


def compute_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_wheel(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def read_metadata(wheel: Path) -> Message:
    (metadata,) = (content for name, content in read_wheel(wheel).items() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(metadata)


def list_tested_pythons() -> list[str]:
    matrix = read_workflow("release.yml")["jobs"]["test"]["strategy"]["matrix"]
    return list(matrix["python-version"])


def read_workflow(name: str) -> Any:
    """Every scalar as text: YAML takes `on` for a boolean, and 3.10 for a number."""
    return yaml.load((WORKFLOWS / name).read_text(), yaml.BaseLoader)


def test_a_bare_environment_needs_nothing_but_the_wheel(release: dict[str, Path], bare: Path) -> None:
    """It is imported and run in each way (tests/bare_install.py), is small, and has what the bill of materials says."""
    report = json.loads((bare / "report.json").read_text())
    assert report["downloaded"] <= 40 * MEGABYTE
    assert report["others"] <= 40 * MEGABYTE
    installed = {canonicalize_name(name): version for name, version in report["packages"].items()}
    needed = {name: version for name, version in installed.items() if name not in {"lanescope", *OF_THE_ENVIRONMENT}}
    components = json.loads(release[".json"].read_text())["components"]
    assert needed == {part["name"]: part["version"] for part in components if part["scope"] == "required"}


def test_the_wheel_of_the_source_distribution_is_that_of_the_repository(
    release: dict[str, Path], tmp_path: Path
) -> None:
    made, other = read_wheel(release[".whl"]), read_wheel(build_wheel_of_tree(tmp_path))
    assert set(made) == set(other)
    assert [name for name in made if made[name] != other[name]] == []


def test_a_second_build_gives_the_same_bytes(
    release: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By somebody else: in another time zone, later, with files that only they can read."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    before = os.umask(0o077)
    try:
        again = build_release(tmp_path / "again")
    finally:
        os.umask(before)
    assert list(map(compute_digest, again)) == [compute_digest(release[kind]) for kind in (".tar.gz", ".whl", ".json")]


def test_the_bill_of_materials_is_valid_and_complete(release: dict[str, Path]) -> None:
    text = release[".json"].read_text()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    names = {part["name"] for part in document["components"]}
    assert {"numpy", "typer", "tree-sitter", "fastapi", "starlette"} <= names
    assert all(part["licenses"] for part in document["components"])
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pinned = {canonicalize_name(name): version for name, version in pins.items()}
    assert all(pinned[part["name"]] == part["version"] for part in document["components"])
    refs = {part["bom-ref"] for part in document["components"]}
    assert {ref for row in document["dependencies"] for ref in row["dependsOn"]} == refs


def test_the_metadata_are_complete(release: dict[str, Path]) -> None:
    metadata = read_metadata(release[".whl"])
    assert (metadata["Name"], metadata["Version"]) == (PROJECT["name"], PROJECT["version"])
    assert (metadata["License-Expression"], metadata["License-File"]) == ("Apache-2.0", "LICENSE")
    assert metadata["Author"] and metadata["Keywords"] and metadata["Summary"]
    assert not metadata.get_all("Project-URL")  # there is no public address
    names = read_wheel(release[".whl"])
    assert "lanescope/py.typed" in names and any(name.endswith("licenses/LICENSE") for name in names)


def test_the_readme_renders_on_a_package_index(release: dict[str, Path]) -> None:
    """Nothing in it leads to a path of the repository, and no word of a link is lost."""
    metadata = read_metadata(release[".whl"])
    assert metadata["Description-Content-Type"] == "text/markdown"
    html = MarkdownIt("commonmark").enable("table").render(str(metadata.get_payload()))
    targets = re.findall(r'(?:href|src)="([^"]*)"', html)
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert "<h1>Lanescope</h1>" in html and "<table>" in html and "docs/usage.md" in html
    assert "](" not in re.sub(r"<pre>.*?</pre>|<code>.*?</code>", "", html, flags=re.DOTALL)


def test_every_python_of_the_classifiers_is_tested() -> None:
    named = [row.rpartition(" ")[2] for row in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", row)]
    assert named == list_tested_pythons()
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_only_a_tag_that_a_person_pushes_is_published() -> None:
    workflow = read_workflow("release.yml")
    assert workflow["on"] == {"push": {"tags": ["v*"]}}
    jobs = workflow["jobs"]
    assert list(jobs) == ["build", "test", "publish"]
    assert jobs["test"]["needs"] == "build" and jobs["publish"]["needs"] == ["build", "test"]
    assert jobs["publish"]["environment"] == "pypi"
    assert "refs/tags/v" in jobs["publish"]["if"]
    assert [step["uses"].partition("@")[0] for step in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]


def test_no_job_may_do_more_than_it_does() -> None:
    """Only publish has a token, by which the index trusts it; no step sees code of the repository then."""
    workflow = read_workflow("release.yml")
    assert workflow["permissions"] == {}
    permissions = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert permissions == {
        "build": {"contents": "read"},
        "test": {"contents": "read"},
        "publish": {"id-token": "write"},
    }
    assert read_workflow("ci.yml")["permissions"] == {"contents": "read"}
    assert all("secrets." not in path.read_text() for path in WORKFLOWS.iterdir())


def test_the_workflows_run_what_contributors_run() -> None:
    """Each command is a target of the Makefile or a file that is here."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    runs = [
        line.strip()
        for path in WORKFLOWS.iterdir()
        for job in read_workflow(path.name)["jobs"].values()
        for step in job["steps"]
        for line in step.get("run", "").splitlines()
    ]
    assert {line.split()[1] for line in runs if line.startswith("make ")} == {"release"} <= targets
    files = [word for line in runs for word in line.split() if word.endswith(".py") or word.startswith(".ci/")]
    assert sorted(files) == [".ci/run", "tests/bare_install.py"]
    assert all((ROOT / file).is_file() for file in files)
