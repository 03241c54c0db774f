"""A pasted kernel: the page and its JSON say what lanescope check reports of it, at its lines, with its repairs."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest

from lanescope.app.check import answer, running
from lanescope.app.read import checked
from tests.cases import for_each
from tests.client import Client
from tests.command import run_lanescope
from tests.guilty_kernels import KERNELS, RIGHT
from tests.test_cute_order import HOPPER

CUTE = HOPPER.replace("    warpgroup_wait<0>();\n", "")
MISSPELT = """__global__ void wait(uint64_t* bar) {
  asm volatile("mbarrier.ival.shared.b64 [%0];" :: "r"(bar));
}
"""
OPEN = """template <int PITCH> __global__ void __launch_bounds__(32) move(half* from, float* d) {
  __shared__ half tile[16 * 64];
  for (int n = 0; n < 16; ++n) tile[n * PITCH + threadIdx.x] = from[n * 32 + threadIdx.x];
  __syncthreads();
  unsigned a[4], b[2] = {};
  unsigned at = __cvta_generic_to_shared(tile + threadIdx.x % 16 * PITCH + threadIdx.x / 16 * 8);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3]) : "r"(at));
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
"""


@pytest.fixture(autouse=True)
def without_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give slow machines time: the verdicts do not depend on it."""
    for module in (answer, checked):
        monkeypatch.setattr(module, "SECONDS", 60.0)


def get_page(client: Client, text: str, **more: str) -> str:
    shown = client.get("/read", params={"text": text, **more}, follow_redirects=False)
    assert shown.status_code == 200
    return " ".join(unescape(shown.text).split())


@pytest.mark.parametrize("text", [CUTE, KERNELS[0].text, MISSPELT, RIGHT], ids=["cute", "sbo", "ptx", "right"])
def test_the_page_and_its_json_have_the_findings_of_check(client: Client, text: str) -> None:
    reported = client.post("/api/v1/check", json={"files": [{"name": "a.cu", "text": text}]}).json()["findings"]
    told = client.post("/api/v1/read", json={"text": text}).json()["check"]
    places = [(found["code"], found["place"]["line"]) for found in reported]
    assert [(found["code"], found["place"]["line"]) for found in told["findings"]] == places
    shown = get_page(client, text)
    assert [int(line) for line in re.findall(r'class="place"><a href="#line-(\d+)"', shown)] == [n for _, n in places]
    for number, (code, line) in enumerate(places):
        assert f'id="finding-{number}"' in shown and f'href="/guide/check-rules#{code}"' in shown
        assert re.search(rf'id="line-{line}" class="line-guilty"><a class="at" href="#finding-{number}"', shown)


def test_a_repair_of_check_is_applied_as_one_of_the_workbench(client: Client) -> None:
    (fix,) = set(re.findall(r'name="apply" value="([^"]+)"', get_page(client, MISSPELT)))
    repaired = get_page(client, MISSPELT, fix=fix)
    assert "mbarrier.inval.shared.b64" in repaired and 'class="line-mended"' in repaired
    assert 'id="finding-0"' not in repaired


def test_a_missing_value_is_asked_for_and_given(client: Client) -> None:
    """As -D PITCH=32."""
    asked = get_page(client, OPEN)
    assert 'name="macro.PITCH" value=""' in asked and "depends on PITCH" in asked
    given = get_page(client, OPEN, **{"macro.PITCH": "32"})
    assert 'name="macro.PITCH" value="32"' in given and "depends on PITCH" not in given


def test_a_descriptor_alone_is_not_checked(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its page is there at once: a word, the code of one, and a layout."""
    monkeypatch.setattr(checked, "check_within", None)
    for text in (
        "0x4000004000010100",
        "uint64_t desc =\n  (uint64_t)(smem & 0x3FFFF) >> 4 | 64ull << 32 | 1ull << 62;",
        "Sw<3,4,3> o (8,64):(64,1)",
    ):
        assert client.get(f"/read?{urlencode({'text': text})}").status_code == 200


def test_a_report_is_kept_for_the_next_step_of_the_same_text(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    get_page(client, KERNELS[0].text)
    monkeypatch.setattr(checked, "check_within", None)
    assert 'id="finding-0"' in get_page(client, KERNELS[0].text, step="0.1")


def test_a_check_that_runs_out_of_time_says_so_and_is_tried_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end_at_once(*_: object) -> None:
        raise running.TooSlowError(None)

    text = CUTE + "// once more\n"
    with monkeypatch.context() as hasty:
        hasty.setattr(running, "run_within", end_at_once)
        shown = get_page(client, text, name="gemm.cu", target="sm_90a", **{"macro.BK": "64"})
    assert "Not checked to its end" in shown and "Nothing is verified yet" in shown
    assert "<code>lanescope check --target sm_90a -D BK=64 gemm.cu</code>" in shown
    assert 'id="finding-0"' in get_page(client, text)


@for_each("text", [KERNELS[0].text, MISSPELT, OPEN])
def test_the_command_prints_the_report_of_check(text: str, tmp_path: Path) -> None:
    """As `lanescope check` prints it, below what the text is; --json has it as `check`."""
    (file := tmp_path / "kernel.cu").write_text(text)
    told, report = run_lanescope("read", str(file)), run_lanescope("check", str(file))
    assert told.stdout.endswith(f"\n\n{report.stdout}") and told.stderr == report.stderr
    answer = json.loads(run_lanescope("read", str(file), "--json").stdout)["check"]
    error = next((found["title"] for found in answer["findings"] if found["level"] == "error"), "")
    assert told.returncode == (1 if error or answer["gaps"] or answer["kernel_gaps"] else 0)
    assert not error or told.stdout.startswith(("mismatch: ", f"error: {error} (line "))


def test_a_pasted_kernel_that_is_no_other_text_is_not_unknown() -> None:
    told = run_lanescope("read", "__global__ void f(int* x) {\n  *x = 1;\n}\n")
    assert told.stdout.startswith("unknown: Nothing to verify\n\n") and told.returncode == 1
