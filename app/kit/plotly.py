"""plotly.js from the installed plotly package: address, body, and the inline styles a page's policy must allow."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from pathlib import Path

from lanescope.app.kit.assets import IMMUTABLE
from lanescope.app.kit.wire import CachedBody

_STYLE = re.compile(rb"""\.textContent='([^'\\]*)'""")


@lru_cache(maxsize=1)
def load_plotly() -> tuple[str, CachedBody]:
    """Return (digest, plotly.js)."""
    raw = Path(str(files("plotly") / "package_data" / "plotly.min.js")).read_bytes()
    return hashlib.sha256(raw).hexdigest()[:12], CachedBody(raw, "text/javascript", cache=IMMUTABLE)


def plotly_url() -> str:
    return f"/vendor/plotly-{load_plotly()[0]}.js"


@lru_cache(maxsize=1)
def list_style_hashes() -> tuple[str, ...]:
    """Return the inline styles of plotly.js as a policy names them: an empty one that a script fills, and that of its
    maps.

    With them pages need no 'unsafe-inline'. If one were missing, browsers would only drop that style.
    """
    texts = [b"", *_STYLE.findall(bytes(load_plotly()[1].body))]
    return tuple(f"'sha256-{base64.b64encode(hashlib.sha256(text).digest()).decode()}'" for text in texts)
