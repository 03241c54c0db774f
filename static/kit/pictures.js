// Pictures of the server that are larger than their box: fit, 1:1, + and −, the same keys, and a map of the whole. The
// address keeps the zoom of each, ?zoom=0:1.25,120,30: its number on the page, the scale, and what is left and above.
import { element } from "./dom.js";
import { keep } from "./place.js";

const STEP = 1.25, LEAST = 0.2, MOST = 4, SETTLED_MS = 150;
const SVG = "http://www.w3.org/2000/svg";
let made = 0;

const part = (name, attributes) => {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

/** The whole, small, with a frame around what its box shows: a drag moves that. */
function makeMap(box, picture) {
  picture.id ||= `picture-${made++}`;
  const { x, y, width, height } = picture.viewBox.baseVal, view = `${x} ${y} ${width} ${height}`;
  const frame = part("rect", {}), map = part("svg", { viewBox: view, "aria-hidden": "true" });
  map.classList.add("picture-map");
  map.append(part("use", { href: `#${picture.id}`, width, height }), frame);
  map.draw = () => {
    const scale = width / picture.getBoundingClientRect().width;
    if (!Number.isFinite(scale)) return; // not shown now
    const [wide, high] = [Math.min(width, box.clientWidth * scale), Math.min(height, box.clientHeight * scale)];
    const at = { x: x + box.scrollLeft * scale, y: y + box.scrollTop * scale, width: wide, height: high };
    for (const [name, value] of Object.entries(at)) frame.setAttribute(name, value);
    map.toggleAttribute("hidden", wide > width - 1 && high > height - 1);
  };
  const go = ({ buttons, clientX, clientY }) => {
    if (!buttons) return;
    const around = map.getBoundingClientRect(), [across, down] = [clientX - around.x, clientY - around.y];
    box.scrollLeft = (across / around.width) * picture.clientWidth - box.clientWidth / 2;
    box.scrollTop = (down / around.height) * picture.clientHeight - box.clientHeight / 2;
  };
  map.addEventListener("pointerdown", (event) => {
    map.setPointerCapture(event.pointerId);
    go(event);
  });
  map.addEventListener("pointermove", go);
  box.addEventListener("scroll", map.draw, { passive: true });
  new ResizeObserver(map.draw).observe(box);
  return map;
}

/** The zooms of an address: picture → [scale, left, top]. */
function readZooms() {
  const parts = (new URLSearchParams(location.search).get("zoom") ?? "").split(";").map((part) => part.split(":"));
  return new Map(parts.map(([number, zoom = ""]) => [Number(number), zoom.split(",").map(Number)])
    .filter(([, zoom]) => zoom.length === 3 && zoom.every(Number.isFinite)));
}

function keepZoom(number, zoom) {
  const zooms = readZooms().set(number, zoom), query = new URLSearchParams(location.search);
  query.set("zoom", [...zooms].map(([each, values]) => `${each}:${values.join(",")}`).join(";"));
  keep(query.toString().replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%3B/g, ";"));
}

function follow(box, picture, number) {
  const natural = picture.viewBox.baseVal.width;
  let map = null, settling = 0;
  const settle = () => {
    clearTimeout(settling);
    settling = setTimeout(() => keepZoom(number,
      [now().toFixed(3), box.scrollLeft, box.scrollTop].map((each) => Math.round(each * 1000) / 1000)), SETTLED_MS);
  };
  const now = () => picture.getBoundingClientRect().width / natural;
  const scale = (to) => {
    const middle = (from, size) => from + size / 2, ratio = Math.min(MOST, Math.max(LEAST, to)) / now();
    const [x, y] = [middle(box.scrollLeft, box.clientWidth), middle(box.scrollTop, box.clientHeight)];
    Object.assign(picture.style, { width: `${now() * ratio * natural}px`, maxWidth: "none", minWidth: "0" });
    picture.style.height = "auto";
    [box.scrollLeft, box.scrollTop] = [x * ratio - box.clientWidth / 2, y * ratio - box.clientHeight / 2];
    if (!map) {
      tools.append(map = makeMap(box, picture));
      box.addEventListener("scroll", settle, { passive: true });
    }
    map.draw();
    settle();
  };
  const acts = {
    0: () => scale(box.clientWidth / natural), 1: () => scale(1),
    "-": () => scale(now() / STEP), "+": () => scale(now() * STEP),
  };
  const button = (key, text, title) => {
    const made = element("button", { type: "button", title: `${title} (${key})`, ariaLabel: title }, text);
    made.addEventListener("click", acts[key]);
    return made;
  };
  const buttons = element("span", { className: "segments" }, button(0, "Fit", "Fit"), button(1, "1:1", "Original size"),
    button("-", "−", "Zoom out"), button("+", "+", "Zoom in"));
  const tools = element("div", { className: "picture-tools" }, buttons);
  box.prepend(tools);
  box.addEventListener("keydown", (event) => {
    const act = acts[{ "=": "+", "−": "-" }[event.key] ?? event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  const kept = readZooms().get(number);
  if (!kept) return;
  scale(kept[0]);
  [box.scrollLeft, box.scrollTop] = kept.slice(1);
}

/** Gives the zoom to every picture that its box cuts off or makes smaller, and to those that ask for it. */
export function zoomPictures() {
  const all = [...document.querySelectorAll(":is(.figure, .box, .box > a) > svg[viewBox]:not(.statuses)")];
  for (const [number, picture] of all.entries()) {
    const box = picture.closest(".figure, .box"), { width } = picture.getBoundingClientRect();
    const cut = box.scrollWidth > box.clientWidth + 4 || box.scrollHeight > box.clientHeight + 4;
    const smaller = width < picture.viewBox.baseVal.width * 0.97;
    const linked = picture.parentElement !== box; // its click leads to a page where it is larger
    const wanted = cut || (smaller && !linked) || "zoom" in box.dataset || readZooms().has(number);
    if (width && box.firstElementChild.contains(picture) && wanted) follow(box, picture, number);
  }
}
