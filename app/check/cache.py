"""Cache of reports, by the content of the sources."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lanescope.app.check.facts import (
    CheckedSource,
    CheckFinding,
    FollowingRead,
    OpenQuestion,
    SourceEdit,
    SourceSpan,
    SourceText,
)
from lanescope.app.check.running import SourceReport
from lanescope.app.kit.code_stamp import compute_code_stamp


def find_cache_folder() -> Path:
    """Return the folder of cached reports: LANESCOPE_CACHE, or a folder of the user's cache."""
    named = os.environ.get("LANESCOPE_CACHE")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CACHE_HOME") or Path("~").expanduser() / ".cache"
    return Path(home) / "lanescope" / "check"


def make_key(source: SourceText, choices: Mapping[str, str], target: str = "") -> str:
    """Return the key of a source's report: a hash of its text, the files that it is made of, the values of open names,
    the target, and the engine.
    """
    pieces = [(piece.start, piece.end, piece.name, piece.first) for piece in source.pieces]
    parts = [
        compute_code_stamp(),
        source.name,
        source.text,
        pieces,
        source.unfound,
        source.too_long,
        sorted(choices.items()),
        target,
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()


def load_report(folder: Path, key: str) -> SourceReport | None:
    """Return a cached report; None if it is missing or cannot be read."""
    try:
        return _decode(json.loads((folder / key[:2] / f"{key}.json").read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep_report(folder: Path, key: str, report: SourceReport) -> None:
    """Store a report in the cache, if the folder is writable."""
    path = folder / key[:2] / f"{key}.json"
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps(dataclasses.asdict(report)), "utf-8")
        part.replace(path)
    except OSError:
        return


def _decode(value: Mapping[str, Any]) -> SourceReport:
    return SourceReport(
        CheckedSource(**value["source"]),
        tuple(map(_decode_finding, value["findings"])),
        tuple(OpenQuestion(**{**item, "place": SourceSpan(**item["place"])}) for item in value["open"]),
        tuple(map(_decode_finding, value["doubts"])),
        tuple((str(reason), int(count), SourceSpan(**place)) for reason, count, place in value["unverified"]),
        tuple((SourceSpan(**place), str(gap)) for place, gap in value["descriptors"]),
        tuple((str(name), int(line)) for name, line in value["touched"]),
        tuple((SourceSpan(**place), str(gap)) for place, gap in value["kernels"]),
    )


def _decode_finding(value: Mapping[str, Any]) -> CheckFinding:
    edits = [SourceEdit(place=SourceSpan(**item["place"]), text=item["text"]) for item in value["edits"]]
    follows = [
        FollowingRead(message=item["message"], place=SourceSpan(**item["place"])) for item in value.get("follows", ())
    ]
    place = SourceSpan(**value["place"])
    return CheckFinding(**{**value, "place": place, "edits": edits, "follows": follows})
