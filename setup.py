"""The packages of `lanescope`, found in the folders that pyproject.toml maps them to (docs/adr/0016), and its long
description.
"""

import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
RELATIVE = r"\((?!https?:|#|mailto:)[^()\s]*\)"  # the target of a Markdown link or image


def write_description(readme: str) -> str:
    """Return the README as a package index can render it: without the paths of the repository, which lead nowhere
    there. A relative image is left out, a relative link keeps its words.
    """
    text = re.sub(rf"^!\[[^\]]*\]{RELATIVE}\n+", "", readme, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]*)\]{RELATIVE}", r"\1", text)


folders = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]
code = {package: folder for package, folder in folders.items() if (ROOT / folder / "__init__.py").exists()}
setup(
    packages=[
        *folders,
        *(f"{package}.{name}" for package, folder in code.items() for name in find_packages(str(ROOT / folder))),
    ],
    long_description=write_description((ROOT / "README.md").read_text("utf-8")),
    long_description_content_type="text/markdown",
)
