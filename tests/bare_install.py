"""Install a wheel into an empty environment and use it: `python tests/bare_install.py WHEEL`.

Standard library only, so that every supported Python can run it (.github/workflows/release.yml does). Prints a report
as JSON; exit status 1 with what went wrong if a command fails.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
OWNER = "13    a2     R1        [15:0]  A[11,2]"  # lane 13 = 4 · 3 + 1 holds row 8 + 3, column 2 · 1
LISTING = ("--format=json", "--disable-pip-version-check")
PROGRAM = f"from lanescope import find; print(find({MMA!r}).operand('a').owner(11, 2))"
# Verb → the extra that its refusal names.
EXTRAS = {"serve": "web", "export site": "web", "mcp": "mcp", "lsp": "lsp"}


class BareEnvironment:
    """An environment with pip and nothing else, outside any project; the one that is there, if there is one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "env" / "bin"
        if not self.bin.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)

    def run(self, command: str, *words: str, status: int = 0) -> str:
        """Run one of its commands and return both outputs; SystemExit if it ends otherwise than with this status."""
        ran = subprocess.run(
            [str(self.bin / command), *words], cwd=self.folder, capture_output=True, text=True, check=False
        )
        if ran.returncode != status:
            raise SystemExit(f"{command} {' '.join(words)} ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
        return ran.stdout + ran.stderr

    def measure_packages(self) -> dict[str, int]:
        """Return the bytes of NumPy and of the other packages; `compiled`: of bytecode, which is not in the others."""
        (site,) = (self.folder / "env" / "lib").glob("python*/site-packages")
        sizes = {"numpy": 0, "others": 0, "compiled": 0, "numpy_compiled": 0}
        for path in site.rglob("*"):
            package = path.relative_to(site).parts[0]
            if path.is_file() and not package.startswith(("pip", "setuptools", "_distutils", "distutils")):
                numpy, compiled = package.startswith("numpy"), path.suffix == ".pyc"
                kind = ("numpy_" if numpy else "") + "compiled" if compiled else "numpy" if numpy else "others"
                sizes[kind] += path.stat().st_size
        return sizes


def find_owner(environment: BareEnvironment) -> str:
    """Return the line of `lanescope show` that names the owner of A[11,2]."""
    return environment.run("lanescope", "show", MMA, "a", "--at", "11,2").splitlines()[-1]


def install_wheel(wheel: Path, folder: Path, *options: str) -> dict[str, Any]:
    """Install a wheel as a user does, use it, and return what it took: seconds, bytes downloaded and installed, and the
    version of each package.
    """
    environment = BareEnvironment(folder)
    downloads = folder / "downloads"
    environment.run("pip", "download", "-q", "--prefer-binary", *options, "-d", str(downloads), str(wheel))
    began = time.monotonic()
    environment.run("pip", "install", "-q", *options, str(wheel))
    owner = find_owner(environment)
    seconds = time.monotonic() - began
    check_commands(environment, owner)
    return {
        "seconds": seconds,
        "downloaded": sum(path.stat().st_size for path in downloads.iterdir()),
        **environment.measure_packages(),
        "packages": {row["name"]: row["version"] for row in json.loads(environment.run("pip", "list", *LISTING))},
    }


def check_commands(environment: BareEnvironment, owner: str) -> None:
    """Use the installed package in each way; SystemExit if it answers otherwise than it should."""
    version = environment.run("lanescope", "--version")
    answers = {
        "lanescope show": (owner, OWNER),
        "import lanescope": (environment.run("python", "-c", PROGRAM), "[(13, 2)]\n"),
        "python -m lanescope": (environment.run("python", "-m", "lanescope", "--version"), version),
    }
    for way, (answer, expected) in answers.items():
        if answer != expected:
            raise SystemExit(f"{way} answered {answer!r}, not {expected!r}")
    for verb, extra in EXTRAS.items():
        refusal = environment.run("lanescope", *verb.split(), status=2)
        if f"pip install 'lanescope[{extra}]'" not in refusal:
            raise SystemExit(f"lanescope {verb} without its extra says {refusal!r}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(install_wheel(Path(sys.argv[1]).resolve(), Path(name)), indent=1))
