"""Whatever is typed: the command answers, or says what is wrong and ends with status 2. Never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings, strategies as st

from lanescope.app import cli
from tests.cases import for_each
from tests.command import build_command, run_lanescope
from tests.sample import choose_count

MMA = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
WGMMA = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
# verb → words that make it work; a hostile word then replaces one of them or stands behind an option
WORKS: dict[tuple[str, ...], list[str]] = {
    ("list",): ["--family", "movmatrix"],
    ("show",): [MMA, "d", "--lane", "3"],
    ("diagram",): [MMA, "d"],
    ("kernel",): [MMA],
    ("chain",): [MMA, "a"],
    ("read",): ["pyproject.toml"],
    ("share",): ["/banks?row_bytes=128"],
    ("check",): ["tests/cpp.py"],
    ("dump", "verify"): ["CHANGELOG.md", "--descriptor", "0x4000004000010040", "--instruction", WGMMA],
    ("capture", "header"): [],
    ("capture", "verify"): ["tests/golden/captures/mma.lscap"],
    ("emulate",): ["app/emulate/programs/ring.ptx", "--launch", "app/emulate/programs/ring.toml", "--processes", "1"],
    ("tiles", "mma"): [MMA],
    ("tiles", "chain"): [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
        "--tile",
        "16,16,16",
        "--second-tile",
        "16,8,16",
    ],
    ("tiles", "copy"): ["universal", "--tile", "32x8", "--bits", "16", "--thr", "(32,1)", "--val", "(1,8)"],
    ("tiles", "loop"): [MMA, "--operand", "a", "--permutation", "(16,16,16)", "--storage", "kind=rows,pitch_bytes=32"],
    ("tiles", "tv"): ["((4,8),2):((16,1),8)", "--tile", "8x8"],
    ("tiles", "triton"): [BLOCKED, "--shape", "32x32"],
    ("convert",): [BLOCKED, BLOCKED.replace("[1, 0]", "[0, 1]"), "--shape", "32x32"],
    ("feeds",): ["#ttg.nvidia_mma<{versionMajor = 2, warpsPerCTA = [2, 2]}>", "--shape", "32x32"],
    ("cute",): ["composition((6,2):(8,2), (4,3):(3,1))"],
    ("banks",): ["ldmatrix.x1"],
    ("matrix-steps",): ["ldmatrix.m8n8.x4"],
    ("descriptor", "header"): [],
    ("descriptor", "decode"): ["0x4000004000010100"],
    ("descriptor", "encode"): ["--sbo-bytes", "1024"],
    ("descriptor", "verify"): ["0x4000004000010100", "--instruction", WGMMA, "--storage", "mn=64", "--storage", "k=64"],
    ("idesc", "decode"): ["0x08400490", "--kind", "f16"],
    ("idesc", "encode"): ["--m", "128", "--n", "256", "--a", "bf16", "--b", "bf16", "--field", "transpose_b=1"],
    ("idesc", "mask"): ["0x0003028000000000", "--m", "64"],
    ("tmem", "epilogue"): ["--m", "64", "--n", "128"],
    ("skill",): [],
    ("targets",): ["--target", "sm_90a"],
    ("scale-factors",): ["--kind", "mxf4nvf4", "--scale-vec", "4X", "--n", "128"],
    ("triton-dot",): ["--m", "32"],
    ("weights",): ["--format", "awq", "--find", "W[3,9]"],
    ("reuse",): ["mma.m16n8k16.row.col.f32.f16.f16.f32", "mma.m16n8k16.row.col.f32.f16.f16.f32"],
    ("compare",): ["ldmatrix.m8n8.x1.b16/data", "ldmatrix.m8n8.x1.trans.b16/data"],
    ("deliver",): ["--pitch-bytes", "144"],
    ("explain",): ["C7514"],
    ("metadata", "order"): ["--opcode", "wgmma.sp", "--tile-k", "64"],
    ("smem",): ["--mn", "8", "--k", "64"],
    ("steps",): ["mma.m8n8k4.row.col.f64.f64.f64.f64"],
    ("gpu", "status"): [],
    ("gpu", "run"): ["banks", "ldmatrix.x1", "--address", "0,16,32,48,64,80,96,112", "--backend", "numpy"],
    ("gpu", "verify"): ["--family", "nothing"],
}
HOSTILE = (
    "",
    " ",
    "-",
    "-1",
    "1e18",
    "NaN",
    "null",
    "9" * 5000,
    "１２",
    "²",
    "0x",
    "(" * 500,
    "a=b",
    "kind=cute",
    "K=1,",
    "\ud800",
    "\x00",
    "%s{0}",
    "𝔪",
    "m" * 8000,
    "3-1",
    "x:y",
    "none,none",
)


def list_verbs() -> dict[tuple[str, ...], Any]:
    """Every verb by its words."""

    def walk(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
        inner_verbs = getattr(command, "commands", None)
        if inner_verbs:
            for name, inner in inner_verbs.items():
                yield from walk((*words, name), inner)
        else:
            yield words, command

    return dict(walk((), build_command(cli.build_cli())))


def run_words(words: list[str]) -> tuple[int, str]:
    """(exit status, what was printed) of the command in this process; any other exception is the test's."""
    done = run_lanescope(*words)
    return done.returncode, done.stdout + done.stderr


def test_every_flag_is_off_until_it_is_given() -> None:
    flags = [
        (*verb, param.name)
        for verb, command in list_verbs().items()
        for param in command.params
        if getattr(param, "is_flag", False)
    ]
    by_verb = list_verbs()
    given = [flag for flag in flags for param in by_verb[flag[:-1]].params if param.name == flag[-1] and param.default]
    assert len(flags) > 20 and given == []


PART = choose_count(4, 8)  # of the hostile words each parameter has one in so many


@for_each("verb", sorted(WORKS), ids=" ".join, sample=12)
def test_hostile_words_are_refused_or_answered(verb: tuple[str, ...]) -> None:
    working = WORKS[verb]
    for number, param in enumerate(list_verbs()[verb].params):
        option = param.param_type_name == "option"
        if option and param.is_flag:
            continue
        written = {
            "output": ("nowhere/at/all.svg", "x.doc", "/"),
            "write_baseline": ("nowhere/at/all.json", "a\0b", "/"),
            "capture": ("nowhere/at/all.lscap", "a\0b", "/"),
            "trace": ("nowhere/at/all.json", "a\0b", "/"),
        }
        for hostile in written.get(param.name or "", HOSTILE[number % PART :: PART]):
            words = [*working, max(param.opts, key=len), hostile] if option else [hostile, *working[1:]]
            code, told = run_words([*verb, *words])
            assert code in (0, 1, 2) and "Traceback" not in told, (words, told[:500])
            assert len(told) < 400_000 and (code != 2 or told.strip()), words


@for_each(
    ("words", "says"),
    [
        (["serve", "--port", "99999"], "port is '99999'"),
        (["serve", "--port", "http"], "port is 'http'"),
        (["export", "/dev/null/site", "--family", "movmatrix"], "/dev/null"),
        (["export", "site", "--family", "nothing"], "nothing"),
        (["show", MMA, "a", "--lane", "0x20"], "No lane 32"),
        (["show", MMA, "a", "--value", "1"], "--value needs a --lane"),
        (["descriptor", "verify", "0x0", "--instruction", WGMMA, "--slice-k", "ten"], "k is 'ten'"),
        (
            ["descriptor", "verify", "0x0", "--instruction", WGMMA, "--storage", "mn=64", "--storage", "mn=128"],
            "occurs twice",
        ),
        (["descriptor", "verify", "0x0", "--instruction", WGMMA, "--storage", "swizle=64B"], "Did you mean 'swizzle'?"),
        (["steps", MMA, "--at", "3"], "at is '3'"),
        (["steps", MMA, "--seed", "1e5"], "seed is '1e5'"),
        (["smem", "--mn", "sixty"], "mn is 'sixty'"),
        (["show", "\udcff"], "is not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_said(words: list[str], says: str) -> None:
    code, told = run_words(words)
    assert code == 2 and says in told


words = st.lists(
    st.text(max_size=12)
    | st.sampled_from([MMA, WGMMA, "--json", "--at", "--storage", "-o", "a", "0", "--", "kind=rows"]),
    max_size=5,
)


@settings(max_examples=choose_count(60, 20), deadline=None)
@given(st.sampled_from(sorted(WORKS)), words)
def test_any_words(verb: tuple[str, ...], words: list[str]) -> None:
    if not any(word.startswith("-o") or word.startswith("--out") or word.startswith("--write") for word in words):
        assert run_words([*verb, *words])[0] in (0, 1, 2)
