"""The template environment: what templates may call, and a rendered page as an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastapi.templating import Jinja2Templates
from markupsafe import Markup, escape
from starlette.requests import Request

from app.kit import words
from app.kit.assets import folder, script, static_url
from app.kit.prefix import linked
from app.kit.wire import Body
from layouts import palette
from layouts.descriptor import FIELDS
from layouts.errors import LayoutError
from layouts.reading import name_of

HTML = "text/html; charset=utf-8"
templates = Jinja2Templates(directory=folder("templates"))


def css() -> str:
    """/palette.css: the colours of cells and of the descriptor's fields, in both themes."""
    return palette.css(field.name for field in FIELDS)


templates.env.globals |= {"static_url": static_url, "script": script}
templates.env.trim_blocks = True
templates.env.lstrip_blocks = True


def rendered(request: Request, name: str, context: dict[str, Any]) -> bytes:
    """A template's text with its links."""
    return linked(request, templates.get_template(name).render({"request": request, **context})).encode()


def page(request: Request, name: str, context: dict[str, Any], status: int = 200, keep: bool = True) -> Body:
    """A rendered page. keep: False where it says more than its address does (this server's host, what runs now)."""
    return Body(rendered(request, name, context), HTML, status=status, keep=keep)


def pattern_names(pattern: str) -> Markup:
    """A pattern with every name in its own span, so that pointing at it can light its digits."""
    return Markup(re.sub(r"(?<!&)\b([a-z]\w*)(:\d+)?", r'<span class="name" tabindex="0" data-name="\1">\1\2</span>', str(escape(pattern))))


templates.env.filters["pattern_names"] = pattern_names


def ticks(text: str) -> Markup:
    """Plain text whose `words` between backticks are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


templates.env.filters["ticks"] = ticks


def told(error: LayoutError, labels: Mapping[str, str]) -> str:
    """An error in the words of the form: the label beside the field, then what was given and what is allowed."""
    name = name_of(error.field)
    side, dot, option = error.field.partition(".")
    label = labels.get(error.field) or (f"{labels[side]}, {option}" if dot and side in labels else name)
    for verb in ("is", "has"):
        if label and error.message.startswith(f"{name} {verb} "):
            return f"{label}{error.message.removeprefix(name)} {error.hint}"
    return f"{label}: {error.message} {error.hint}" if label else f"{error.message} {error.hint}"


templates.env.globals["LABELS"] = words.LABELS
templates.env.filters["told"] = told
