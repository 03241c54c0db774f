"""The settings: from the environment, by name, refused where they are wrong, documented, and each of some use."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lanescope.app.kit.settings import Settings, list_settings, name_variable
from lanescope.errors import LayoutError
from tests.cases import for_each

ROOT = Path(__file__).parents[1]


def test_settings_come_from_the_environment() -> None:
    assert Settings.from_environment({}) == Settings()
    told = Settings.from_environment(
        {
            "LANESCOPE_PORT": "0x1F90",
            "LANESCOPE_SECONDS": "2.5",
            "LANESCOPE_ACCESS_LOG": "true",
            "LANESCOPE_ROOT_PATH": "x/y/",
            "LANESCOPE_HOST": "",
            "OTHER": "1",
        }
    )
    assert (told.port, told.seconds, told.access_log, told.root_path, told.host) == (
        8080,
        2.5,
        True,
        "/x/y",
        "127.0.0.1",
    )
    assert Settings.from_environment(told.to_environment()) == told


@for_each(
    ("name", "given"),
    [
        ("port", "65536"),
        ("port", "-1"),
        ("workers", "0"),
        ("seconds", "nan"),
        ("seconds", "0"),
        ("rate", "-1"),
        ("rate", "x"),
        ("body_bytes", "0"),
        ("url_bytes", "1e9"),
        ("log_format", "xml"),
        ("access_log", "maybe"),
        ("root_path", "/a b"),
        ("root_path", "/../x"),
        ("root_path", 'x"y'),
        ("trusted_proxies", "proxy"),
        ("trusted_proxies", "10.0.0.1/8"),
        ("host", "a\nb"),
        ("frame_ancestors", "x\r\nSet-Cookie: y"),
        ("frame_ancestors", "'self'; script-src *"),
        ("cache_bytes", "-1"),
        ("threads", "65"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(name: str, given: str) -> None:
    with pytest.raises(LayoutError) as wrong:
        Settings.from_environment({name_variable(name): given})
    assert (wrong.value.code, wrong.value.field) == ("bad_setting", name) and wrong.value.hint


@pytest.mark.parametrize(("port", "asked"), [(None, "8000"), ("9000", "9000")])
def test_the_image_checks_the_port_it_listens_on(port: str | None, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (command,) = re.findall(r"^HEALTHCHECK.*\\\n\s+CMD (\[.*\])$", (ROOT / "Dockerfile").read_text(), re.M)
    told: list[str] = []
    monkeypatch.setattr("urllib.request.urlopen", lambda address, timeout: told.append(address))
    monkeypatch.delenv("LANESCOPE_PORT", raising=False)
    if port:
        monkeypatch.setenv("LANESCOPE_PORT", port)
    exec(json.loads(command)[2], {})
    assert told == [f"http://127.0.0.1:{asked}/healthz"]


def test_every_setting_is_documented() -> None:
    text = (ROOT / "docs" / "deploy.md").read_text()
    for name, default, says in list_settings():
        assert (
            f"| `{name_variable(name)}` | `--{name.replace('_', '-')}` | {f'`{default}`' if default else 'none'}"
            f" | {says} |"
        ) in text
