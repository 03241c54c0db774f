"""The static export: every page as a file with relative links; maps and pictures are shared by content.

It works from file:// and on any host.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

from lanescope.app.catalogue import facts as catalogue, site_search, topics
from lanescope.app.catalogue.groups import sort_instructions
from lanescope.app.catalogue.topics import TopicExport
from lanescope.app.guide import rendering as guide
from lanescope.app.instruction.state import bind_descriptor
from lanescope.app.kit import links
from lanescope.app.kit.assets import STATIC, render_bundle, render_style_sheet
from lanescope.app.kit.encoding import encode_json
from lanescope.app.kit.fact import fact_to_json
from lanescope.app.kit.local_fetch import fetch_address
from lanescope.app.kit.page import FORMS, SHARED, render_palette_css, templates
from lanescope.app.kit.plotly import plotly_url
from lanescope.app.kit.settings import LOCAL_SITE, Settings
from lanescope.app.kit.share import PageCard, format_markdown, read_card
from lanescope.app.main import create_app
from lanescope.app.messages.facts import link_message
from lanescope.app.read import certain_links, message_readings
from lanescope.app.runs.hardware import ServerHardware
from lanescope.app.share.draw import draw_alone
from lanescope.errors import LayoutError
from lanescope.messages import BY_SLUG
from lanescope.ptx import catalog
from lanescope.ptx.instruction import Instruction, Operand
from lanescope.render import palette
from lanescope.render.figure import PanelFigure, make_figure, make_operand_figure
from lanescope.render.svg import render_svg

REASON = "An exported site executes nothing; run the server for that."
MOST_TABLE_VALUES = 512  # larger maps are in maps/*.json
NEEDS_SERVER = "needs-server.html"
STANDING = (
    "/help",
    "/gallery",
    "/gpu",
    "/guide",
    "/smem/atoms",
    "/messages",
    "/docs/integrations",
)  # exported for every choice of families
CATALOGUE = {"/": "index.html", "/instructions": "instructions.html"}
INSTEAD = {"catalogue/page.js": "catalogue/site.js"}  # script that needs the server → its substitute
_LINK = re.compile(r'\b(href|src|action|data-plotly)="(/[^"]*)"')
_CARD = re.compile(r'<meta property="og:type.*?summary_large_image">', re.S)  # needs the address of a server
_DEFERRED = re.compile("<(?=script defer)")
_MENU = re.compile(r'<details class="drop share".*?/share\.js[^>]*></script>', re.S)
_MODULE = re.compile(r'(?:<link rel="modulepreload"[^>]*>)*<script type="module" src="/static/([\w./-]+)\?\w+"([^>]*)>')


def name_instruction_file(ptx: str) -> str:
    """Return an instruction's file name; colons are illegal in some file systems."""
    return ptx.replace(":", "-")


class SiteExport:
    """Export the site; `files` has the bytes of the written files, by relative path."""

    def __init__(self, folder: Path, chosen: tuple[Instruction, ...]) -> None:
        self.folder, self.chosen = folder, chosen
        self.names = {i.ptx for i in chosen}
        self.instructions: dict[str, Instruction | None] = {}
        self.shared_files: dict[tuple[str, ...], str] = {}
        self.resolved: dict[str, str] = {}  # pages share most of their links
        self.files: dict[str, int] = {}
        self.written = 0
        limits = catalogue.CatalogueLimits(MOST_TABLE_VALUES, frozenset(self.names))
        self.app = create_app(
            ServerHardware(why_not=REASON), limits, Settings(seconds=600, cache_bytes=0)
        )  # ignore this shell's environment variables

    def fetch_page(self, address: str) -> bytes:
        """Fetch one page of the application."""
        return fetch_address(self.app, address)

    def write_file(self, path: str, content: bytes | str) -> str:
        """Write a file unless it already has this content; return its path."""
        raw = content.encode() if isinstance(content, str) else content
        if path in self.files:
            return path
        target = self.folder / path
        self.files[path] = len(raw)
        if not (target.is_file() and target.stat().st_size == len(raw) and target.read_bytes() == raw):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(raw)
            self.written += 1
        return path

    def write_shared_file(self, folder: str, ending: str, content: str) -> str:
        """Write a file named by its content."""
        return self.write_file(f"{folder}/{_compute_digest(content)}.{ending}", content)

    # links ------------------------------------------------------------------------------------------------------------

    def resolve_address(self, address: str) -> str:
        """Return the exported file for a server address."""
        if address not in self.resolved:
            self.resolved[address] = self._resolve_address(address)
        return self.resolved[address]

    def _resolve_address(self, address: str) -> str:
        path, _, fragment = html.unescape(address).partition("#")
        path, _, query = path.partition("?")
        path = unquote(path)
        if path.startswith("/svg/"):  # a picture of this site
            return path[1:]
        tail = f"#{query or fragment}" if query or fragment else ""
        text = dict(parse_qsl(query)).get("text", "")
        if path == "/messages" and text:
            return self.resolve_address(message_readings.find_link(text))
        if path == "/read":
            return self._resolve_text(text)
        if path == "/" and query:  # the old address of the catalogue
            path = "/instructions"
        file = self._resolve_page(path)
        if file.startswith("assets/"):
            return file
        if not file and path.startswith("/i/"):
            file = self._resolve_instruction(path.removeprefix("/i/"))
        return file + tail if file else NEEDS_SERVER

    def _resolve_text(self, text: str) -> str:
        """Return the file that a text of /read leads to: a search, unless the text has several lines."""
        found = message_readings.find_link(text) or certain_links.find_certain_link(text)
        if not found and "\n" in text:
            return NEEDS_SERVER
        return self.resolve_address(found or f"/instructions?{urlencode({'q': text} if text else {})}")

    def _resolve_page(self, path: str) -> str:
        """Return the file of an asset, or of a page that is not an instruction's; "" for another address."""
        if path in CATALOGUE:
            return CATALOGUE[path]
        if path.startswith("/static/"):
            return "assets/" + path.removeprefix("/static/")
        if path == "/palette.css":
            return "assets/palette.css"
        if path == plotly_url():
            return "assets/plotly.js"
        if path in STANDING or path.startswith("/guide/") or path.removeprefix("/messages/") in BY_SLUG:
            return f"{path[1:]}.html"
        return ""

    def _resolve_instruction(self, rest: str) -> str:
        stem, _, form = rest.rpartition(".")
        if form == "cu":  # the page contains the program
            return self._resolve_instruction(stem)
        if form in ("png", "pdf", "tex"):
            return NEEDS_SERVER
        if form in ("json", "svg") and stem.split("/")[0]:
            return self._export_instruction_file(stem, form)
        instruction = self._find_instruction(rest)
        return f"i/{name_instruction_file(instruction.ptx)}.html" if instruction else NEEDS_SERVER

    def _export_instruction_file(self, stem: str, form: str) -> str:
        """Return the file of an instruction or operand as JSON, or as a picture."""
        name, slash, letter = stem.rpartition("/")
        instruction = self._find_instruction(name if slash else stem)
        if instruction is None:
            return NEEDS_SERVER
        instruction = bind_descriptor(instruction, {})  # a file shows the default descriptor
        operand = instruction.operands.get(letter) if slash else None
        if form == "json":
            return self.write_map(operand) if operand else f"i/{name_instruction_file(instruction.ptx)}.json"
        operands = (operand,) if operand else tuple(instruction.operands.values())
        key = (
            letter if slash else instruction.shape,
            *(f"{op.name} {op.pattern} {op.element.name}" for op in operands),
        )
        if key not in self.shared_files:
            self.shared_files[key] = self.write_picture(
                make_operand_figure(operand) if operand else make_figure(instruction)
            )
        return self.shared_files[key]

    def _find_instruction(self, text: str) -> Instruction | None:
        if text not in self.instructions:
            try:
                instruction = catalog.find(text)
                self.instructions[text] = instruction if instruction.ptx in self.names else None
            except LayoutError:
                self.instructions[text] = None
        return self.instructions[text]

    def write_map(self, operand: Operand) -> str:
        """Write an operand's map as JSON, shared by all instructions that have it."""
        key = ("map", operand.name, str(operand.pattern), operand.element.name)
        if key not in self.shared_files:
            self.shared_files[key] = self._write_map(operand)
        return self.shared_files[key]

    def _write_map(self, operand: Operand) -> str:
        content = {"name": operand.name, "pattern": str(operand.pattern), "element_type": operand.element.name}
        content |= {axis: array.tolist() for axis, array in operand.coords.items()}
        return self.write_shared_file("maps", "json", json.dumps(content, separators=(",", ":")))

    def write_picture(self, figure: PanelFigure) -> str:
        """Write a figure as a picture with its own colours, shared by all instructions with the same picture."""
        title = "; ".join(f"{panel.title}: {panel.grid.operand.pattern}" for panel in figure.panels if panel.grid)
        return self.write_shared_file("svg", "svg", render_svg(figure, title=title, palette=palette.LIGHT))

    # pages ------------------------------------------------------------------------------------------------------------

    def write_page(self, address: str, path: str, maps: bool = False) -> None:
        """Fetch a page and write it with links to files."""
        self.write_file(path, self.localise_page(self.fetch_page(address).decode(), path, maps))

    def localise_page(self, text: str, path: str, maps: bool = False) -> str:
        """Return a page's text with links and scripts adapted to its place in the site."""
        up = "../" * path.count("/")
        text = self._replace_menu(_CARD.sub("", text))
        extra = ""
        if maps:
            text, files = self._share_maps(text)
            extra = "".join(f'<script defer src="{up}{file}"></script>' for file in files)
        if path == CATALOGUE["/instructions"]:
            text = text.replace(
                "</body>",
                _render_data_script(
                    "search",
                    fact_to_json(site_search.build_export(sort_instructions(self.chosen)))
                    | {"pages": self.build_topics()},
                )
                + "</body>",
                1,
            )
        text = _MODULE.sub(lambda m: f'<script defer src="/static/{self.write_script(m[1])}"{m[2]}>', text)
        text = _DEFERRED.sub(lambda _: f"{extra}<", text, count=1) if extra else text
        text = text.replace("<html ", "<html data-exported ", 1)
        text = _remove_indentation(text)
        return _LINK.sub(lambda m: f'{m[1]}="{html.escape(up + self.resolve_address(m[2]), quote=True)}"', text)

    def _replace_menu(self, text: str) -> str:
        """Return a page's text with the "Share" menu of an exported page: link, picture and Markdown."""
        if not _MENU.search(text):
            return text
        card = read_card(text)
        picture = self._find_picture(card)
        shown = {"picture": f"/{picture}" if picture else "", "titles": SHARED, "forms": FORMS}
        address = "{picture}" if picture else ""
        shown["markdown"] = format_markdown(card, "{link}", address)
        shown["pinned"] = format_markdown(replace(card, verdict="{verdict}"), "{link}", address)
        menu = templates.get_template("share/exported.html").render(shown)
        return _MENU.sub(lambda _: menu, text)

    def _find_picture(self, card: PageCard) -> str:
        """Return the file of a page's picture, "" if it has none or only a server could draw it."""
        if card.svg:
            return self.write_shared_file("svg", "svg", draw_alone(card.svg, "light", card.headline))
        found = self.resolve_address(card.drawn).partition("#")[0] if card.drawn else ""
        return found if found.endswith(".svg") else ""

    def write_script(self, name: str) -> str:
        """Write a page's script with all its imports as one file; return its path below assets/."""
        path = f"assets/{name}"
        if path not in self.files:
            self.write_file(path, render_bundle(INSTEAD.get(name, name)))
        return name

    def _share_maps(self, text: str) -> tuple[str, list[str]]:
        match = re.search(r'(<script type="application/json" id="data">)(.*?)(</script>)', text, re.S)
        assert match
        data = json.loads(match[2].replace("<\\/", "</"))
        files = []
        for name, operand in data["operands"].items():
            content = json.dumps(operand, separators=(",", ":"))
            key = _compute_digest(content)
            files.append(self.write_file(f"maps/{key}.js", f'(window.lanescopeMaps ??= {{}})["{key}"]={content};\n'))
            data["operands"][name] = key
        return text[: match.start()] + _render_data_script("data", data) + text[match.end() :], files

    def build_topics(self) -> TopicExport:
        """Return the topics that a search lists beside instructions, linked to their exported files."""
        export = topics.build_export()
        return replace(
            export, topics=tuple(replace(topic, page=self.resolve_address(topic.page)) for topic in export.topics)
        )

    def write_index(self) -> None:
        """Write the home page, the catalogue with its search, and the files that every page loads."""
        for name in ("kit/theme.js", "kit/icon.svg"):
            self.write_file(f"assets/{name}", (STATIC / name).read_bytes())
        self.write_file("assets/style.css", render_style_sheet())
        self.write_file("assets/palette.css", render_palette_css())
        for address, path in CATALOGUE.items():
            self.write_page(address, path)

    def write_site(self) -> Iterator[str]:
        """Write everything; yield the path of each page."""
        self.write_index()
        self.write_file("assets/plotly.js", self.fetch_page(plotly_url()))
        for address in (
            *STANDING,
            *(f"/guide/{slug}" for slug in guide.list_slugs()),
            *(link_message(slug) for slug in BY_SLUG),
        ):
            self.write_page(address, address[1:] + ".html")
            yield address
        self.write_file(
            NEEDS_SERVER, self.localise_page(_render_needs_server(self.fetch_page("/help").decode()), NEEDS_SERVER)
        )
        for instruction in self.chosen:
            self.write_page(
                links.link_instruction(instruction), f"i/{name_instruction_file(instruction.ptx)}.html", maps=True
            )
            self.write_file(
                f"i/{name_instruction_file(instruction.ptx)}.json",
                self.fetch_page(f"/api/v1/instructions/{instruction.ptx}"),
            )
            yield instruction.ptx


def _render_data_script(name: str, data: Any) -> str:
    """Render data inside a page, for its script."""
    text = encode_json(data).decode().replace("</", "<\\/")
    return f'<script type="application/json" id="{name}">{text}</script>'


def _compute_digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _remove_indentation(text: str) -> str:
    """Remove indentation outside <pre> and <textarea>."""
    parts = re.split(
        r"(<pre.*?</pre>|<textarea.*?</textarea>|<script type=\"application/json\".*?</script>)", text, flags=re.S
    )
    return "".join(part if n % 2 else re.sub(r"^[ \t]+", "", part, flags=re.M) for n, part in enumerate(parts))


def _render_needs_server(text: str) -> str:
    """Return the page that explains that a computed page needs a server, in the frame of another page."""
    body = (
        '<main id="main"><h1>This needs the server</h1><p class="note">An exported site has the catalogue, every'
        " instruction’s page, the guide and the gallery. Verifying descriptors, tiles, chains, diagrams and runs are"
        f" computed: <code>make run</code>, then {LOCAL_SITE}.</p></main>"
    )
    return re.sub(r'<main id="main">.*</main>', lambda _: body, text, flags=re.S)


def export_site(folder: str, families: list[str], bar: bool) -> dict[str, Any]:
    """Write the site; LayoutError names a wrong family or a folder that cannot be written."""
    for name in families:
        if name not in catalog.FAMILY_NAMES:
            raise LayoutError(
                "unknown_family", f"No family '{name[:60]}'.", f"Allowed: {', '.join(catalog.FAMILY_NAMES)}.", "family"
            )
    started = time.perf_counter()
    chosen = tuple(i for i in catalog.instructions() if not families or i.family.name in families)
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LayoutError(
            "bad_usage", f"'{folder}' cannot be made: {error.strerror}.", "Choose another folder.", "folder"
        ) from None
    site = SiteExport(target, chosen)
    from rich.console import Console
    from rich.progress import track

    total = len(chosen) + len(STANDING) + len(guide.list_slugs())
    done = sum(
        1
        for _ in track(
            site.write_site(), total=total, description="exporting", console=Console(stderr=True), disable=not bar
        )
    )
    return {
        "folder": str(target),
        "pages": done,
        "files": len(site.files),
        "written": site.written,
        "bytes": sum(site.files.values()),
        "seconds": round(time.perf_counter() - started, 2),
    }
