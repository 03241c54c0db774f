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
    """Build the log of one run. Open questions stand among the run's notifications, not among its results."""
    findings = [*report.findings, *report.doubts]
    codes = sorted({finding.code for finding in findings})
    titles = {finding.code: (finding.title, finding.level) for finding in findings}
    results = [
        {
            "ruleId": finding.code,
            "ruleIndex": codes.index(finding.code),
            "level": finding.level,
            "message": {"text": finding.message + (f" The right word is {finding.fix}." if finding.fix else "")},
            "locations": [_build_location(finding.place)],
            "partialFingerprints": {
                "lanescopeFinding/v1": _compute_fingerprint(finding.code, finding.message, finding.place.file)
            },
        }
        for finding in findings
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
        {"level": "note", "message": {"text": question.message}, "locations": [_build_location(question.place)]}
        for question in report.open
    ]
    notes += [
        {"level": "note", "message": {"text": f"{count} read{'s' * (count != 1)} not verified: {reason}"}}
        for reason, count in report.unverified.items()
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
    """Return a hash that stays the same for the same finding when lines above it change."""
    return hashlib.sha256(f"{file}\0{code}\0{message}".encode()).hexdigest()[:20]
