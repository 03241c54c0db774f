"""Opcodes of asynchronous copies, mbarriers and tcgen05 with a word too many, too few, or another one."""

from __future__ import annotations

from itertools import product

import pytest

from lanescope.app.read import text_meanings
from lanescope.reader.instructions.opcode_words import explain_coordinates, explain_words
from tests.cases import for_each
from tests.checked import check_text
from tests.ptxas import assembler

PTXAS = pytest.mark.skipif(assembler.find_ptxas() is None, reason="no ptxas: it comes with nvidia-cuda-nvcc")
LINES = (  # that ptxas takes for sm_100a; r: 32 bits, q: 64 bits, h: 16 bits
    "cp.async.ca.shared.global.L2::128B [r9], [q1], 16",
    "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [r9]",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [r9], [q1], 128, [r10]",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [r9], [q1, {r0, r1}], [r10]",
    "cp.async.bulk.tensor.2d.cta_group::2.shared::cta.global.mbarrier::complete_tx::bytes [r9], [q1, {r0, r1}], [r10]",
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [q1, {r0, r1}], [r9]",
    "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [q1, {r0, r1, r2}], [r9]",
    "mbarrier.init.shared::cta.b64 [r9], 1",
    "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 q2, [r9], 64",
    "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [r9], r1",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r9], 64",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [r9]",
)
WORDS = ("6d", "shared::cluster", "global", "b32", "bulk_group", "multicast::cluster", "cta_group::3", "relaxed")


@for_each("line", LINES)
def test_what_ptxas_takes_is_not_refused(line: str) -> None:
    assert explain_words(line.split()[0]) == ""


@PTXAS
@for_each("line", LINES, sample=3)
def test_ptxas_refuses_an_opcode_whose_words_are_refused(line: str) -> None:
    opcode, operands = line.split(" ", 1)
    words = opcode.split(".")
    changed = [[*words[:n], *words[n + 1 :]] for n in range(2, len(words))]
    changed += [[*words[:n], word, *words[n + 1 :]] for n, word in product(range(2, len(words)), WORDS)]
    changed += [[*words, word] for word in WORDS]
    refused = [opcode for opcode in map(".".join, changed) if explain_words(opcode)]
    assert len(refused) > len(changed) // 2
    taken = assembler.find_accepted([assembler.Line(opcode, operands) for opcode in refused], "sm_100a", "9.0")
    assert [refused[n] for n in taken] == []


@for_each(
    ("opcode", "reason"),
    [
        ("mbarrier.init.shared.b32", "'.b32' is not allowed, '.b64' is missing"),
        ("wgmma.fence.aligned", "'.sync' is missing"),
        ("tcgen05.alloc.sync.aligned.b32", "'.cta_group::1' or '.cta_group::2' is missing"),
        ("cp.async.cg.shared.global.L2::64B.L2::128B", "'.L2::128B' is not allowed beside the others"),
        ("mbarrier.try_wait.shared::cluster.b64", "'.shared::cluster' is not allowed"),
    ],
)
def test_the_wrong_and_the_missing_words_are_named(opcode: str, reason: str) -> None:
    assert explain_words(opcode) == f"PTX has no '{opcode}': {reason}."


def test_a_tensor_copy_has_as_many_coordinates_as_dimensions() -> None:
    head = "cp.async.bulk.tensor.{}.shared::cluster.global{}.mbarrier::complete_tx::bytes"
    assert [explain_coordinates(head.format(f"{n}d", ""), n) for n in range(1, 6)] == [""] * 5
    assert explain_coordinates(head.format("2d", ".tile::gather4"), 5) == ""
    assert explain_coordinates(head.format("3d", ""), 2).startswith("ptxas refuses 2 coordinates")


def test_a_check_reports_the_opcode_and_the_coordinates() -> None:
    copy = "cp.async.bulk.tensor.{}.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {{%2, %3}}], [%4];"
    code = '__device__ void load() {{ asm volatile("{}" :: "r"(d), "l"(m), "r"(x), "r"(y), "r"(bar)); }}'
    found = {
        rank: [finding.code for finding in check_text(code.format(copy.format(rank))).findings]
        for rank in ("2d", "3d", "6d")
    }
    assert found == {"2d": [], "3d": ["ptxas_refuses"], "6d": ["ptxas_refuses"]}


@for_each("name", ["mbarrier.init", "cp.async.bulk.tensor.2d", "tcgen05.commit.cta_group::1", "wgmma.fence"])
def test_the_beginning_of_an_opcode_is_a_name(name: str) -> None:
    assert text_meanings.read_text(name).kind == "topic"


def test_a_pasted_opcode_that_ptx_lacks_is_refused() -> None:
    told = text_meanings.read_text("cp.async.bulk.tensor.6d.shared::cluster.global.mbarrier::complete_tx::bytes")
    assert told.title == "No such instruction" and "'.6d' is not allowed" in told.notices[0]


@for_each("opcode", ["mbarrier.shared.inval.b64", "cp.commit_group", "tcgen05.wait::mma", "griddepcontrol.sync"])
def test_the_words_of_a_family_are_listed(opcode: str) -> None:
    told = text_meanings.read_text(opcode)
    assert told.title == "No such instruction" and f"PTX has no '{'.'.join(opcode.split('.')[:2])}'" in told.notices[0]


def test_a_wrong_opcode_among_others_is_named() -> None:
    told = text_meanings.read_text("cp.async.cg.shared.global [%0], [%1], 16; cp.async.comit_group;")
    assert told.notices[0] == "PTX has no modifier '.comit_group'. Nearest: cp.async.commit_group."


def test_a_macro_that_the_file_does_not_use_is_not_compiled() -> None:
    macro = '#define WAIT_ALL() \\\n  asm volatile("cp.async.bulk.wait_all;" ::)\n'
    assert not check_text(macro + "__global__ void k() {}").findings
    assert [finding.code for finding in check_text(macro + "__global__ void k() { WAIT_ALL(); }").findings] == [
        "ptxas_refuses"
    ]


def test_a_comment_of_ptx_ends_with_its_literal() -> None:
    code = '__device__ void f() { asm("wgmma.fence.sync.aligned; // all"); asm("mbarrier.init.shared.b32 [%0], 1;"); }'
    (finding,) = check_text(code).findings
    assert code[slice(*finding.span)] == "mbarrier.init.shared.b32"
