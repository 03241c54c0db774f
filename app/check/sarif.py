"""A report as SARIF 2.1.0, for code hosts and editors. Source of the format: OASIS, Static Analysis Results Interchange
Format 2.1.0. No framework."""

from __future__ import annotations

import hashlib
import importlib.metadata
from typing import Any
from urllib.parse import quote

from lanescope.app.check.facts import CheckReport, SourceSpan

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def build_log(report: CheckReport) -> dict[str, Any]:
    """The log of one run. What is open stands among the run's notifications, not among its results."""
    told = [*report.findings, *report.doubts]
    codes = sorted({one.code for one in told})
    titles = {one.code: (one.title, one.level) for one in told}
    results = [
        {
            "ruleId": one.code,
            "ruleIndex": codes.index(one.code),
            "level": one.level,
            "message": {"text": one.message + (f" The right word is {one.fix}." if one.fix else "")},
            "locations": [_build_location(one.place)],
            "partialFingerprints": {"lanescopeFinding/v1": _compute_fingerprint(one.code, one.message, one.place.file)},
        }
        for one in told
    ]
    rules = [
        {
            "id": code,
            "name": "".join(part.capitalize() for part in code.split("_")),
            "shortDescription": {"text": f"{titles[code][0]}."},
            "defaultConfiguration": {"level": titles[code][1]},
        }
        for code in codes
    ]
    notes = [
        {"level": "note", "message": {"text": one.message}, "locations": [_build_location(one.place)]}
        for one in report.open
    ]
    driver = {
        "name": "Lanescope",
        "version": importlib.metadata.version("lanescope"),
        "rules": rules,
    }
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notes}],
                "results": results,
            }
        ],
    }


def _build_location(place: SourceSpan) -> dict[str, Any]:
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    uri = quote(place.file) if not place.file.startswith("/") else f"file://{quote(place.file)}"
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}


def _compute_fingerprint(code: str, message: str, file: str) -> str:
    """The same for the same finding when lines above it change."""
    return hashlib.sha256(f"{file}\0{code}\0{message}".encode()).hexdigest()[:20]
