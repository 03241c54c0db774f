"""`check --target`: what a kernel asks of its target, and where the target is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lanescope.app.check import config
from lanescope.app.check.headers import read_commands
from lanescope.app.check.verbs import app
from lanescope.app.main import create_app
from lanescope.errors import LayoutError
from lanescope.workbench.check import check_text
from tests.cases import for_each
from tests.checked import get_codes
from tests.command import CliRunner
from tests.guilty_kernels import RIGHT as GUILTY
from tests.test_check_tcgen05 import RIGHT as BLACKWELL

WGMMA = r"""__global__ void gemm(float* C, uint64_t a, uint64_t b) {
  float d[4];
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, 1, 1, 1, 0, 0;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
"""
GUARDED = WGMMA.replace("  asm", "#if __CUDA_ARCH__ == 900\n  asm").replace("\n}", "\n#endif\n}")
FEATURE = GUARDED.replace("#if __CUDA_ARCH__ == 900", "#ifdef __CUDA_ARCH_FEAT_SM90_ALL")
HELPER = WGMMA.replace("__global__", "__device__")
ARRAYS = "__global__ void sum(float* C) { __shared__ float s[%d]; C[0] = s[threadIdx.x]; }\n// wgmma\n"
RAISED = "int main() { cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, %d * 1024); wgmma(); }\n"
LACKS = "instruction_not_on_target"


@for_each(
    ("text", "target", "codes"),
    [
        (WGMMA, "", []),
        (WGMMA, "sm_90a", []),
        (WGMMA, "sm_90", [LACKS]),
        (WGMMA, "sm_100a", [LACKS]),
        (WGMMA, "sm_120a", [LACKS]),
        (GUARDED, "sm_120a", []),
        (GUARDED, "sm_90", [LACKS]),
        (FEATURE, "sm_90", []),
        (FEATURE, "sm_90a", []),
        (BLACKWELL, "sm_100a", []),
        (BLACKWELL, "sm_90a", [LACKS]),
    ],
)
def test_a_kernel_with_an_instruction_that_the_target_lacks_is_a_finding(
    text: str, target: str, codes: list[str]
) -> None:
    """wgmma is of sm_90a alone, tcgen05.mma of sm_100 and sm_110 (PTX ISA 9.1); an #if leaves the line out."""
    assert get_codes(check_text(text, target=target)) == codes


# mma alone: no descriptor, no tensor map, and nothing that launches the kernel
MMA = r"""__global__ void multiply(float* d, const unsigned* a, const unsigned* b, int n) {
  float c[4] = {0, 0, 0, 0};
  BEFORE
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  AFTER
  d[threadIdx.x] = c[0];
}
"""


@for_each(
    ("before", "after", "codes"),
    [
        ("", "", [LACKS]),
        ("for (int k = 0; k < n; ++k) {", "}", [LACKS]),
        ("if (threadIdx.x < n) {", "}", [LACKS]),  # ptxas assembles both branches
        ("if (false) {", "}", []),
        ("#if __CUDA_ARCH__ >= 800", "#endif", []),
        ("/*", "*/", []),
    ],
)
def test_a_kernel_that_has_mma_alone_is_looked_at(before: str, after: str, codes: list[str]) -> None:
    """mma with bf16 is of sm_80 and later (PTX ISA 9.1, 9.7.14.5.14)."""
    text = MMA.replace("BEFORE", before).replace("AFTER", after)
    assert get_codes(check_text(text, target="sm_75")) == codes
    assert LACKS not in get_codes(check_text(text, target="sm_80"))


def test_a_macro_or_function_that_such_a_kernel_calls_is_looked_at() -> None:
    start = MMA.index("  asm")
    statement, rest = MMA[start : MMA.index("  AFTER")], MMA[MMA.index("  AFTER") :].replace("AFTER", "")
    head = MMA[:start].replace("BEFORE", "")
    flat = " ".join(line.strip() for line in statement.splitlines())
    macro = f"#define MULTIPLY {flat}\n" + head + "  MULTIPLY\n" + rest
    parameters = "(float (&c)[4], const unsigned* a, const unsigned* b)"
    function = f"__device__ void step{parameters} {{\n{statement}}}\n" + head + "  step(c, a, b);\n" + rest
    for text in (macro, function):
        assert get_codes(check_text(text, target="sm_75")) == [LACKS]


def test_a_mismatch_does_not_rest_on_the_target() -> None:
    wrong = GUILTY.replace("(1024 >> 4) << 32", "(512 >> 4) << 32")
    codes = get_codes(check_text(wrong))
    assert codes
    assert get_codes(check_text(wrong, target="sm_90a")) == codes


def test_a_function_that_no_kernel_calls_is_an_open_point() -> None:
    report = check_text(HELPER, target="sm_120a")
    assert get_codes(report) == []
    assert any("not available on sm_120a" in point.message for point in report.open)
    assert not any("not available" in point.message for point in check_text(HELPER, target="sm_90a").open)


@for_each(
    ("text", "target", "over"),
    [
        (ARRAYS % 12288, "sm_80", False),  # 48 KB
        (ARRAYS % 12289, "sm_80", True),
        (ARRAYS % 25344, "sm_120a", False),  # 99 KB
        (ARRAYS % 25345, "sm_120a", True),
        (ARRAYS % 25345, "sm_90a", False),
        (ARRAYS % 25345, "", False),
        (RAISED % 163, "sm_80", False),
        (RAISED % 164, "sm_80", True),
        (RAISED % 100, "sm_89", True),
        (RAISED % 227, "sm_100a", False),
        (RAISED % 228, "sm_100a", True),
        (RAISED % 228, "sm_107a", False),  # nobody documents it
    ],
)
def test_shared_memory_has_the_limit_of_the_target(text: str, target: str, over: bool) -> None:
    """CUDA Programming Guide, compute capabilities."""
    launched = text + "__global__ void f() {}\n"
    assert ("shared_memory_over" in get_codes(check_text(launched, target=target))) is over


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("nvcc -arch=sm_90a -c a.cu", "sm_90a"),
        ("nvcc -gencode arch=compute_120a,code=sm_120a -c a.cu", "sm_120a"),
        ("nvcc --generate-code=arch=compute_100a,code=[compute_100a,sm_100a] -c a.cu", "sm_100a"),
        ("clang++ --cuda-gpu-arch=sm_80 -c a.cu", "sm_80"),
        ("nvcc -D__CUDA_ARCH__=900 -c a.cu", "sm_90a"),
        ("nvcc -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90a,code=sm_90a -c a.cu", ""),
        ("nvcc -c a.cu", ""),
    ],
)
def test_a_command_says_the_target(command: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps([{"directory": str(tmp_path), "file": "a.cu", "command": command}]))
    assert [one.target for one in read_commands(str(path)).values()] == [target]


def test_option_settings_and_macro_say_the_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.cu").write_text(WGMMA)

    def run(*options: str) -> tuple[int, str]:
        made = CliRunner().invoke(app, ["a.cu", "--no-cache", *options])
        return made.exit_code, made.output

    assert run()[0] == 0
    assert run("--target", "sm_90a")[0] == 0
    code, output = run("--target", "sm_120a")
    assert code == 1
    assert "1 file for sm_120a:" in output
    assert run("-D", "__CUDA_ARCH__=1200")[0] == 1
    assert "changes nothing" not in run("-D", "__CUDA_ARCH__=900")[1]
    (tmp_path / "lanescope.toml").write_text('target = "sm_120a"\n')
    assert run()[0] == 1
    assert run("--target", "sm_90a")[0] == 0  # the option takes its place
    (tmp_path / "lanescope.toml").write_text('target = "sm_9"\n')
    with pytest.raises(LayoutError, match="sm_9"):
        config.find_settings(tmp_path)


def test_the_api_and_the_page_take_a_target() -> None:
    client = TestClient(create_app())
    body = {"files": [{"name": "a.cu", "text": '#include "b.cuh"\n'}, {"name": "b.cuh", "text": WGMMA}]}
    assert client.post("/api/v1/check", json=body).json()["findings"] == []
    made = client.post("/api/v1/check", json={**body, "target": "sm_120a"}).json()
    assert [(one["code"], one["place"]["file"], one["place"]["line"]) for one in made["findings"]] == [
        (LACKS, "b.cuh", 3)
    ]
    assert client.post("/api/v1/check", json={**body, "target": "sm_9"}).status_code == 422
    assert client.post("/api/v1/check", json={**body, "define": {"1X": 3}}).status_code == 422
    for target, told in (("sm_120a", True), ("sm_90a", False)):
        page = client.post("/read/files", files={"files": ("a.cu", WGMMA)}, data={"target": target})
        assert ("is not available on sm_120a" in page.text) is told
        assert f'<option value="{target}" selected>{target}</option>' in page.text
    assert client.post("/read/files", files={"files": ("a.cu", WGMMA)}, data={"target": "x"}).status_code == 422
