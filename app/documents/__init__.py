"""Pictures and checked words in documents: what lanescope.sphinx and lanescope.mkdocs share, and both extensions.

`figures` reads what a document asks for, `cache` draws it once, `words` checks a descriptor, `markup` makes the HTML;
`sphinx_extension` and `mkdocs_plugin` are thin.
"""
