"""What is published: `python -m tests.build_release FOLDER` writes the source distribution, the wheel made of it, and
sbom.json there.

The same commit gives the same bytes: times are those of SOURCE_DATE_EPOCH, or of the commit, and owners, modes and the
order of files are fixed. Nothing but the files of the repository is read, so that what an earlier build has left beside
them cannot slip in.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests import sbom
from tests.release import ROOT, list_tracked


def read_epoch() -> int:
    """Return the time that all files of a release have, in seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    command = ["git", "log", "-1", "--format=%ct"]
    return int(given or subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


def build_release(folder: Path) -> tuple[Path, Path, Path]:
    """Build source distribution, wheel and sbom.json into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        source = copy_sources(work / "source")
        sdist = fix_archive(run_build("sdist", source, work / "made"), folder)
        wheel = shutil.copy(build_wheel(sdist, work), folder)
    return sdist, Path(wheel), sbom.write_sbom(folder / "sbom.json")


def copy_sources(folder: Path) -> Path:
    """Copy the files of the repository, each readable by all, so that the caller's umask does not matter."""
    for path in list_tracked():
        copy = folder / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, copy)
        copy.chmod(0o755 if os.access(ROOT / path, os.X_OK) else 0o644)
    return folder


def build_wheel(sdist: Path, work: Path) -> Path:
    """Build the wheel of a source distribution, in a folder of its own."""
    with tarfile.open(sdist) as archive:
        archive.extractall(work / "unpacked", filter="tar")
    (source,) = (work / "unpacked").iterdir()
    return run_build("wheel", source, work / "made")


def run_build(kind: str, source: Path, folder: Path) -> Path:
    """Build an sdist or a wheel with the setuptools of this environment, as constraints.txt pins it."""
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", str(folder), str(source)]
    environment = os.environ | {"SOURCE_DATE_EPOCH": str(read_epoch())}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, umask=0o022)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)}\n{ran.stdout}{ran.stderr}")
    return next(folder.glob("*.tar.gz" if kind == "sdist" else "*.whl"))


def fix_archive(sdist: Path, folder: Path) -> Path:
    """Write a source distribution again with fixed times, owners, modes and order."""
    epoch, fixed = read_epoch(), folder / sdist.name
    with (
        tarfile.open(sdist) as old,
        fixed.open("wb") as file,
        gzip.GzipFile(fileobj=file, mode="wb", mtime=epoch, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return fixed


def list_changes() -> str:
    """Return what differs from the commit, as git lists it; "" for nothing."""
    command = ["git", "status", "--porcelain"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if changes := list_changes():
        print(f"These files differ from the commit, and the release has them as they are:\n{changes}", file=sys.stderr)
    for made in build_release(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")):
        print(f"{made}  {made.stat().st_size / 1e6:.2f} MB")
