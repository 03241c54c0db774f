"""The bill of materials of a release, CycloneDX 1.6: what `pip install lanescope` brings, in the versions that
constraints.txt pins.

Who needs whom and the licences are read from the installed packages; what only the extra `web` brings is optional.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.release import ROOT

EXTRA = "web"


def read_pins() -> dict[str, str]:
    """Return version by package, as constraints.txt has them."""
    lines = (ROOT / "constraints.txt").read_text().split()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def list_needs(requirements: Iterable[str], extras: Iterable[str] = ()) -> Iterator[Requirement]:
    """Yield the requirements that hold here, with these extras."""
    for text in requirements:
        requirement = Requirement(text)
        marker = requirement.marker
        if not marker or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield requirement


def find_graph(requirements: Iterable[str]) -> dict[str, list[str]]:
    """Return every package that requirements bring, by name: the packages that it needs."""
    graph: dict[str, set[str]] = {}
    waiting = list(list_needs(requirements))
    seen = set()
    while waiting:
        asked = waiting.pop()
        name, extras = canonicalize_name(asked.name), frozenset(asked.extras)
        if (name, extras) not in seen:
            seen.add((name, extras))
            needs = list(list_needs(metadata.requires(name) or (), extras))
            graph.setdefault(name, set()).update(canonicalize_name(need.name) for need in needs)
            waiting += needs
    return {name: sorted(needs) for name, needs in sorted(graph.items())}


def describe_licence(name: str) -> list[dict[str, Any]]:
    """Return the licence of an installed package as its metadata state it: an SPDX expression, or the words there."""
    told = metadata.metadata(name)
    if expression := told.get("License-Expression"):
        return [{"expression": canonicalize_license_expression(expression)}]
    classified = [c.rpartition(" :: ")[2] for c in told.get_all("Classifier") or () if c.startswith("License ::")]
    words = classified or [line for line in (told.get("License") or "").splitlines()[:1] if line.strip()]
    return [{"license": {"name": word}} for word in words]


def build_sbom() -> dict[str, Any]:
    """Build the document. KeyError names a package that constraints.txt does not pin."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = read_pins()
    needed = find_graph(project["dependencies"])
    direct = [*project["dependencies"], *project["optional-dependencies"][EXTRA]]
    graph = find_graph(direct)
    places = {name: f"pkg:pypi/{name}@{pins[name]}" for name in graph}
    own = f"pkg:pypi/{project['name']}@{project['version']}"
    first = {canonicalize_name(need.name) for need in list_needs(direct)}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": project["name"],
                "version": project["version"],
                "licenses": [{"expression": project["license"]}],
                "purl": own,
            }
        },
        "components": [
            {
                "type": "library",
                "bom-ref": places[name],
                "name": name,
                "version": pins[name],
                "scope": "required" if name in needed else "optional",
                "licenses": describe_licence(name),
                "purl": places[name],
            }
            for name in graph
        ],
        "dependencies": [
            {"ref": own, "dependsOn": sorted(places[name] for name in first)},
            *({"ref": places[name], "dependsOn": [places[need] for need in needs]} for name, needs in graph.items()),
        ],
    }


def write_sbom(path: Path) -> Path:
    """Write the document and return its path."""
    path.write_text(json.dumps(build_sbom(), indent=1, ensure_ascii=False) + "\n")
    return path
