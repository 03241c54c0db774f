"""Opcodes of asynchronous copies, mbarriers and tcgen05 with a word too many, too few, or another one."""

from __future__ import annotations

from itertools import product

import pytest

from lanescope.app.read import text_meanings
from lanescope.reader.instructions.opcode_words import (
    explain_coordinates,
    explain_order,
    explain_second_word,
    explain_words,
)
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
    "opcode",
    [  # of those that ptxas 13.5 takes
        "mma.row.sync.aligned.m8n8k4.col.rn.f64.f64.f64.f64",
        "mma.sync.aligned.m8n8k128.xor.row.col.s32.b1.b1.popc.s32",
        "wgmma.mma_async.sp.aligned.m64n8k32.f16.sync.f16.f16",
        "wgmma.mma_async.sync.sp.aligned.m64n8k32.f16.f16.f16",
        "ldmatrix.sync.aligned.b8x16.m8n16.x1.b6x16_p32.shared",
        "tcgen05.ld.red.f32.sync.aligned.32x32b.x2.min",
        "tcgen05.mma.kind::f16.sp.cta_group::1",
        "cp.async.shared.L2::128B.ca.global",
        "mbarrier.arrive.expect_tx.b64.cta.release.shared::cta",
    ],
)
def test_ptxas_takes_most_words_of_an_opcode_in_any_order(opcode: str) -> None:
    assert explain_order(opcode) == ""


@for_each(
    ("opcode", "ordered"),
    [  # of those that ptxas 13.5 refuses
        (
            "mma.sync.aligned.m8n8k128.popc.row.col.s32.b1.b1.s32.xor",
            "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc",
        ),
        ("wgmma.sync.mma_async.aligned.m64n8k16.f16.f16.f16", "wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16"),
        ("wmma.load.sync.a.aligned.row.m8n8k128.b1", "wmma.load.a.sync.aligned.row.m8n8k128.b1"),
        (
            "ldmatrix.sync.aligned.m8n16.x1.shared.b6x16_p32.b8x16",
            "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32",
        ),
        ("tcgen05.ld.sync.red.aligned.32x32b.x2.min.f32", "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32"),
        ("tcgen05.mma.cta_group::1.kind::f16.ws", "tcgen05.mma.ws.cta_group::1.kind::f16"),
        ("cp.async.cg.global.shared", "cp.async.cg.shared.global"),
        (
            "cp.async.tensor.bulk.2d.global.shared::cta.bulk_group",
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
        ),
        (
            "mbarrier.try_wait.acquire.cta.parity.shared::cta.b64",
            "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64",
        ),
    ],
)
def test_an_opcode_whose_words_ptxas_refuses_in_their_order_is_not_read(opcode: str, ordered: str) -> None:
    told = text_meanings.read_text(opcode)
    assert told.kind == "unknown"
    assert told.notices == (f"PTX has no '{opcode}': its words have another order. Nearest: {ordered}.",)


MATRIX_LINES = (
    ("sm_90a", "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {r0, r1}, {r2}, {r3}, {r4, r5}"),
    ("sm_90a", "mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {r0, r1}, {r2, r3}, {r4, r5}, {r6, r7}, r8, 0"),
    ("sm_90a", "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {r0}, [r9]"),
    ("sm_100a", "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {r0}, [r9]"),
    ("sm_103a", "tcgen05.ld.red.sync.aligned.32x32b.x2.min.f32 {f0, f1}, f2, [r9]"),
    ("sm_100a", "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32 [r9], q1"),
)


@PTXAS
@pytest.mark.thorough
@for_each(("target", "line"), [*MATRIX_LINES, *(("sm_100a", line) for line in LINES)])
def test_the_words_of_an_opcode_are_read_in_the_orders_that_ptxas_takes(target: str, line: str) -> None:
    """Every word at every other place."""
    opcode, operands = line.split(" ", 1)
    first, *words = opcode.split(".")
    moved = {
        ".".join((first, *rest[:to], word, *rest[to:]))
        for n, word in enumerate(words)
        for rest in [words[:n] + words[n + 1 :]]
        for to in range(len(words))
    }
    orders = sorted(moved)
    taken = assembler.find_accepted([assembler.Line(order, operands) for order in orders], target, "9.3")
    assert opcode in {orders[n] for n in taken}
    refused = {order for order in orders if explain_order(order) or explain_second_word(order)}
    assert refused == {order for n, order in enumerate(orders) if n not in taken}


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


@for_each("opcode", ["mbarrier.shared.b64", "cp.commit_group", "tcgen05.wait::mma", "griddepcontrol.sync"])
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
