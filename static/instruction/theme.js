// The page's colours, light or dark, as a canvas understands them.
import { element } from "../kit/dom.js";

/** Resolves colour variables: `of("--fill-0")`, and the names that drawing uses. */
export function readTheme() {
  const probe = element("span"), known = new Map();
  const of = (name) => {
    if (!known.has(name)) {
      document.body.append(probe);
      probe.style.color = `var(${name})`;
      known.set(name, getComputedStyle(probe).color);
      probe.remove();
    }
    return known.get(name);
  };
  const alpha = (name) => Number(of(name).match(/[\d.]+/g)[3]);
  return {
    fadeHover: alpha("--fade-hover"), fadePin: alpha("--fade-pin"), accent: of("--accent"), raised: of("--raised"),
    of, ink: of("--cell-ink"), line: of("--cell-line"), muted: of("--muted"), shared: of("--shared"),
    dim: of("--dim"), trace: of("--trace"), paper: of("--paper"),
  };
}

/** A colour as [red, green, blue]. */
export const rgb = (text) => text.match(/[\d.]+/g).slice(0, 3).map(Number);
