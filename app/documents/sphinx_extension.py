"""The Sphinx extension: directive `lanescope`, role `word`. HTML has SVG files, LaTeX PDF, other builders the text."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective, SphinxRole

from lanescope.app.documents.cache import PictureCache, list_themes, name_file, write_whole
from lanescope.app.documents.figures import format_refusal
from lanescope.app.documents.markup import STYLE_NAME, describe_picture, render_images, render_style
from lanescope.app.documents.words import check_word
from lanescope.errors import LayoutError

OWN = ("alt", "caption", "theme", "name", "class")  # options of the directive; the others are the picture's


class DocumentError(SphinxError):
    """Raised if a picture cannot be drawn or a word is wrong: the build fails."""

    category = "lanescope"


class picture(nodes.General, nodes.Element):  # noqa: N801 (docutils names a visitor by the class)
    """A picture by its text, options and theme."""


class AnyOption(dict[str, Any]):
    """An option_spec that accepts every name, because the legal ones depend on the picture."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged


class PictureDirective(SphinxDirective):
    """`.. lanescope:: mma.m16n8k16 f16 a` with options; a longer text is the content."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption(caption=directives.unchanged, alt=directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Draw the picture, so that an error names the line of the text."""
        text = self.arguments[0] if self.arguments else "\n".join(self.content)
        options = {name: value or "1" for name, value in self.options.items() if name not in OWN}
        theme = self.options.get("theme") or ""
        try:
            if self.arguments and self.content:
                raise LayoutError("bad_figure", "The picture is named twice.", "As argument or as content.")
            drawn = [find_cache(self.env).draw_svg(text, options, each) for each in list_themes(theme)]
        except LayoutError as error:
            raise DocumentError(f"{self.get_location()}: {format_refusal(error)}") from None
        node = picture(
            text=text, options=options, theme=theme, alt=self.options.get("alt") or describe_picture(drawn[0])
        )
        self.set_source_info(node)
        figure = nodes.figure("", node, classes=["lanescope-figure", *(self.options.get("class") or "").split()])
        if caption := self.options.get("caption"):
            inline, messages = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *inline)
            figure += messages
        self.set_source_info(figure)
        self.add_name(figure)
        return [figure]


class WordRole(SphinxRole):
    """`0x4000004000010040 <64x64 bf16 K 128B>`: the word, which must read the tile."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Check the word; the build fails if it does not read the tile."""
        try:
            checked = check_word(self.text)
        except (LayoutError, AssertionError) as error:
            raise DocumentError(f"{self.get_location()}: {error}") from None
        return [nodes.literal(self.rawtext, checked.text, classes=["lanescope-word"])], []


def find_cache(env: Any) -> PictureCache:
    """Return the pictures of a project: in the folder that its configuration names, or beside its doctrees."""
    named = env.config.lanescope_cache
    return PictureCache(Path(env.srcdir, named) if named else Path(env.doctreedir) / "lanescope")


@contextmanager
def name_place(node: picture) -> Iterator[None]:
    """Convert a LayoutError while pages are written to a DocumentError with the picture's place."""
    try:
        yield
    except LayoutError as error:
        raise DocumentError(f"{node.source}:{node.line}: {format_refusal(error)}") from None


def visit_html(translator: Any, node: picture) -> None:
    """Write the pictures beside the page's images, and their HTML."""
    builder, pictures = translator.builder, []
    for theme in list_themes(node["theme"]):
        with name_place(node):
            svg = find_cache(builder.env).draw_svg(node["text"], node["options"], theme)
        name = name_file(svg.encode(), "svg")
        write_whole(Path(builder.outdir, builder.imagedir, name), svg.encode())
        pictures.append((theme, svg, f"{builder.imgpath}/{name}"))
    translator.body.append(render_images(pictures, node["alt"]))
    raise nodes.SkipNode


def visit_latex(translator: Any, node: picture) -> None:
    """Write the light picture as PDF. DocumentError if the renderer is not installed."""
    builder = translator.builder
    with name_place(node):
        content = find_cache(builder.env).draw_pdf(node["text"], node["options"], list_themes(node["theme"])[0])
    name = name_file(content, "pdf")
    write_whole(Path(builder.outdir, name), content)
    translator.body.append(f"\\noindent\\sphinxincludegraphics{{{name}}}\n")
    raise nodes.SkipNode


def visit_text(translator: Any, node: picture) -> None:
    """Write a description of the picture."""
    translator.add_text(f"[{node['alt']}]")
    raise nodes.SkipNode


def visit_other(translator: Any, node: picture) -> None:
    """Write a description of the picture, for builders that keep their text in `body`."""
    translator.body.append(f"[{node['alt']}]")
    raise nodes.SkipNode


def write_style(app: Sphinx) -> None:
    """Write the style sheet of an HTML builder."""
    if app.builder.format == "html":
        write_whole(Path(app.outdir, "_static", STYLE_NAME), render_style().encode())


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive, the role and the style sheet to a project."""
    app.add_config_value("lanescope_cache", "", "", str)
    app.add_node(
        picture,
        html=(visit_html, None),
        latex=(visit_latex, None),
        text=(visit_text, None),
        man=(visit_other, None),
        texinfo=(visit_other, None),
    )
    app.add_directive("lanescope", PictureDirective)
    app.add_role("word", WordRole())
    app.add_css_file(STYLE_NAME)
    app.connect("builder-inited", write_style)
    version = importlib.metadata.version("lanescope")
    return {"version": version, "parallel_read_safe": True, "parallel_write_safe": True}
