"""A mistake is reported at the number that causes it, if no other number could be changed instead."""

from __future__ import annotations

from dataclasses import replace

from lanescope.deadline import omit_when
from lanescope.errors import LayoutError
from lanescope.workbench.check_report import CheckReport, OpenPoint
from lanescope.workbench.repair.cause_search import find_cause
from lanescope.workbench.repair.repairs import apply_edits
from lanescope.workbench.results import CheckFinding, TextEdit
from lanescope.workbench.text.statement_words import list_origins
from tests.cases import for_each

TEXT = """
constexpr int STAGES = 8, ROWS = 64;
int count(int x) { return x & 7; }
void use() { store(STAGES * ROWS, count(3)); }
"""


def make_report(wrong: bool, code: str = "stores_overlap", slices: str = "") -> CheckReport:
    at = TEXT.index("store(")
    findings = (CheckFinding(code, "Wrong.", (at, at + 5)),) if wrong else ()
    return CheckReport(findings, (), (), descriptors=0, maps=0, steps=1, slices=frozenset({(slices,)}))


def search(*right: str, code: str = "stores_overlap", tile: str = "") -> tuple[CheckFinding, ...]:
    """Search the cause if only texts with one of some words are right. tile: words that give another tile."""

    def recheck(edit: TextEdit) -> CheckReport:
        edited = apply_edits(TEXT, (edit,))
        return make_report(not any(words in edited for words in right), code, tile if tile in edited else "")

    return find_cause(TEXT, make_report(True, code), recheck).findings


def test_the_finding_stands_at_the_only_number_that_makes_the_text_right() -> None:
    (finding,) = search("x & 3;")
    at = TEXT.index("7;")
    assert (finding.span, finding.edits) == ((at, at + 1), (TextEdit((at, at + 1), "3"),))
    assert [TEXT[slice(*read.span)] for read in finding.follows] == ["store"]


def test_a_number_that_has_two_right_values_has_no_edit() -> None:
    (finding,) = search("STAGES = 4", "STAGES = 7")
    assert TEXT[slice(*finding.span)] == "8" and finding.edits == ()
    assert "4 or 7 instead of 8 after `constexpr int STAGES =`" in finding.message


def test_the_finding_stays_and_names_the_numbers_if_each_of_two_could_be_changed() -> None:
    (finding,) = search("STAGES = 4", "x & 3;")
    assert TEXT[slice(*finding.span)] == "store" and finding.edits == ()
    assert (
        "One of these changes removes the mistake: 4 instead of 8" in finding.message
        and "or 3 instead of 7" in finding.message
    )


def test_numbers_further_away_than_a_right_one_do_not_count() -> None:
    (finding,) = search("count(1)", "STAGES = 4")
    assert TEXT[slice(*finding.span)] == "3"


def test_a_number_that_gives_another_tile_does_not_count_beside_one_that_does_not() -> None:
    (finding,) = search("ROWS = 32", "x & 3;", tile="ROWS = 32")
    assert TEXT[slice(*finding.span)] == "7"


@for_each(("code", "right"), [("barrier_missing", "x & 3;"), ("stores_overlap", "x & 300;")])
def test_the_finding_stays_if_a_statement_is_missing_or_no_number_is_right(code: str, right: str) -> None:
    (finding,) = search(right, code=code)
    assert (TEXT[slice(*finding.span)], finding.message) == ("store", "Wrong.")


def test_a_number_that_leaves_more_open_is_not_right() -> None:
    def leave_open(_edit: TextEdit) -> CheckReport:
        return replace(make_report(False), open=(OpenPoint("D is not known.", (0, 1)),))

    report = make_report(True)
    assert find_cause(TEXT, report, leave_open) == report


def test_a_search_that_ends_for_want_of_time_says_so() -> None:
    report = make_report(True)
    assert not find_cause(TEXT, report, lambda _edit: make_report(True)).unsearched
    with omit_when(lambda: True):
        assert find_cause(TEXT, report, lambda _edit: make_report(False)) == replace(report, unsearched=True)


def test_the_size_of_a_tile_is_no_mistake_of_one_place() -> None:
    """With other sizes the kernel is another one; a mask that several places use is a mistake of all."""
    for number, moves in (("16", False), ("0x10", True)):
        text = f"constexpr int SIZE = {number};\nvoid f() {{ a[SIZE]; b[SIZE]; store(p + SIZE); }}\n"
        place = text.index("store"), text.index("store") + 5
        report = replace(make_report(True), findings=(CheckFinding("stores_overlap", "Wrong.", place),))
        (found,) = find_cause(text, report, lambda _edit: make_report(False)).findings
        assert (found.span != place) == moves


def test_a_text_that_cannot_be_checked_with_an_edit_keeps_its_report() -> None:
    def refuse(edit: TextEdit) -> CheckReport:
        raise LayoutError("too_deep", f"{edit.text} levels are too many.")

    report = make_report(True)
    assert find_cause(TEXT, report, refuse) == report


@for_each(
    ("shown_by_run", "moves"),
    [
        (False, True),  # found without a run: D need not be known after the edit
        (True, False),  # else an edit that loses the run would hide the mistake
    ],
)
def test_a_mistake_that_a_run_shows_moves_only_if_d_is_known_then(shown_by_run: bool, moves: bool) -> None:
    (finding,) = make_report(True).findings
    before = replace(make_report(True), findings=(replace(finding, of_result=shown_by_run),))
    unknown = OpenPoint("D of use is not known to be A·B.", finding.span, result="D", kernel="use")

    def recheck(edit: TextEdit) -> CheckReport:
        right = "x & 3;" in apply_edits(TEXT, (edit,))
        return replace(make_report(not right), open=(unknown,))

    found = find_cause(TEXT, before, recheck).findings
    assert (TEXT[slice(*found[0].span)] == "7") == moves


def test_neither_a_shared_define_nor_the_size_of_a_block_is_tried() -> None:
    text = "#define TILE 64\nvoid run() { use<<<TILE, 128, TILE * 9>>>(TILE); }\n"
    at = text.index("use")
    tried = set()

    def recheck(edit: TextEdit) -> CheckReport:
        tried.add(text[slice(*edit.span)])
        return make_report(True)

    find_cause(
        text, replace(make_report(True), findings=(CheckFinding("stores_overlap", "Wrong.", (at, at + 3)),)), recheck
    )
    assert tried == {"9"}


def test_findings_stay_if_a_changed_text_cannot_be_checked() -> None:
    def recheck(edit: TextEdit) -> CheckReport:
        raise ValueError(edit.text)

    assert find_cause(TEXT, make_report(True), recheck) == make_report(True)


def test_a_statement_of_many_items_is_read_at_once() -> None:
    """An asm statement lists up to 128 items d[i][j]: none of them is set by =, and each bracket has one end."""
    items = ", ".join(f'"+f"(d[{n // 8}][{n % 8}])' for n in range(128))
    text = f'void f(float (&d)[16][8], int n) {{ int k = n; asm volatile("wgmma" : {items} : "r"(k)); }}'
    (_, statement), *_ = list_origins(text, [(text.index('"r"(k)'), text.index('"r"(k)') + 6)])
    assert "k" in statement.words
