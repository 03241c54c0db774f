"""Pictures and checked words in documents: what lanescope.sphinx and lanescope.mkdocs share, and both extensions.

`figures` parses the request of a document, `cache` draws it once, `words` checks a descriptor, `markup` makes the HTML;
`sphinx_extension` and `mkdocs_plugin` adapt them.
"""
