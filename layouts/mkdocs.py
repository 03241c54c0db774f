"""The MkDocs plugin `lanescope`, in mkdocs.yml under `plugins`. It needs `pip install 'lanescope[mkdocs]'`."""

from lanescope.app.documents.mkdocs_plugin import LanescopePlugin

__all__ = ["LanescopePlugin"]
