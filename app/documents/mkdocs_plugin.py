"""The MkDocs plugin `lanescope`: pictures from ```lanescope fences, and checked words, {word}`0x… <tile>`."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import markdown as python_markdown
from mkdocs.config import base, config_options as options
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin
from mkdocs.utils import get_relative_url

from lanescope.app.documents.cache import PictureCache, list_themes, name_file, write_whole
from lanescope.app.documents.fences import Fence, parse_fence, replace_fences
from lanescope.app.documents.figures import format_refusal
from lanescope.app.documents.markup import STYLE_NAME, render_images, render_style
from lanescope.app.documents.words import check_word
from lanescope.errors import LayoutError

FOLDER = "assets/lanescope"
FIGURE_OPTIONS = ("alt", "caption", "theme")  # of a fence; the others are options of its picture


class PluginOptions(base.Config):
    """cache_dir: folder of the cached pictures, beside mkdocs.yml."""

    cache_dir = options.Type(str, default=".cache/lanescope")


class LanescopePlugin(BasePlugin[PluginOptions]):
    """Pictures and checked words in Markdown; an error ends the build, with file and line."""

    def on_config(self, config: Any) -> Any:
        """Add the style sheet, and clear the pictures of an earlier build."""
        self.pictures: dict[str, bytes] = {STYLE_NAME: render_style().encode()}
        root = Path(config.config_file_path or ".").parent
        self.cache = PictureCache(root / self.config.cache_dir)
        if f"{FOLDER}/{STYLE_NAME}" not in config.extra_css:
            config.extra_css.append(f"{FOLDER}/{STYLE_NAME}")
        return config

    def on_page_markdown(self, markdown: str, /, *, page: Any, config: Any, files: Any) -> str:
        """Draw the fences of a page and check its words. PluginError names the file and the line."""
        before = count_lines_before(page.file.content_string, markdown)

        def draw(argument: str, body: list[str], line: int) -> str:
            try:
                return self._render_figure(parse_fence(argument, body), page.url)
            except LayoutError as error:
                raise PluginError(f"{page.file.src_path}:{line + before}: lanescope: {format_refusal(error)}") from None

        def check(text: str, line: int) -> str:
            try:
                return f'<code class="lanescope-word">{escape(check_word(text).text)}</code>'
            except (LayoutError, AssertionError) as error:
                raise PluginError(f"{page.file.src_path}:{line + before}: lanescope: {error}") from None

        return replace_fences(markdown, draw, check)

    def on_post_build(self, *, config: Any) -> None:
        """Write the pictures that the pages show, and the style sheet."""
        for name, content in self.pictures.items():
            write_whole(Path(config.site_dir, FOLDER, name), content)

    def _render_figure(self, fence: Fence, url: str) -> str:
        """Return the HTML of a fence on a page, in one line."""
        options = {name: value for name, value in fence.options.items() if name not in FIGURE_OPTIONS}
        shown = []
        for theme in list_themes(fence.options.get("theme", "")):
            svg = self.cache.draw_svg(fence.text, options, theme)
            name = name_file(svg.encode(), "svg")
            self.pictures[name] = svg.encode()
            shown.append((theme, svg, get_relative_url(f"{FOLDER}/{name}", url)))
        caption = fence.options.get("caption", "")
        below = f"<figcaption>{render_inline(caption)}</figcaption>" if caption else ""
        return f'<figure class="lanescope-figure">{render_images(shown, fence.options.get("alt", ""))}{below}</figure>'


def render_inline(text: str) -> str:
    """Return one line of Markdown as HTML, without a paragraph around it."""
    html = str(python_markdown.markdown(text))
    return html.removeprefix("<p>").removesuffix("</p>").replace("\n", " ")


def count_lines_before(source: str, markdown: str) -> int:
    """Return how many lines of front matter a file has, which MkDocs removes from the Markdown."""
    at = source.find(markdown.strip()[:200]) if markdown.strip() else -1
    return max(source.count("\n", 0, at) - (len(markdown) - len(markdown.lstrip("\n"))), 0) if at > 0 else 0
