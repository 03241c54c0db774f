"""The widget: a live view in a notebook, whose selection is two-way traits, and links between two of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lanescope.app.kit.extras import refuse_module
from lanescope.app.share.draw import draw_alone
from lanescope.app.widget.front_end import render_script, render_styles
from lanescope.app.widget.pictures import LivePicture, draw_live
from lanescope.app.widget.selection import Selection, check_part, select_part, settle_selection
from lanescope.app.widget.verified_pictures import draw_capture, draw_descriptor, draw_verdict
from lanescope.capture import Capture, Verified
from lanescope.descriptor.matrix import Descriptor
from lanescope.descriptor.verify import Verdict
from lanescope.errors import LayoutError
from lanescope.inputs import quote_value
from lanescope.ptx.catalog import find

try:
    import anywidget
    import traitlets
    from traitlets import Bunch, TraitError, observe, validate
except ImportError:
    raise refuse_module("anywidget") from None

PARTS = ("matrix", "lane", "value", "element")
LINKED = ("element", "lane", "value")


class LayoutView(anywidget.AnyWidget):
    """A live view with two-way traits: matrix, the name of one of `matrices`, and the selection in it: lane, value and
    element (row, column); None if nothing is selected.

    Setting one of lane, value and element sets the others by the map; TraitError names the allowed values. A lane alone
    selects all its elements. A picture of memory has no lanes, and a value is an offset: the index of a CuTe layout,
    the byte of a descriptor.
    """

    _esm, _css = render_script(), render_styles()
    matrix = traitlets.Any().tag(sync=True)
    lane = traitlets.Any(None, allow_none=True).tag(sync=True)
    value = traitlets.Any(None, allow_none=True).tag(sync=True)
    element = traitlets.Any(None, allow_none=True).tag(sync=True)
    _html = traitlets.Unicode().tag(sync=True)
    _title = traitlets.Unicode().tag(sync=True)
    _matrices: Any = traitlets.List().tag(sync=True)

    def __init__(self, picture: LivePicture) -> None:
        self._maps = {matrix.name: matrix for matrix in picture.matrices}
        self._settling = False
        self._picture = picture
        super().__init__(
            matrix=picture.matrices[0].name,
            _html=picture.html,
            _title=picture.title,
            _matrices=[matrix.pack() for matrix in picture.matrices],
        )

    @property
    def matrices(self) -> tuple[str, ...]:
        """Return the names that `matrix` may have."""
        return tuple(self._maps)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Show the view; only the picture if the front end supports no widgets."""
        bundle = super()._repr_mimebundle_(**options)
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        if data is not None:
            data["image/svg+xml"] = draw_alone(self._picture.html.split("</svg>")[0] + "</svg>", "light", self._title)
        return bundle

    @property
    def selection(self) -> Selection:
        """Return all four parts."""
        return Selection(self.matrix, self.lane, self.value, self.element)

    @validate(*PARTS)
    def _check_part(self, proposal: Bunch) -> Any:
        try:
            return check_part(self._maps, self.selection, proposal["trait"].name, proposal["value"])
        except LayoutError as error:
            raise TraitError(str(error)) from None

    @observe(*PARTS)
    def _settle(self, change: Bunch) -> None:
        if self._settling or not self.matrix:
            return
        settled = settle_selection(self._maps, self.selection, change["name"])
        if settled != self.selection:
            self.select(settled)

    def find_selection(self, matrix: str, part: str, selected: Any, lane: int | None = None) -> Selection:
        """Return the selection of a part of a matrix; an empty one if the matrix does not have it."""
        try:
            return Selection(matrix) if selected is None else select_part(self._maps, matrix, part, selected, lane)
        except LayoutError:
            return Selection(matrix)

    def select(self, chosen: Selection) -> None:
        """Set all parts at once; observers see only the complete selection."""
        self._settling = True
        try:
            with self.hold_sync(), self.hold_trait_notifications():
                for part in PARTS:
                    setattr(self, part, getattr(chosen, part))
        finally:
            self._settling = False


def show(
    shown: object, stored: object = None, reader: object = None, operand: str = "a", *, mn: int = 0, k: int = 0
) -> LayoutView:
    """Return a live view of an object: hover it, click it, or set its lane, value or element.

    Accepts the engine's objects: an operand, an instruction or its PTX, a Pattern, a TiledMMA, TiledCopy or
    thread-value layout, a Triton or CuTe layout, a Tile in shared memory, a Verdict, a capture or its verification. A
    descriptor (word, text or Descriptor) needs its `reader`, an instruction or its PTX, and which `operand`; with
    `stored`, a Tile, a Storage or a tile's text, it is verified there from (mn, k) on. LayoutError for an object
    without a view, and for one that is too large.

    >>> from lanescope import find
    >>> a = show(find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").operand("a"))
    >>> a.element = 11, 2
    >>> a.lane, a.value
    (13, 2)
    """
    if isinstance(shown, str) and reader is None and shown[:1].isalpha():
        shown = find(shown)
    if isinstance(shown, (int, str, Descriptor)):
        if reader is None:
            raise LayoutError(
                "bad_view",
                "The instruction that reads the descriptor is missing.",
                'Give the instruction: show(word, tile, reader="wgmma.mma_async.m64n64k16.f32.f16.f16", operand="a").',
                "reader",
            )
        return LayoutView(draw_descriptor(shown, reader, operand, stored, mn=mn, k=k))
    if stored is not None or reader is not None:
        raise LayoutError(
            "bad_view",
            f"{type(shown).__name__} is shown alone.",
            "A tile and a reader are for a descriptor: show(word, tile, reader).",
            "stored",
        )
    if isinstance(shown, Verdict):
        return LayoutView(draw_verdict(shown))
    if isinstance(shown, (Verified, Capture)):
        return LayoutView(draw_capture(shown))
    return LayoutView(draw_live(shown))


class Link:
    """Two views that move together, until `unlink`."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.unlink = stop


def link(first: LayoutView, second: LayoutView, by: str = "element", at: tuple[int, int] = (0, 0)) -> Link:
    """Link two views, each by its current matrix: a selection in one is repeated in the other.

    by: element, lane or value. at: the element of `second` that corresponds to (0, 0) of `first`, for D of one
    instruction that is a part of the next one's A. If the other view lacks the selected part, nothing is selected
    there; if several lanes hold the element, the same lane is selected. LayoutError for a wrong argument.

    >>> from lanescope import find
    >>> m16 = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    >>> d, a = show(m16.operand("d")), show(m16.operand("a"))
    >>> _ = link(d, a, at=(0, 8))
    >>> d.element = 3, 2
    >>> a.element, a.lane == d.lane
    ((3, 10), True)
    """
    if by not in LINKED:
        raise LayoutError("bad_link", f"by is '{by}'.", f"Allowed: {', '.join(LINKED)}.", "by")
    if not isinstance(first, LayoutView) or not isinstance(second, LayoutView) or first is second:
        raise LayoutError("bad_link", "A link takes two views.", "What show returned, twice.", "second")
    if not isinstance(at, tuple | list) or len(at) != 2 or not all(isinstance(n, int) for n in at):
        raise LayoutError("bad_link", f"at is {quote_value(str(at))}.", "Row, column: at=(0, 8).", "at")
    names = first.matrix, second.matrix
    busy = False

    def follow(source: LayoutView, target: LayoutView, sign: int) -> Callable[[Bunch], None]:
        source_name, target_name = names if sign > 0 else names[::-1]

        def move(change: Bunch) -> None:
            nonlocal busy
            if busy:
                return
            busy = True
            try:
                selected = _shift(getattr(source, by) if source.matrix == source_name else None, at, sign)
                target.select(target.find_selection(target_name, by, selected, source.lane))
            finally:
                busy = False

        return move

    moves = [(first, follow(first, second, 1)), (second, follow(second, first, -1))]
    for view, move in moves:
        view.observe(move, [by, "matrix"])
    moves[0][1](Bunch())

    def stop() -> None:
        while moves:
            view, move = moves.pop()
            view.unobserve(move, [by, "matrix"])

    return Link(stop)


def _shift(selected: Any, at: tuple[int, int], sign: int) -> Any:
    """Return the position of an element of one view in the other; lanes and values are unchanged."""
    return (selected[0] + sign * at[0], selected[1] + sign * at[1]) if isinstance(selected, tuple) else selected
