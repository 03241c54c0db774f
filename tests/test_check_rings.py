"""A kernel of two consumers that begin at different stages of a ring and store through the bulk copy, right and wrong.

The stage at which a consumer begins depends on its warpgroup and on K, as in a ping-pong kernel; the accumulators are
kept in place by empty asm statements.
"""

from __future__ import annotations

import pytest

from lanescope.reader.instructions.unknown_instructions import find_unknown_instructions
from tests.cases import for_each
from tests.checked import check_text, list_codes, list_findings
from tests.transfer_kernels import HELPERS, HOST, TMA

KERNEL = r"""struct Storage {
  alignas(1024) bf16 A[STAGES * BM * BK];
  alignas(1024) bf16 B[STAGES * BN * BK];
  alignas(1024) bf16 C[BM * BN];
};
__device__ void next_stage(int& stage, int& phase) {
  stage++;
  if (stage == STAGES) { stage = 0; phase ^= 1; }
}
__device__ void keep(float d[64]) {
  for (int i = 0; i < 64; i++) asm volatile("" : "+f"(d[i])::"memory");
}
__device__ bf16 round_number(float x) { return __float2bfloat16(x); }
__device__ void store_box(const CUtensorMap* map, bf16* from, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
      ::"l"(reinterpret_cast<uint64_t>(map)), "r"(shared_address(from)), "r"(x), "r"(y) : "memory");
}
__global__ void __launch_bounds__(384) gemm(const __grid_constant__ CUtensorMap ta,
    const __grid_constant__ CUtensorMap tb, const __grid_constant__ CUtensorMap tc, int M, int N, int K) {
  extern __shared__ __align__(1024) uint8_t raw[];
  Storage& s = *reinterpret_cast<Storage*>(raw);
  __shared__ uint64_t full[STAGES], empty[STAGES];
  int group = threadIdx.x / 128, steps = K / BK;
  if (group == 0) {
    int stage = 0, phase = 0;
    for (int tile = blockIdx.x; tile < M / BM * (N / BN); tile += gridDim.x)
      for (int t = 0; t < steps; t++) {
        wait(&empty[stage], phase);
        expect_bytes(&full[stage], (BM * BK + BN * BK) * sizeof(bf16));
        tma_load(&s.A[stage * BM * BK], &ta, &full[stage], t * BK, tile / (N / BN) * BM);
        tma_load(&s.B[stage * BN * BK], &tb, &full[stage], t * BK, tile % (N / BN) * BN);
        next_stage(stage, phase);
      }
  } else {
    int consumer = group - 1, stage = 0, phase = 0;
    if (consumer == 1) stage = steps % STAGES;
    for (int tile = blockIdx.x + gridDim.x * consumer; tile < M / BM * (N / BN); tile += gridDim.x * 2) {
      float d[64];
      for (int i = 0; i < 64; i++) d[i] = 0;
      keep(d);
      for (int t = 0; t < steps; t++) {
        wait(&full[stage], phase);
        warpgroup_arrive();
        for (int k = 0; k < BK; k += 16)
          multiply<1>(d, make_smem_desc(&s.A[stage * BM * BK + k]), make_smem_desc(&s.B[stage * BN * BK + k]));
        warpgroup_commit();
        warpgroup_wait<1>();
        next_stage(stage, phase);
      }
      warpgroup_wait<0>();
      stage = (stage + steps) % STAGES;
      for (int j = 0; j < 4; j++) s.C[threadIdx.x % 128 * BN + j] = round_number(d[j]);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      asm volatile("bar.sync %0, 128;" ::"r"(group) : "memory");
      if (threadIdx.x % 128 == 0) {
        store_box(&tc, s.C, tile % (N / BN) * BN, tile / (N / BN) * BM);
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group 0;");
      }
    }
  }
}
"""
RING = (
    HELPERS
    + KERNEL
    + HOST.replace("CUtensorMap map_a, map_b;", "CUtensorMap map_a, map_b, map_c;")
    .replace("  constexpr int bytes", "  make_map(&map_c, C, M, N, BM, 64);\n  constexpr int bytes")
    .replace("<<<dim3(N / BN, M / BM), 128, bytes>>>(map_a, map_b, C,", "<<<132, 384, bytes>>>(map_a, map_b, map_c,")
)


@pytest.mark.thorough
def test_a_consumer_that_begins_in_the_middle_of_the_ring_is_verified() -> None:
    found = check_text(RING)
    assert not found.findings and not found.unverified
    assert found.steps >= 2 * 2 * 4  # two operands, two turns, four K steps


MISTAKES = [
    ("wgmma_commit_missing", "        warpgroup_commit();", "        ;", "warpgroup_wait<1>();"),
    (
        "proxy_fence_missing",
        'asm volatile("fence.proxy.async.shared::cta;" ::: "memory");',
        ";",
        'asm volatile("bar.sync',
    ),
    ("copies_overlap", "tma_load(&s.B[stage * BN * BK]", "tma_load(&s.B[stage * 64 * BK]", "tma_load(&s.B"),
]


@for_each(("code", "old", "new", "line"), MISTAKES, ids=[one[0] for one in MISTAKES], sample=1)
def test_a_mistake_in_the_ring_stands_at_its_line(code: str, old: str, new: str, line: str) -> None:
    assert RING.count(old) == 1
    text = RING.replace(old, new)
    places = dict(list_findings(text))
    assert line in places.get(code, f"none of it: {places}")


@for_each(
    ("template", "nearest"),
    [
        ('"mma.snyc.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};"', "mma.sync.aligned.m16n8k16"),
        ('"mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f23 {%0}, {%1}, {%2}, {%3};"', "f16.f16.f16.f16"),
        ('"{\\n" "wgmma.mma_async.sync.aligned.m64n60k16.f32.bf16.bf16 {%0}, %1, %2, 1, 1, 1, 0, 0;}"', "m64n64k16"),
        ('"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};"', ""),
        ('"mma.sync.aligned." SHAPE ".row.col.f32.f16.f16.f32 {%0}, {%1}, {%2}, {%3};"', ""),
        ('"wgmma.wait_group.sync.aligned %0;"', ""),
        ('"// mma.snyc is no instruction {\\n"', ""),
    ],
)
def test_an_opcode_that_does_not_exist_is_named_with_the_nearest_one(template: str, nearest: str) -> None:
    messages = [one.message for one in find_unknown_instructions(f"asm volatile({template} : : );")]
    assert len(messages) == bool(nearest)
    assert all("Nearest: " in message and nearest in message.split("Nearest: ")[1] for message in messages)


@for_each(
    ("opcode", "exists"),
    [
        ("ldmatrix.sync.aligned.m8n8.x4.shared.b16", True),
        ("ldmatrix.sync.aligned.m8n8.x3.shared.b16", False),
        ("ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4", True),  # PTX 9.4; it has no picture
    ],
)
def test_opcodes_of_a_module_are_judged_as_those_of_asm_statements(opcode: str, exists: bool) -> None:
    head = ".version 9.4\n.target sm_100a\n.address_size 64\n.visible .entry k()"
    unknown = list(find_unknown_instructions(f"{head} {{ {opcode} {{%r0}}, [%r1]; ret; }}\n"))
    assert (not unknown) == exists


def test_k_steps_unrolled_by_hand_are_steps_of_one_tile() -> None:
    first = TMA.index("    for (int k = 0; k < BK / 16; ++k)")
    call = TMA.index("multiply<1>", first)
    past = TMA.index(";\n", call) + 2
    steps = "".join("    " + TMA[call:past].replace("k * 16", str(16 * k)) for k in range(4))
    report = check_text(TMA[:first] + steps + TMA[past:])
    assert report.steps == 24 and not report.findings and not report.unverified


@for_each(("rows", "found"), [(64, []), (32, ["warpgroups_overlap"])])
def test_warpgroups_take_rows_of_their_own(rows: int, found: list[str]) -> None:
    """Two consumers of one tile of 128 rows: with a distance of 32 the rows in the middle are multiplied twice."""
    shared = RING.replace("BM = 64,", "BM = 128,").replace("if (consumer == 1) stage = steps % STAGES;", "")
    text = shared.replace("&s.A[stage * BM * BK + k]", f"&s.A[stage * BM * BK + consumer * {rows} * BK + k]")
    assert list_codes(text) == found


@for_each(
    ("old", "new"),
    [
        ("make_smem_desc(&s.A[stage * BM * BK", "make_smem_desc(&s.A[stage * 32 * BK"),
        ("make_smem_desc(&s.B[stage * BN * BK", "make_smem_desc(&s.B[stage * 192 * BK"),
        ("tma_load(&s.A[stage * BM * BK]", "tma_load(&s.A[stage * BN * BK]"),
    ],
)
def test_stages_are_read_as_far_apart_as_they_are_copied(old: str, new: str) -> None:
    """The first stage of a consumer is not known."""
    assert RING.count(old) == 1
    ((code, line),) = list_findings(RING.replace(old, new))
    assert code == "stage_distance" and new in line
