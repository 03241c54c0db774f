"""The deployment files of docs/deploy, read by the parsers of what they are for: every command is one of this
program's, every setting exists, and what names something names something that is there.
"""

from __future__ import annotations

import configparser
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from lanescope.app.cli import build_cli
from lanescope.app.kit.settings import list_settings, name_variable
from tests.cases import for_each

FOLDER = Path(__file__).parents[1] / "docs" / "deploy"
UNITS = sorted(FOLDER.glob("*.service"))
SETTINGS = {name_variable(name) for name, *_ in list_settings()}
CONTROLLERS = {"Deployment": "apps/v1", "DaemonSet": "apps/v1"}
KINDS = CONTROLLERS | {"Service": "v1", "NetworkPolicy": "networking.k8s.io/v1"}


def parse_command(words: list[str]) -> dict[str, Any]:
    """The options of a command line of ours, by name; an error of its own where there is no such option."""
    assert Path(words[0]).name == "lanescope"
    command: Any = typer.main.get_command(build_cli())
    words = words[1:]
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    return dict(command.make_context("lanescope", list(words)).params)


def read_compose(name: str = "compose.yaml") -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / name).read_text()))


def merge_patch(base: Any, patch: Any) -> Any:
    """A strategic merge of Kubernetes: objects by key, lists by what names their rows."""
    if isinstance(base, dict) and isinstance(patch, dict):
        return base | {key: merge_patch(base[key], value) if key in base else value for key, value in patch.items()}
    if isinstance(base, list) and isinstance(patch, list):
        name = "mountPath" if any("mountPath" in row for row in patch) else "name"
        rows = {row[name]: row for row in base}
        return list((rows | {row[name]: merge_patch(rows.get(row[name], {}), row) for row in patch}).values())
    return patch


def load_objects(with_tls: bool = False) -> list[dict[str, Any]]:
    made = list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()))
    if with_tls:
        overlay = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
        assert overlay["resources"] == ["kubernetes.yaml"] and overlay["kind"] == "Kustomization"
        for row in overlay["patches"]:
            patch = yaml.safe_load(row["patch"])
            (of,) = (n for n, one in enumerate(made) if (one["kind"], one["metadata"]["name"]) == get_identity(patch))
            made[of] = merge_patch(made[of], patch)
    return made


def get_identity(made: dict[str, Any]) -> tuple[str, str]:
    return made["kind"], made["metadata"]["name"]


def list_pods(with_tls: bool = False) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(object, pod's labels, container) of every controller."""
    for made in load_objects(with_tls):
        if made["kind"] in CONTROLLERS:
            (container,) = made["spec"]["template"]["spec"]["containers"]
            yield made, made["spec"]["template"]["metadata"]["labels"], container


def parse_address(given: str) -> tuple[str, int]:
    host, _, port = given.partition("://")[2].rpartition(":")
    return host, int(port)


def test_compose() -> None:
    services = read_compose()["services"]
    assert set(services) == {"server", "scheduler", "worker"}
    keys = set("image environment command ports read_only restart depends_on expose healthcheck tmpfs deploy".split())
    for service in services.values():
        assert set(service) <= keys and set(service.get("depends_on", ())) <= set(services)
        assert set(service.get("environment", {})) <= SETTINGS
        parse_command(service["command"])
    listens = parse_command(services["scheduler"]["command"])
    for given in (services[name]["environment"]["LANESCOPE_SCHEDULER"] for name in ("server", "worker")):
        assert parse_address(given) == ("scheduler", int(listens["port"]))
    assert listens["host"] == "0.0.0.0" and "ports" not in services["scheduler"], "published nowhere"
    (device,) = services["worker"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["driver"] == "nvidia" and device["capabilities"] == ["gpu"]


@for_each("with_tls", [False, True])
def test_kubernetes(with_tls: bool) -> None:
    made = load_objects(with_tls)
    assert [(one["kind"], one["apiVersion"]) for one in made] == [(one["kind"], KINDS[one["kind"]]) for one in made]
    assert len({(one["kind"], one["metadata"]["name"]) for one in made}) == len(made) == 6
    services = {one["metadata"]["name"]: one["spec"] for one in made if one["kind"] == "Service"}
    labels = [found for _, found, _ in list_pods(with_tls)]
    for controller, own, container in list_pods(with_tls):
        assert controller["spec"]["selector"]["matchLabels"] == own
        told = {row["name"]: row.get("value", "node-1") for row in container["env"]} if "env" in container else {}
        assert set(told) - {"NODE"} <= SETTINGS
        options = parse_command([word.replace("$(NODE)", told.get("NODE", "")) for word in container["command"]])
        scheduler = told.get("LANESCOPE_SCHEDULER") or options.get("scheduler")
        if scheduler:
            host, port = parse_address(scheduler)
            assert [row["port"] for row in services[host]["ports"]] == [port]
        names = {row["name"] for row in container.get("ports", ())}
        for probe in ("readinessProbe", "livenessProbe"):
            for asked in container.get(probe, {}).values():
                assert not isinstance(asked, dict) or asked["port"] in names
        mounted = {row["name"] for row in container["volumeMounts"]}
        assert mounted == {row["name"] for row in controller["spec"]["template"]["spec"]["volumes"]}
        assert container["securityContext"]["runAsNonRoot"] and "limits" in container["resources"]
        for spec in services.values():
            if spec["selector"] == own:
                assert {row["targetPort"] for row in spec["ports"]} <= names
    assert all(spec["selector"] in labels for spec in services.values())
    (policy,) = (one["spec"] for one in made if one["kind"] == "NetworkPolicy")
    assert policy["policyTypes"] == ["Ingress"] and policy["ingress"][0]["from"]
    assert policy["podSelector"]["matchExpressions"][0]["values"] == ["scheduler", "worker"]


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_systemd(unit: Path, tmp_path: Path) -> None:
    read = configparser.ConfigParser(strict=True, interpolation=None)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read(unit)
    assert read.sections() == ["Unit", "Service", "Install"]
    service = read["Service"]
    set_here = dict(word.split("=", 1) for word in shlex.split(service.get("Environment", "")))
    assert set(set_here) <= SETTINGS
    parse_command(shlex.split(service["ExecStart"].replace("%l", "host")))
    assert "TLS" not in unit.read_text() and service["Restart"] == "on-failure"
    if shutil.which("systemd-analyze"):
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace("/opt/lanescope/bin/lanescope", shutil.which("true") or "/bin/true"))
        told = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=60)
        assert told.returncode == 0 and unit.name not in told.stderr, told.stderr
