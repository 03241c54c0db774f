"""A report as SARIF 2.1.0, for code hosts and editors. Source of the format: OASIS, Static Analysis Results Interchange
Format 2.1.0."""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from lanescope.app.check.facts import CheckFinding, CheckReport, FollowingRead, SourceEdit, SourceSpan
from lanescope.app.check.running import describe_unused, describe_unverified
from lanescope.app.check.suppress import BASELINE, compute_fingerprint
from lanescope.app.kit.folders import find_folder
from lanescope.app.kit.settings import LOCAL_SITE
from lanescope.messages import ROWS

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def build_log(report: CheckReport, site: str = LOCAL_SITE) -> dict[str, Any]:
    """Build the log of one run. Open questions are notifications of the run, not results. site: address of the guide's
    pages.
    """
    accepted = [accepted_finding.finding for accepted_finding in report.suppressed]
    findings = [*report.findings, *report.doubts, *accepted]
    codes = sorted({finding.code for finding in findings})
    titles = {finding.code: (finding.title, finding.level) for finding in findings}
    results = [_build_result(finding, codes) for finding in (*report.findings, *report.doubts)]
    for accepted_finding in report.suppressed:
        kind = "external" if accepted_finding.why == BASELINE else "inSource"
        reason = {} if kind == "external" else {"justification": accepted_finding.why}
        results.append({**_build_result(accepted_finding.finding, codes), "suppressions": [{"kind": kind, **reason}]})
    rules = [
        {
            "id": code,
            "name": "".join(part.capitalize() for part in code.split("_")),
            "shortDescription": {"text": f"{titles[code][0]}."},
            "defaultConfiguration": {"level": titles[code][1]},
            **_build_help(code, site),
        }
        for code in codes
    ]
    notes = [
        {"level": "note", "message": {"text": question.message}, "locations": [_build_location(question.place)]}
        for question in report.open
    ]
    notes += [
        {
            "level": "note",
            "message": {"text": describe_unverified(reason, count)},
            "locations": [_build_location(report.unverified_at[reason])],
        }
        for reason, count in report.unverified.items()
    ]
    notes += [{"level": "note", "message": {"text": describe_unused(name)}} for name in report.unused]
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


def _build_result(finding: CheckFinding, codes: list[str]) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.level,
        "message": {"text": finding.message + (f" The right word is {finding.fix}." if finding.fix else "")},
        "locations": [_build_location(finding.place)],
        **({"relatedLocations": list(map(_build_related, finding.follows))} if finding.follows else {}),
        "partialFingerprints": {"lanescopeFinding/v1": compute_fingerprint(finding)},
        **({"fixes": [_build_fix(finding.edits)]} if finding.edits else {}),
    }


def _build_related(read: FollowingRead) -> dict[str, Any]:
    return {**_build_location(read.place), "message": {"text": read.message}}


def _build_fix(edits: list[SourceEdit]) -> dict[str, Any]:
    """Return the edits of a finding as one fix: they must be applied together."""
    files: dict[str, list[dict[str, Any]]] = {}
    uris: dict[str, str] = {}
    for edit in edits:
        place = _build_location(edit.place)["physicalLocation"]
        uris[edit.place.file] = place["artifactLocation"]["uri"]
        files.setdefault(edit.place.file, []).append(
            {"deletedRegion": place["region"], "insertedContent": {"text": edit.text}}
        )
    return {
        "description": {"text": f"Write {', '.join(dict.fromkeys(edit.text for edit in edits))}."},
        "artifactChanges": [
            {"artifactLocation": {"uri": uris[name]}, "replacements": changes} for name, changes in files.items()
        ],
    }


def _build_help(code: str, site: str) -> dict[str, Any]:
    """Return the guide's address and text for a code: wrong and right code."""
    row = read_rule_rows().get(code)
    if row is None:
        return {"helpUri": link_rule(code, site)}
    markdown = f"Wrong: {row.wrong}\n\nRight: {row.right}"
    return {"helpUri": link_rule(code, site), "help": {"text": markdown.replace("`", ""), "markdown": markdown}}


def link_rule(code: str, site: str) -> str:
    """Return the address of a code in the guide, or of the page of the driver's message with this rule. site: address
    of the pages.
    """
    if code in read_rule_rows():
        return f"{site.rstrip('/')}/guide/check-rules#{code}"
    slugs = [row.slug for row in ROWS if row.rule == code]
    page = f"/messages/{slugs[0]}" if len(slugs) == 1 else "/messages#driver" if slugs else "/guide/check-rules"
    return site.rstrip("/") + page


@dataclass(frozen=True, slots=True)
class RuleRow:
    """The guide's text about a code; the row of its page has the code as id."""

    wrong: str
    right: str


@cache
def read_rule_rows() -> dict[str, RuleRow]:
    """Return the rows of the guide's page on the rules, by code."""
    rows: dict[str, RuleRow] = {}
    for line in (find_folder("docs") / "guide" / "check-rules.md").read_text("utf-8").split("\n"):
        if match := re.fullmatch(r"\| `(\w+)` \| (.*) \| (.*) \|", line):
            rows[match[1]] = RuleRow(match[2], match[3])
    return rows


def _build_location(place: SourceSpan) -> dict[str, Any]:
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.end_line,
        "endColumn": place.end_column,
    }
    uri = quote(place.file) if not place.file.startswith("/") else f"file://{quote(place.file)}"
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
