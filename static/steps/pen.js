// Cells, rings, labels and curves on a canvas, in the page's colours.
const MONO = '"DejaVu Sans Mono", Menlo, Consolas, monospace', SANS = 'system-ui, "DejaVu Sans", sans-serif';
const NAMES = ["paper", "raised", "soft", "ink", "muted", "rule", "edge", "accent", "accent-soft", "trace", "cell-ink",
  "ok", "bad", "wrong", ...Array.from({ length: 8 }, (_, n) => `fill-${n}`)];
const LEAST = 6.5; // pixels of a label that can be read: smaller ones are left out
const HAIR = 4; // pixels of a cell that still has a border

/** The page's colours as a canvas takes them. */
export function readColours(inside) {
  const probe = document.createElement("i");
  probe.hidden = true;
  inside.append(probe);
  const found = {};
  for (const name of NAMES) {
    probe.style.color = `var(--${name})`;
    found[name] = getComputedStyle(probe).color;
  }
  probe.style.color = "color-mix(in srgb, var(--ink) 22%, transparent)";
  found.line = getComputedStyle(probe).color;
  probe.remove();
  return { ...found, fill: Array.from({ length: 8 }, (_, n) => found[`fill-${n}`]) };
}

export class Pen {
  constructor(context, colours) {
    this.g = context;
    this.colours = colours;
    this.font = "";
  }

  /** After the canvas has a new size its font is another. */
  forget() { this.font = ""; }

  text(words, x, y, { colour = this.colours.muted, weight = 400, size = 10, align = "left", sans = false } = {}) {
    const { g } = this;
    g.fillStyle = colour;
    const font = `${weight} ${Math.round(size * 4) / 4}px ${sans ? SANS : MONO}`;
    if (font !== this.font) g.font = this.font = font;
    g.textAlign = align;
    g.textBaseline = "middle";
    g.fillText(words, x, y);
  }

  title(words, about, x, y) {
    this.text(words, x, y, { colour: this.colours.ink, weight: 650, size: 13.5, sans: true });
    const wide = this.g.measureText(words).width;
    if (about) this.text(about, x + wide + 8, y, { size: 11.5, sans: true });
  }

  /** A cell with its label, which shrinks before it touches the edge and is left out before it cannot be read. */
  cell(box, fill, words = "", {
    letters = 2, alpha = 1, ink = this.colours["cell-ink"], bold = false, wrong = false,
  } = {}) {
    if (!box) return;
    const { g, colours } = this;
    g.globalAlpha = alpha;
    if (fill) {
      g.fillStyle = wrong ? colours.wrong : fill;
      g.fillRect(box.x, box.y, box.w, box.h);
    }
    if (box.w >= HAIR && box.h >= HAIR) {
      g.strokeStyle = colours.line;
      g.lineWidth = 1;
      g.strokeRect(box.x + .5, box.y + .5, box.w, box.h);
    }
    const wide = wrong ? box.w - 5 : box.w; // room for the sign of a wrong cell
    const size = Math.min(11.5, box.h * .72, wide / Math.max(String(words).length, letters) / .68);
    if (words !== "" && size >= LEAST) {
      const look = { colour: ink, weight: bold ? 700 : 400, size, align: "center" };
      this.text(words, box.x + wide / 2, box.y + box.h / 2 + .5, look);
    }
    if (wrong) this.cross(box);
    g.globalAlpha = 1;
  }

  /** The sign of a wrong cell: a small cross in its corner. */
  cross(box) {
    const { g, colours } = this, size = Math.min(5, box.w / 3, box.h / 3);
    const x = box.x + box.w - size - 1.5, y = box.y + 1.5;
    g.strokeStyle = colours.bad;
    g.lineWidth = 1.2;
    g.beginPath();
    g.moveTo(x, y);
    g.lineTo(x + size, y + size);
    g.moveTo(x + size, y);
    g.lineTo(x, y + size);
    g.stroke();
  }

  ring(box, colour, width = 2, outside = 0) {
    if (!box) return;
    this.g.strokeStyle = colour;
    this.g.lineWidth = width;
    const inset = width / 2 - outside;
    this.g.strokeRect(box.x + inset, box.y + inset, box.w - 2 * inset, box.h - 2 * inset);
  }

  /** A curve between two boxes, side to side; on a phone, where they stand below each other, bottom to top. */
  link(from, to, colour, { alpha = 1, dash = [], down = false } = {}) {
    if (!from || !to) return;
    const { g } = this;
    g.globalAlpha = alpha;
    g.strokeStyle = colour;
    g.lineWidth = 1.5;
    g.setLineDash(dash);
    g.beginPath();
    if (down) {
      const [high, low] = from.y < to.y ? [from, to] : [to, from];
      const x1 = high.x + high.w / 2, y1 = high.y + high.h, x2 = low.x + low.w / 2;
      g.moveTo(x1, y1);
      g.bezierCurveTo(x1, y1 + 40, x2, low.y - 40, x2, low.y);
    } else {
      const back = from.x > to.x, x1 = back ? from.x : from.x + from.w, x2 = back ? to.x + to.w : to.x;
      const y1 = from.y + from.h / 2, y2 = to.y + to.h / 2, middle = (x1 + x2) / 2;
      g.moveTo(x1, y1);
      g.bezierCurveTo(middle, y1, middle, y2, x2, y2);
    }
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
  }

  shadowed(blur, paint) {
    this.g.shadowColor = "rgba(0, 0, 0, .35)";
    this.g.shadowBlur = blur;
    paint();
    this.g.shadowBlur = 0;
  }
}
