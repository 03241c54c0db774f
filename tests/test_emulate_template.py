"""Launch templates: they name every argument as the launches that ran on a device give it, and can be run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lanescope.app.emulate.examples import build_example
from lanescope.app.emulate.verbs import app
from lanescope.emulate.launching.kernel import prepare_kernel
from lanescope.emulate.launching.launch import Launch, parse_launch, parse_toml
from lanescope.emulate.launching.launch_template import write_launch_template
from lanescope.emulate.text.parser import parse_module
from lanescope.errors import LayoutError
from tests.cases import for_each
from tests.command import CliRunner
from tests.device_runs import list_hanging_runs, list_runs, read_archive

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"


def classify_argument(value: Any, launch: Launch) -> str:
    if not isinstance(value, str):
        return "bytes" if isinstance(value, dict) else "number"
    return "address of a map" if value.startswith("&") else "map" if value in launch.maps else "buffer"


@for_each("source", sorted({run.source for run in (*list_runs(), *list_hanging_runs())}), sample=6)
def test_arguments_are_what_the_launches_of_a_device_gave(source: str) -> None:
    """nvcc's and Triton's kernels: pointers, sizes, maps by value and by address, scratch pointers of 0."""
    run = next(one for one in list_runs() if one.source == source)
    module, launch = parse_module(read_archive()[f"{run.name}.ptx"].decode()), parse_launch(run.launch)
    template = parse_toml(write_launch_template(module, launch.kernel))
    assert [classify_argument(one, template) for one in template.args] == [
        classify_argument(one, launch) for one in launch.args
    ]
    assert template.block == launch.block  # .reqntid or .maxntid
    assert prepare_kernel(module, template).place().machine


def test_the_examples_have_templates() -> None:
    launch = parse_toml(write_launch_template(parse_module(build_example("ring")[0])))
    assert launch.block == (64, 1, 1) and launch.args == ("A", "B")
    assert parse_toml(write_launch_template(parse_module(build_example("right")[0]))).args == ("map0", "map1", "C", 1)


def write(parameters: str, body: str = "ret;", limits: str = "") -> str:
    registers = ".reg .b64 %x<9>; .reg .b32 %r<9>; .reg .pred %p;"
    return write_launch_template(parse_module(HEAD + f".entry k({parameters}) {limits} {{ {registers} {body} }}\n"))


def test_a_number_of_64_bits_that_scales_is_no_pointer() -> None:
    body = (
        "ld.param.u64 %x1, [p]; ld.param.u64 %x2, [pitch]; cvta.to.global.u64 %x3, %x1; mul.lo.u64 %x4, %x2, 8;"
        " add.u64 %x5, %x4, %x3; L: ld.global.u32 %r1, [%x5+4]; add.u64 %x5, %x5, 64; bra L;"
    )
    assert parse_toml(write(".param .u64 p, .param .u64 pitch", body)).args == ("A", 0)


def test_the_address_of_a_map_is_told_from_a_pointer() -> None:
    body = (
        "ld.param.u64 %x1, [m]; mov.b64 %x2, %x1; ld.param.u64 %x3, [p];"
        " cp.async.bulk.tensor.4d.shared::cluster.global.im2col"
        ".mbarrier::complete_tx::bytes [%r1], [%x2, {%r1, %r1, %r1, %r1}], [%r2], {%r3, %r3};"
        " st.global.u32 [%x3], %r1; ret;"
    )
    text = write(".param .u64 p, .param .u64 m", body)
    launch = parse_toml(text)
    assert launch.args == ("A", "&map0") and launch.maps["map0"].buffer == "B"
    assert launch.maps["map0"].pixel_box is not None and len(launch.maps["map0"].dims) == 4
    assert prepare_kernel(parse_module(HEAD + ".entry k(.param .u64 p, .param .u64 m) { ret; }"), launch).place()


@for_each(
    ("limits", "words"),
    [
        (".reqntid 64, 2", "block = [64, 2]  # .reqntid"),
        (".maxntid 256", "block = [256]  # .maxntid: at most"),
        ("", "block = [128]  # set: not in the PTX"),
        (".explicitcluster .reqntid 32", "cluster = [1]  # set: .explicitcluster"),
        (".explicitcluster .maxclusterrank 8", "cluster = [1]  # set: .maxclusterrank, at most 8 blocks"),
        (".reqnctapercluster 2, 1, 1", "cluster = [2, 1, 1]  # .reqnctapercluster"),
    ],
)
def test_directives_are_taken_over(limits: str, words: str) -> None:
    text = write("", limits=limits)
    assert words in text and parse_toml(text).args == ()


def test_every_parameter_is_named_with_its_type() -> None:
    text = write(".param .f32 alpha, .param .u16 count, .param .align 4 .b8 shape[12], .param .align 64 .b8 map[128]")
    for words in ("1.0,  # alpha: set: .f32", "1,  # count: set: .u16", "# shape: set: a struct of 12 bytes"):
        assert words in text
    assert parse_toml(text).args == (1.0, 1, {"hex": "00" * 12}, "map0")


def test_the_command_prints_a_template(tmp_path: Path) -> None:
    two = HEAD + ".entry first() { ret; }\n.entry second(.param .u32 n) { ret; }\n"
    (tmp_path / "k.ptx").write_text(two)
    file = str(tmp_path / "k.ptx")
    printed = CliRunner().invoke(app, [file, "--launch-template", "--kernel", "sec"])
    assert printed.exit_code == 0 and parse_toml(printed.output).kernel == "second"
    (tmp_path / "launch.toml").write_text(printed.output)
    assert CliRunner().invoke(app, [file, "--launch", str(tmp_path / "launch.toml")]).exit_code == 0
    for options, words in (([], "--launch-template"), (["--launch-template"], "first, second")):
        refused = CliRunner().invoke(app, [file, *options]).exception
        assert isinstance(refused, LayoutError) and words in str(refused)
