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

from app.cli import attach
from app.kit.settings import rows, variable

FOLDER = Path(__file__).parents[1] / "docs" / "deploy"
UNITS = sorted(FOLDER.glob("*.service"))
SETTINGS = {variable(name) for name, *_ in rows()}
CONTROLLERS = {"Deployment": "apps/v1", "DaemonSet": "apps/v1"}
KINDS = CONTROLLERS | {"Service": "v1", "NetworkPolicy": "networking.k8s.io/v1"}


def parsed(words: list[str]) -> dict[str, Any]:
    """The options of a command line of ours, by name; an error of its own where there is no such option."""
    assert Path(words[0]).name == "lanescope"
    command: Any = typer.main.get_command(attach())
    words = words[1:]
    while hasattr(command, "commands"):
        command, words = command.commands[words[0]], words[1:]
    return dict(command.make_context("lanescope", list(words)).params)


def compose() -> dict[str, Any]:
    return dict(yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"])


def objects() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text()))


def pods() -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """(object, pod's labels, container) of every controller."""
    for made in objects():
        if made["kind"] in CONTROLLERS:
            (container,) = made["spec"]["template"]["spec"]["containers"]
            yield made, made["spec"]["template"]["metadata"]["labels"], container


def address_of(given: str) -> tuple[str, int]:
    host, _, port = given.removeprefix("tcp://").rpartition(":")
    return host, int(port)


def test_the_parser_of_commands_refuses_what_is_none() -> None:
    with pytest.raises(Exception, match="No such option: --schedular"):
        parsed(["lanescope", "gpu", "worker", "--schedular", "tcp://x:1"])


def test_compose() -> None:
    services = compose()
    assert set(services) == {"server", "scheduler", "worker"}
    keys = set("image environment command ports read_only restart depends_on expose healthcheck tmpfs deploy".split())
    for service in services.values():
        assert set(service) <= keys and set(service.get("depends_on", ())) <= set(services)
        assert set(service.get("environment", {})) <= SETTINGS
        parsed(service["command"])
    listens = parsed(services["scheduler"]["command"])
    for given in (
        services["server"]["environment"]["LANESCOPE_SCHEDULER"], parsed(services["worker"]["command"])["scheduler"]
    ):  # fmt: skip
        assert address_of(given) == ("scheduler", int(listens["port"]))
    assert listens["host"] == "0.0.0.0" and "ports" not in services["scheduler"], "published nowhere"
    (device,) = services["worker"]["deploy"]["resources"]["reservations"]["devices"]
    assert device["driver"] == "nvidia" and device["capabilities"] == ["gpu"]


def test_kubernetes() -> None:
    made = objects()
    assert [(one["kind"], one["apiVersion"]) for one in made] == [(one["kind"], KINDS[one["kind"]]) for one in made]
    assert len({(one["kind"], one["metadata"]["name"]) for one in made}) == len(made) == 6
    services = {one["metadata"]["name"]: one["spec"] for one in made if one["kind"] == "Service"}
    labels = [found for _, found, _ in pods()]
    for controller, own, container in pods():
        assert controller["spec"]["selector"]["matchLabels"] == own
        told = {row["name"]: row.get("value", "node-1") for row in container["env"]} if "env" in container else {}
        assert set(told) - {"NODE"} <= SETTINGS
        options = parsed([word.replace("$(NODE)", told.get("NODE", "")) for word in container["command"]])
        scheduler = told.get("LANESCOPE_SCHEDULER") or options.get("scheduler")
        if scheduler:
            host, port = address_of(scheduler)
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
    parsed(shlex.split(service["ExecStart"].replace("%l", "host")))
    assert "TLS" not in unit.read_text() and service["Restart"] == "on-failure"
    if shutil.which("systemd-analyze"):
        copy = tmp_path / unit.name
        copy.write_text(unit.read_text().replace("/opt/lanescope/bin/lanescope", shutil.which("true") or "/bin/true"))
        told = subprocess.run(["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=60)
        assert told.returncode == 0 and unit.name not in told.stderr, told.stderr


def test_every_unit_is_there() -> None:
    assert {path.stem for path in UNITS} == {"lanescope", "lanescope-scheduler", "lanescope-worker"}
