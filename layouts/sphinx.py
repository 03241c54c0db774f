"""The Sphinx extension: `extensions = ["lanescope.sphinx"]`. It needs `pip install 'lanescope[sphinx]'`."""

from lanescope.app.documents.sphinx_extension import setup

__all__ = ["setup"]
