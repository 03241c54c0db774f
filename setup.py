"""The packages of `lanescope`, found in the folders that pyproject.toml maps them to (docs/adr/0018)."""

import tomllib
from pathlib import Path

from setuptools import find_packages, setup

folders = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
code = {package: folder for package, folder in folders.items() if Path(folder, "__init__.py").exists()}
setup(packages=[*folders, *(f"{package}.{name}" for package, folder in code.items() for name in find_packages(folder))])
