"""A TMA copy takes the map that the encode call put into the object it is given, whatever holds that object."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lanescope.reader.code.evaluation import evaluate_text
from lanescope.reader.code.maps.map_objects import list_filled_names
from lanescope.reader.code.maps.tma_rules import TensorMap
from lanescope.workbench.copies.loads import TextLoads
from lanescope.workbench.copies.named_maps import find_named_map
from lanescope.workbench.copies.transfers import read_copy
from lanescope.workbench.descriptors.uses import find_code_uses
from lanescope.workbench.kernels.kernel_runs import KernelText
from lanescope.workbench.reads.stores import Clues, TileStore, pair_stores
from lanescope.workbench.text.scan import find_mentions
from tests.cases import for_each
from tests.checked import check_text, list_codes
from tests.sample import take_sample
from tests.test_tma_loads import read_kernel
from tests.transfer_kernels import TMA, plant

OLD = """  CUtensorMap map_a, map_b;
  make_map(&map_a, A, M, K, BM, BK);
  make_map(&map_b, B, N, K, BN, BK);
"""
A, B = "make(A, M, K, BM, BK)", "make(B, N, K, BN, BK)"
RETURNING = """CUtensorMap make(bf16* ptr, uint64_t rows, uint64_t cols, uint32_t box_rows, uint32_t box_cols) {
  CUtensorMap m{};
  make_map(&m, ptr, rows, cols, box_rows, box_cols);
  return m;
}
struct Maps { CUtensorMap first, second; };
void run("""
# how the host makes its two maps, and how it passes them
HOLDERS = {
    "returned": (f"CUtensorMap x = {A}; CUtensorMap y = {B};", "x, y"),
    "assigned": (f"CUtensorMap x, y; x = {A}; y = {B};", "x, y"),
    "copied": (f"auto z = {B}; const auto x = {A}; auto y = z;", "x, y"),
    "overwritten": (f"auto x = {B}; auto y = x; x = {A};", "x, y"),
    "members": (f"Maps maps; maps.first = {A}; maps.second = {B};", "maps.first, maps.second"),
    "initialized members": (f"Maps maps{{{A}, {B}}};", "maps.first, maps.second"),
    "copied members": (f"Maps other{{{A}, {B}}}; Maps maps = other;", "maps.first, maps.second"),
    "items": (f"CUtensorMap maps[2]; maps[1] = {B}; maps[0] = {A};", "maps[0], maps[1]"),
    "initialized items": (f"CUtensorMap maps[] = {{{A}, {B}}};", "maps[0], maps[1]"),
    "items by address": (
        "CUtensorMap maps[2]; make_map(&maps[0], A, M, K, BM, BK); make_map(maps + 1, B, N, K, BN, BK);",
        "maps[0], maps[1]",
    ),
    "one object": (f"CUtensorMap z; make_map(&z, A, M, K, BM, BK); auto x = z; z = {B};", "x, z"),
    "new": (f"auto x = new CUtensorMap({A}); auto y = new CUtensorMap({B});", "*x, *y"),
    "unique": (
        "auto x = std::make_unique<CUtensorMap>(), y = std::make_unique<CUtensorMap>();"
        " make_map(x.get(), A, M, K, BM, BK); make_map(y.get(), B, N, K, BN, BK);",
        "*x, *y",
    ),
    "unique of a value": (
        f"auto x = std::make_unique<CUtensorMap>({A}); auto y = std::make_unique<CUtensorMap>({B});",
        "*x, *y",
    ),
    "vector": (
        "std::vector<CUtensorMap> maps(2); make_map(&maps[0], A, M, K, BM, BK); make_map(&maps[1], B, N, K, BN, BK);",
        "maps[0], maps[1]",
    ),
}


def hold(name: str) -> str:
    """Return the kernel with its maps held in this way."""
    made, passed = HOLDERS[name]
    return plant((OLD, f"  {made}\n"), ("void run(", RETURNING), ("(map_a, map_b, C", f"({passed}, C"), text=TMA)


def list_boxes(source: str) -> list[tuple[int | None, ...] | None]:
    """Return the box of each copy's map, those of one turn."""
    text = KernelText(evaluate_text(source))
    (run,) = text.runs
    copies = [read_copy(event, text.blank) for event in run.events if event.kind == "bulk"]
    maps = [find_named_map(copy.maps, text.maps) for copy in copies if copy is not None]
    return [None if found is None else found.box for found in maps[:2]]


@for_each("holder", take_sample(list(HOLDERS), 4))
def test_a_copy_takes_the_map_of_its_object(holder: str) -> None:
    assert list_boxes(hold(holder)) == [(64, 64), (64, 128)]


def test_exchanged_objects_are_exchanged_maps() -> None:
    """The names of the variables do not decide."""
    assert list_boxes(plant(("(x, y, C", "(y, x, C"), text=hold("returned"))) == [(64, 128), (64, 64)]


# how the host gets its maps into device memory, and passes pointers to them; the other parameters keep their places
ON_DEVICE = {
    "copied": (
        f"CUtensorMap x = {A}, y = {B}, *first, *second; cudaMalloc(&first, sizeof(CUtensorMap));"
        " cudaMalloc((void**)&second, sizeof *second); CHECK(cudaMemcpy(first, &x, sizeof x, cudaMemcpyHostToDevice));"
        " cudaMemcpyAsync(second, &y, sizeof(y), cudaMemcpyHostToDevice, stream);",
        "first, second",
    ),
    "returned": (f"auto first = place({A}), second = place({B});", "first, second"),
    "cached": (
        f"if (kept_rows != M) {{ kept_a = place({A}); kept_b = place({B}); kept_rows = M; }}",
        "kept_a, kept_b",
    ),
    "items": (
        f"CUtensorMap maps[2] = {{{A}, {B}}}, *placed; cudaMalloc(&placed, sizeof maps);"
        " cudaMemcpy(placed, maps, 2 * sizeof(CUtensorMap), cudaMemcpyHostToDevice);",
        "placed, placed + 1",
    ),
    "managed": (
        f"CUtensorMap *maps; cudaMallocManaged(&maps, 256); maps[0] = {A}; maps[1] = {B};",
        "&maps[0], &maps[1]",
    ),
}
PLACE = """CUtensorMap* place(CUtensorMap made) {
  CUtensorMap* on_device;
  cudaMalloc(&on_device, sizeof(CUtensorMap));
  cudaMemcpy(on_device, &made, sizeof(CUtensorMap), cudaMemcpyHostToDevice);
  return on_device;
}
static CUtensorMap *kept_a = nullptr, *kept_b = nullptr;
static int kept_rows;
void run("""


def hold_on_device(made: str, passed: str) -> str:
    """Return the kernel with pointers to maps that the host has made and copied in this way."""
    by_value = "const __grid_constant__ CUtensorMap ta,\n    const __grid_constant__ CUtensorMap tb"
    text = plant((by_value, "const CUtensorMap* ta, const CUtensorMap* tb"), ("&ta", "ta"), ("&tb", "tb"), text=TMA)
    text = plant((OLD, f"  {made}\n"), ("(map_a, map_b, C", f"({passed}, C"), text=text)
    return plant(("void run(", RETURNING.replace("void run(", PLACE)), text=text)


@for_each(
    ("holder", "exchanged"),
    [*((name, False) for name in ON_DEVICE), *((name, True) for name in take_sample(list(ON_DEVICE), 2))],
    sample=4,
)
def test_a_pointer_leads_to_the_map_in_device_memory(holder: str, exchanged: bool) -> None:
    made, passed = ON_DEVICE[holder]
    if exchanged:
        passed = ", ".join(reversed(passed.split(", ")))
    boxes = list_boxes(hold_on_device(made, passed))
    assert boxes == [(64, 128), (64, 64)] if exchanged else boxes == [(64, 64), (64, 128)]


def test_a_loop_that_copies_its_maps_again_runs_the_kernel_once() -> None:
    once = hold_on_device(*ON_DEVICE["returned"])
    turns = plant(("  auto first = ", "  for (int size : {512, 1024, 2048}) { auto first = "), text=once)
    turns = turns.replace("C, M, N, K);\n}", "C, M, N, K); }\n}")
    counts = [len(run.events) for text in (once, turns) for run in KernelText(evaluate_text(text)).runs]
    assert len(counts) == 2 and counts[0] == counts[1] > 0


BENCH = """void bench(bf16* A, bf16* B, bf16* C, bf16* expected, int n) {
  run(n, n, n, A, B, C);
  while (!equal(C, expected)) {}
  for (int turn = 0; turn < 8; ++turn) run(n, n, n, A, B, C);
}
"""


def test_a_copy_keeps_the_map_that_its_object_had() -> None:
    """What later turns of a loop of the host write into the object does not count."""
    loads = TextLoads(evaluate_text(read_kernel("one_stage") + BENCH)).all
    assert loads and all(list_filled_names(load.maps) for load in loads)


def test_each_map_that_may_fill_a_tile_is_named_once() -> None:
    """Maps that a helper makes have the name of its variable."""
    made = TensorMap("", (0, 0), 16, None, (), (), (64, 64), "128B", None, (), names=("tma_map",))
    maps = [replace(made, box=box, names=names) for box in ((64, 64), (64, 128)) for names in (("tma_map",), ("tb",))]
    clues = [Clues("a", "a", loaded=frozenset(("tma_map",))), Clues("b", "b", loaded=frozenset(("tma_map", "tb")))]
    named, both = (why for _, why in pair_stores([TileStore(n, one) for n, one in enumerate(maps)], clues).values())
    assert "through 2 maps that tma_map names, and" in named and "through tma_map and tb, and" in both


def test_a_map_of_scales_is_not_the_storage_of_a_tile_that_threads_fill() -> None:
    """TMA is known to fill the tile of B alone; without loads that are known, the order of the maps decides."""
    made = TensorMap("", (0, 0), 8, None, (), (), (128, 64), "128B", None, ())
    stores = [TileStore(n, replace(made, names=(name,))) for n, name in enumerate(("keys", "scales"))]
    for loaded, first in ((frozenset(("keys",)), None), (frozenset[str](), stores[0])):
        pairs = pair_stores(stores, [Clues("a", "a"), Clues("b", "b", loaded=loaded)])
        assert pairs.get("a", (None,))[0] is first and pairs["b"][0] is stores[not loaded]


X = f"CUtensorMap x = {A};"
EITHER = [  # what may leave either map in the object of A
    plant((X, f"{X} if (M > 64) x = {B};"), text=hold("returned")),
    plant((X, f"CUtensorMap x = M > 64 ? {A} : {B};"), text=hold("returned")),
    plant(("(maps[0], maps[1]", "(maps[M & 1], maps[1]"), text=hold("items")),
]


@pytest.mark.thorough
@for_each("text", EITHER, sample=1)
def test_a_tile_that_either_of_two_maps_fills_is_open(text: str) -> None:
    assert list_boxes(text) == [None, (64, 128)]
    report = check_text(text)
    assert not report.findings and report.steps == 12  # those of B
    assert [reads.count for reads in report.unverified] == [12]


def test_either_of_two_equal_maps_may_fill_a_tile() -> None:
    text = plant((X, f"CUtensorMap x = M > 64 ? {A} : {A.replace('A, M', 'A + 64, M')};"), text=hold("returned"))
    assert (check_text(text).steps, check_text(text).unverified) == (24, ())


def test_a_map_that_only_one_branch_makes_is_that_map() -> None:
    text = plant((X, f"CUtensorMap x; if (M > 0) x = {A};"), text=hold("returned"))
    assert list_boxes(text) == [(64, 64), (64, 128)]


@pytest.mark.thorough
def test_a_barrier_of_returned_maps_expects_their_bytes() -> None:
    right = hold("returned")
    assert not check_text(right).findings
    wrong = plant(("(BM * BK + BN * BK) * sizeof", "(BM * BK + BM * BK) * sizeof"), text=right)
    assert list_codes(wrong) == ["expect_tx_bytes"]


PRODUCTS = """__device__ void f{0}(float* d, uint32_t s) {{
  uint64_t a = (uint64_t)((s & 0x3FFFF) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62, b = a + 512;
{1}}}
"""
PRODUCT = """  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a + STEP), "l"(b));
"""


def test_the_products_of_a_file_with_many_kernels_are_all_found() -> None:
    """A file that includes ten kernels had no known reader for the descriptors of the last ones."""
    steps = "".join(PRODUCT.replace("STEP", str(2 * step)) for step in range(40))
    text = "".join(PRODUCTS.format(n, steps) for n in range(8))
    assert len(find_code_uses(evaluate_text(text), find_mentions(text))) == 8 * 40
