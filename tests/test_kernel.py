"""Whole programs: they compile without a warning, and compute their product where the emulator executes their PTX."""

from __future__ import annotations

import functools
import json
import re
from itertools import cycle
from pathlib import Path

import pytest

from lanescope import find
from lanescope.app.guide import examples
from lanescope.app.hardware import script_runs
from lanescope.errors import LayoutError
from lanescope.product.plan import ProductPlan, TiledSide
from lanescope.product.planning import make_plan
from lanescope.ptx import catalog
from lanescope.render import kernel, kernel_device
from tests import cpp
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.emulator import MISSING, ProgramEmulator
from tests.program_bundle import TargetDevice, join_programs
from tests.ptxas import nvcc, nvrtc
from tests.sample import FULL, choose_count, take_rows, take_sample

F16 = "wgmma.mma_async.m64n32k16.f32.f16.f16"
WORKED = dict(
    zip((example.slug for example in examples.EXAMPLES), (given[:2] for given in script_runs.CHOSEN), strict=False)
)
CASES = [
    *((F16, a, b, "") for a, b in WORKED.values()),
    *((F16, *given) for given in script_runs.CHOSEN[4 :: choose_count(1, 2)]),
    (
        "wgmma.mma_async.m64n24k16.f16.f16.f16",
        "major=MN,order=k,mn=128,first=64,k=32",
        "major=MN,swizzle=32B,base=8320,scale=-1",
        "",
    ),
    ("wgmma.mma_async.m64n8k8.f32.tf32.tf32", "from=registers", "swizzle=128B", "scale=0"),
    ("wgmma.mma_async.m64n16k32.f16.e4m3.e5m2", "swizzle=32B", "swizzle=128B", ""),
    ("wgmma.mma_async.m64n8k256.s32.b1.b1.and.popc", "", "swizzle=64B", ""),
    ("wgmma.mma_async.sp.m64n8k32.f32.f16.f16", "swizzle=128B,selector=1", "swizzle=32B", ""),
    ("wgmma.mma_async.sp.m64n16k16.f32.tf32.tf32", "from=registers,selector=1", "", ""),
    ("wgmma.mma_async.sp.m64n8k64.s32.s8.u8", "", "swizzle=32B", ""),
    ("wgmma.mma_async.sp.m64n8k32.f32.bf16.bf16", "major=MN,swizzle=64B", "major=MN", ""),
    # b1 and a sparse A in lines and panels
    (
        "wgmma.mma_async.m64n16k256.s32.b1.b1.and.popc",
        "kind=rows,pitch_bytes=64,swizzle=64B",
        "kind=atoms,width_bytes=16,outer8_stride=128,inner_stride=256,k=512",
        "",
    ),
    (
        "wgmma.mma_async.sp.m64n8k32.f32.bf16.bf16",
        "kind=rows,pitch_bytes=64,swizzle=64B,swizzle_by=tile,base=128",
        "kind=atoms,width_bytes=128,outer8_stride=1024,inner_stride=1024,swizzle=128B,k=64",
        "",
    ),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "swizzle=128B,pitch_bytes=128", "major=MN", ""),
    ("mma.m16n8k16.row.col.f32.f16.f16.f32", "load=elements,major=MN", "load=elements,swizzle=32B", ""),
    ("mma.m8n8k16.row.col.s32.s8.u8.s32", "", "", ""),
    ("mma.m16n8k64.row.col.s32.s4.u4.s32", "pitch_bytes=48", "load=elements", ""),
    ("mma.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "", "", ""),
    ("mma.m16n8k8.row.col.f64.f64.f64.f64", "major=MN", "", ""),
    ("mma.m16n8k8.row.col.f32.tf32.tf32.f32", "", "major=MN", ""),
    ("mma.m8n8k4.col.row.f16.f16.f16.f16", "major=MN", "", ""),
    ("mma.m8n8k4.row.col.f32.f16.f16.f32", "", "major=MN", ""),
    ("mma.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e3m2.f32", "", "", ""),
    ("mma.sp::ordered_metadata.m16n8k32.row.col.f32.f16.f16.f32", "selector=1", "major=MN", ""),
    ("mma.sp::ordered_metadata.m16n8k8.row.col.f32.tf32.tf32.f32", "selector=3", "", ""),
    ("mma.sp::ordered_metadata.m16n8k64.row.col.s32.s4.s4.s32", "selector=1", "", ""),
    (
        "mma.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3",
        "thread_id=1",
        "thread_id=3",
        "",
    ),
    ("mma.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e2m1.e4m3.f32.ue8m0", "byte_id=2", "thread_id=2", ""),
    ("wmma.mma.row.col.m16n16k16.f32.f16", "ldm=24" * 0, "ldm=32", "layout=col,ldm=32"),
    ("wmma.mma.col.row.m32n8k16.s32.u8.u8.s32", "", "", ""),
    ("wmma.mma.row.col.m8n8k32.s32.s4.s4.s32", "", "", "layout=col"),
]


def build_plan(case: tuple[str, str, str, str]) -> ProductPlan:
    return make_plan(find(case[0]), *case[1:])


ASKED = take_rows(CASES, 12)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> ProgramEmulator:
    if cpp.find_compiler() is None or nvrtc.find_library() is None:
        pytest.skip(MISSING)
    return ProgramEmulator([build_plan(case) for case in ASKED], tmp_path_factory.mktemp("programs"))


@pytest.mark.parametrize("number", range(len(ASKED)), ids=[" ".join(case) for case in ASKED])
def test_a_program_computes_its_product(
    emulator: ProgramEmulator, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    assert emulator.main(number) == 0
    assert emulator.script(number) == 0


MODES = ("none", "32B", "64B", "128B")


@functools.cache
def sample_plans() -> dict[str, list[ProductPlan]]:
    """By target: a program of every row of the tables; of wgmma's rows, every mode and major of A and of B, and A from
    registers.
    """
    out: dict[str, list[ProductPlan]] = {}
    seen, rows = set(), set()
    for i in catalog.instructions():
        key = (id(i.family), i.shape if i.threads == 32 else "")
        if key in seen or (i.threads == 128 and i.sizes.get("n") != 24):
            continue
        try:
            plans = [make_plan(i)]
        except LayoutError as error:
            assert error.code == "no_program"
            continue
        seen.add(key)
        new = id(i.family) not in rows
        rows.add(id(i.family))
        if i.threads == 128:
            majors = ("K", "MN") if i.types["a"] in ("f16", "bf16") else ("K",)
            forms = [f"swizzle={mode},major={major}" for mode in MODES for major in majors]
            plans = [make_plan(i, a, b) for a, b in zip(forms, forms[::-1], strict=True)]
            plans += [make_plan(i, "from=registers", b) for b in forms[1:3]]
        elif new and i.family.name != "wmma":
            for major, pitch, mode in zip(("K", "MN"), (64, 272), cycle(MODES[1:]), strict=False):
                try:
                    plans.append(make_plan(i, f"major={major},pitch_bytes={pitch},swizzle={mode}", f"major={major}"))
                except LayoutError as error:
                    assert error.code in ("bad_major", "bad_number")
        elif new:
            plans.append(make_plan(i, "ldm=128", "ldm=128", "layout=col,ldm=64"))
        out.setdefault(kernel.get_target(plans[0]), []).extend(plans)
    out["sm_90a"] += [make_plan(find(F16), *given) for given in script_runs.CHOSEN]
    return out


@pytest.mark.skipif(not FULL, reason="make fuzz executes all of them; CASES above has one of every kind")
def test_programs_of_the_tables_compute_their_products(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Those of every row, mode and major."""
    if cpp.find_compiler() is None or nvrtc.find_library() is None:
        pytest.skip(MISSING)
    plans = [plan for target in TARGETS for plan in sample_plans()[target]]
    emulator = ProgramEmulator(plans, tmp_path)
    assert [emulator.main(number) for number in range(len(plans))] == [0] * len(plans)


# The programs are planned when they are compiled: every process collects every test.
TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a")


@pytest.mark.thorough
@pytest.mark.skipif(nvcc.find_nvcc() is None, reason=nvcc.MISSING)
@pytest.mark.parametrize("target", TARGETS if FULL else ("sm_90a", "sm_120a"))
def test_programs_compile_without_a_warning(target: str, tmp_path: Path) -> None:
    """Programs of every family, mode and major, some of those of a target in one translation unit; ptxas adds no
    fence and no wait of its own. Of the host's half the emulator's compiler sees a program of every family, with its
    warnings.
    """
    assert set(sample_plans()) == set(TARGETS)
    plans = take_sample(sample_plans()[target], 2)
    good, said = nvcc.compile_object(
        join_programs(plans), tmp_path, [*kernel.get_arch_option(plans[0]).split(), "-Xptxas", "-v"], "-cubin"
    )
    assert good, said[:3000]
    assert not re.search(r"C75\d\d|warning", said), said[:3000]


@pytest.mark.thorough
@pytest.mark.skipif(nvcc.find_nvcc() is None, reason=nvcc.MISSING)
@pytest.mark.parametrize("name", list(WORKED)[::3] if FULL else list(WORKED)[3:])
def test_the_worked_examples_compile(name: str, tmp_path: Path) -> None:
    """As the file that a reader saves, by the options its build line names: the one with A in registers; the others
    stand in the unit of their target.
    """
    made = make_plan(find(F16), *WORKED[name])
    assert kernel.render_build(made).startswith("nvcc -std=c++17 -gencode arch=compute_90a,code=sm_90a ")
    good, said = nvcc.compile_object(kernel.render_program(made), tmp_path, kernel.get_arch_option(made).split())
    assert good and not said.strip(), said[:2000]


def test_the_worked_examples_have_their_immediates_and_strides() -> None:
    """imm-trans-a and imm-trans-b of the four: 0 0, 1 1, 1 0, and 1 for B where A comes from registers; LBO and SBO in
    16 bytes.
    """
    calls = [
        re.search(r"wgmma_\w+<([^>]*)>\(", kernel.render_program(make_plan(find(F16), *given)))
        for given in WORKED.values()
    ]
    assert [found[1] for found in calls if found] == ["1, 1, 0, 0", "1, 1, 1, 1", "1, 1, 1, 0", "1, 1, 1"]
    sides = {name: make_plan(find(F16), *given) for name, given in WORKED.items()}
    words = {
        name: [side.get_descriptor(0) for side in (made.a, made.b) if isinstance(side, TiledSide)]
        for name, made in sides.items()
    }
    strides = {name: [(word.lbo_bytes // 16, word.sbo_bytes // 16) for word in found] for name, found in words.items()}
    assert strides["k-major-none"] == [(64, 8), (32, 8)] and strides["mn-major-64b"] == [(32, 64), (32, 8)]
    assert (
        strides["mixed-128b-32b"][0][1] == 64
        and strides["mixed-128b-32b"][1] == (1, 16)
        and strides["registers-64b"][0][1] == 32
    )
    for example in examples.EXAMPLES:  # the guide's links say the same
        linked = make_plan(find(F16), *(examples.format_storage(given) for given in (example.a, example.b)))
        assert linked.options == sides[example.slug].options


@for_each(
    ("ptx", "given", "field", "part"),
    [
        (F16, ("swizle=128B", "", ""), "a.swizle", "Did you mean 'swizzle'?"),
        (F16, ("swizzle=96B", "", ""), "a.swizzle", "none, 128B, 64B, 32B"),
        (F16, ("swizzle", "", ""), "a", "name=value"),
        (F16, ("k=24", "", ""), "a.k", "Multiples of 16"),
        (F16, ("k=16", "k=32", ""), "b.k", "1 steps"),
        (F16, ("swizzle=128B,k=32", "", ""), "a.k", "Multiples of 64"),
        (F16, ("mn=128,first=96", "", ""), "a.mn", "96 to 159"),
        (F16, ("base=1024", "base=2048", ""), "b.base", "Put B at 3072"),
        (F16, ("base=8", "", ""), "a.base", "multiple of 16"),
        (F16, ("descriptor=0x40003fff00000000", "", ""), "a.descriptor", "was not executed"),
        (F16, ("from=registers,k=256", "", ""), "a.k", "At most 8"),
        (F16, ("selector=1", "", ""), "a.selector", "no key"),
        (F16, ("kind=rows", "", ""), "a.pitch_bytes", "from 1"),
        (F16, ("kind=rows,pitch_bytes=16", "", ""), "a.kind", "share a byte"),
        (F16, ("kind=rows,pitch_bytes=80", "", ""), "a.kind", "No descriptor reads step 0"),
        (F16, ("kind=rows,pitch_bytes=128,order=mn", "", ""), "a.order", "no key"),
        (F16, ("kind=cute,layout=((8,4),(8,2)):((8,64),(1,512))", "", ""), "a.layout", "32 rows"),
        (F16, ("kind=cute,layout=x */ y", "", ""), "a.layout", "is not a CuTe layout"),
        (F16, ("kind=panels", "", ""), "a.kind", "canonical, atoms, rows, cute"),
        ("wgmma.mma_async.m64n8k32.s32.s8.s8", ("major=MN", "", ""), "a.major", "K-major only"),
        ("wgmma.mma_async.m64n8k32.s32.s8.s8", ("scale=-1", "", ""), "a.scale", "no key"),
        ("wgmma.mma_async.sp.m64n8k32.f32.f16.f16", ("selector=2", "", ""), "a.selector", "from 0 to 1"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", ("pitch_bytes=40", "", ""), "a.pitch_bytes", "multiple of 16"),
        ("mma.m16n8k16.row.col.f32.f16.f16.f32", ("", "", "scale=0"), "d", "no options"),
        ("mma.m16n8k32.row.col.s32.s8.s8.s32", ("major=MN,load=ldmatrix", "", ""), "a.load", "load=elements"),
        ("mma.m16n8k64.row.col.s32.s4.s4.s32", ("", "major=MN", ""), "b.major", "K-major"),
        ("wmma.mma.row.col.m16n16k16.f32.f16", ("ldm=20", "", ""), "a.ldm", "Multiples of 16"),
        ("ldmatrix.m8n8.x4.shared.b16", ("", "", ""), "ptx", "There is no program for"),
    ],
)
def test_what_cannot_be_is_refused_by_name(ptx: str, given: tuple[str, str, str], field: str, part: str) -> None:
    with pytest.raises(LayoutError) as caught:
        make_plan(find(ptx), *given)
    error = caught.value
    assert error.field == field and part in f"{error.message} {error.hint}", (
        f"{error.field}: {error.message} {error.hint}"
    )


def test_the_sample_for_a_device_is_bounded_and_has_every_mode() -> None:
    plans = list(script_runs.generate_plans(TargetDevice("sm_90a")))
    assert 100 < len(plans) <= 160 and {made.instruction.family.name for made in plans} == {
        "mma",
        "mma_sp",
        "wmma",
        "wgmma",
        "wgmma_sp",
    }
    tiles = [
        (side.letter, side.major, side.tile.mode.name)
        for made in plans
        for side in (made.a, made.b)
        if isinstance(side, TiledSide)
    ]
    assert set(tiles) == {(letter, major, mode) for letter in "ab" for major in ("K", "MN") for mode in MODES}


@pytest.mark.skipif(nvrtc.find_library() is None, reason="no NVRTC: make test installs it")
def test_scripts_give_nvrtc_what_it_compiles() -> None:
    """The kernel without any header, as CuPy hands it over: every eighth program of the device's sample."""
    plans = list(script_runs.generate_plans(TargetDevice("sm_90a")))[:: choose_count(4, 8)]
    text, log = nvrtc.compile_ptx(
        "".join(f"namespace n{n} {{\n{kernel_device.render_device(made)}}}\n" for n, made in enumerate(plans)), "sm_90a"
    )
    assert not log and all(made.instruction.ptx in text for made in plans)


# whole programs over http ---------------------------------------------------------------------------------------------

PTX = "wgmma.mma_async.m64n32k16.f32.f16.f16"
GIVEN = {"a": "major=MN,swizzle=64B,order=mn", "b": "major=MN,order=mn"}


def test_the_api_gives_the_program_and_what_it_was_made_of(client: Client) -> None:
    found = client.get(f"/api/v1/instructions/{PTX}/kernel", params=GIVEN).json()
    made = make_plan(find(PTX), *GIVEN.values())
    assert found["cu"] == kernel.render_program(made) and found["py"] == kernel.render_script_program(made)
    assert found["immediates"] == {"imm_scale_a": 1, "imm_scale_b": 1, "imm_trans_a": 1, "imm_trans_b": 1}
    # LBO 32 and SBO 64 of A, LBO 32 and SBO 8 of B, in units of 16 bytes
    assert found["descriptors"] == {"a": ["0x8000004000200000"], "b": ["0x0000000800200080"]}
    assert found["options"]["a"]["order"] == "mn" and found["options"]["d"] == {"scale": "1"}
    again = make_plan(find(PTX), *(found["options"][side] for side in "abd"))
    assert again.options == made.options


def test_the_same_bytes_by_address_command_and_api(client: Client, tmp_path: Path) -> None:
    api = client.get(f"/api/v1/instructions/{PTX}/kernel", params=GIVEN).json()
    for form in ("cu", "py"):
        assert client.get(f"/kernel/{PTX}.{form}", params=GIVEN).text == api[form]
        file = tmp_path / f"out.{form}"
        done = run_lanescope("kernel", PTX, "--a", GIVEN["a"], "--b", GIVEN["b"], "-o", str(file))
        assert done.returncode == 0 and file.read_text() == api[form]
    assert run_lanescope("kernel", PTX, "--a", GIVEN["a"], "--b", GIVEN["b"]).stdout == api["cu"]
    assert json.loads(run_lanescope("kernel", PTX, "--a", GIVEN["a"], "--b", GIVEN["b"], "--json").stdout) == api
    assert client.get(f"/kernel/{PTX}.json", params=GIVEN).json() == api


def test_refusals_name_the_option(client: Client) -> None:
    for given, field in (({"a": "swizle=64B"}, "a.swizle"), ({"b": "major=X"}, "b.major"), ({"d": "scale"}, "d")):
        answer = client.get(f"/api/v1/instructions/{PTX}/kernel", params=given)
        assert answer.status_code == 422 and answer.json()["error"]["field"] == field
        page = client.get(f"/kernel/{PTX}", params=given)
        assert page.status_code == 422 and 'role="alert"' in page.text and 'name="a.swizzle"' in page.text
    assert client.get(f"/kernel/{PTX}.cu", params={"a": "k=24"}).status_code == 422
    assert client.get("/api/v1/instructions/movmatrix.m8n8.trans.b16/kernel").status_code == 422
    assert client.get(f"/api/v1/instructions/{PTX}/kernel", params={"e": "1"}).status_code == 422
    refused = run_lanescope("kernel", PTX, "--a", "swizzle=96B")
    assert refused.returncode == 2 and "none, 128B, 64B, 32B" in refused.stderr
    assert run_lanescope("kernel", PTX, "-o", "program.txt").returncode == 2


def test_a_load_has_a_program_of_its_own(client: Client, tmp_path: Path) -> None:
    """Page, file, API and command say the same of ldmatrix; a product has no data, a load no A."""
    load, data = "ldmatrix.m8n8.x1.trans.shared.b16", "pitch_bytes=80,fill=s8"
    api = client.get(f"/api/v1/instructions/{load}/kernel", params={"data": data}).json()
    assert api["options"] == {"a": {}, "b": {}, "d": {}, "data": {"pitch_bytes": "80", "swizzle": "none", "fill": "s8"}}
    assert api["k"] is None and api["steps"] == 1 and "lane %2u" in api["cu"]
    for form in ("cu", "py"):
        assert client.get(f"/kernel/{load}.{form}", params={"data": data}).text == api[form]
        file = tmp_path / f"out.{form}"
        assert run_lanescope("kernel", load, "--data", data, "-o", str(file)).returncode == 0
        assert file.read_text() == api[form]
    sent = client.get(f"/kernel/{load}", params={"data.fill": "s8", "data.swizzle": ""}, follow_redirects=False)
    assert sent.status_code == 303 and sent.headers["location"].endswith("?data=fill=s8")
    page = client.get(sent.headers["location"])
    assert page.status_code == 200 and "move.cu" in page.text and "/gpu/run?kind=mma" not in page.text
    for ptx, side in ((load, "a"), (PTX, "data")):
        refused = client.get(f"/kernel/{ptx}", params={side: "k=16"})
        assert refused.status_code == 422 and f"has no {side}." in refused.text


def test_a_program_says_that_its_instruction_has_not_run() -> None:
    scaled = kernel.render_program(
        make_plan(find("mma.m16n8k64.row.col.kind::mxf4.block_scale.f32.e2m1.e2m1.f32.ue8m0"))
    )
    assert "Not yet run on hardware" in scaled.split("#include")[0] and "sm_120a" in scaled
    assert "Not yet run on hardware" not in kernel.render_program(make_plan(find(F16)))
