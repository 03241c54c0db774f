// Pins of a page's pictures: a click pins a cell, Shift a second one. The answer says where both are, the address keeps
// them and Back undoes one. A page declares its pictures, {svg, grid, pinOf(row, col), cellOf(pin)}, and what it says
// of a pin: describe(pin) → {line, text, holder, group, spoken}, null for none; two of a group compare their holders.
import { showAnswer, ticked } from "./answer.js";
import { cellUnder, drawRing, stepCell } from "./cells.js";
import { $ } from "./dom.js";
import { followFind } from "./find.js";
import { keep } from "./place.js";

const NAMES = ["pin", "pin2"];
const spelled = (query) => query.toString().replace(/%3A/g, ":").replace(/%2C/g, ",");

function addressOf(pins) {
  const query = new URLSearchParams(location.search);
  for (const name of [...NAMES, "find"]) query.delete(name);
  NAMES.forEach((name, n) => { if (pins[n]) query.set(name, pins[n]); });
  return query;
}

/** inView: whether a pin's cell is drawn; where what is found is not, the page opens with it. */
export function followPins({ pictures, describe, words, hover = null, inView = () => true }) {
  const card = $("answer"), drawings = [...new Set(pictures.map(({ svg }) => svg))], pointed = $("pointed");
  const legal = (list) => list.filter((pin) => pin && describe(pin));
  let pins = legal([card.dataset.pin, card.dataset.pin2]), now = "";

  function mark(kind, list) {
    for (const svg of drawings) for (const old of svg.querySelectorAll(`.${kind}`)) old.remove();
    for (const pin of list) for (const picture of pictures) {
      const cell = picture.cellOf(pin);
      if (!cell) continue;
      if (kind === "ringed") drawRing(picture, cell, "halo ringed");
      drawRing(picture, cell, kind);
    }
  }

  function answer() {
    const descriptions = pins.map(describe), [first, second] = descriptions;
    if (!first) return { lines: [words.nothing], text: words.invitation };
    const comparable = descriptions.every(({ holder, group }) => Number.isInteger(holder) && group === first.group);
    const compared = comparable && (first.holder === second?.holder ? words.together : words.apart);
    return { lines: descriptions.map(({ line }) => line), text: second ? compared || "" : first.text };
  }

  function show() {
    mark("ringed", pins);
    showAnswer(answer(), pins.length > 0);
    for (const link of document.querySelectorAll("a[data-pinned]")) { // pictures that draw the pins
      const to = new URL(link.href);
      NAMES.forEach((name, n) => (pins[n] ? to.searchParams.set(name, pins[n]) : to.searchParams.delete(name)));
      link.href = to;
    }
  }

  /** Pins what an address would say. */
  function pinAll(next) {
    pins = legal(next);
    keep(spelled(addressOf(pins)), true);
    show();
  }

  function openWith(next) {
    const query = addressOf(next);
    for (const name of ["row", "col"]) query.delete(name);
    location.assign(`${location.pathname}?${spelled(query)}`);
  }

  function pin(text, second) {
    if (second && pins.length && text !== pins[0]) pinAll([pins[0], pins[1] === text ? "" : text]);
    else pinAll(pins.length === 1 && pins[0] === text ? [] : [text]);
  }

  function point(text) {
    if (text === now) return;
    now = text;
    mark("pointed", text ? [text] : []);
    hover?.(text);
    const description = text && describe(text);
    const parts = description ? [description.line, description.text] : [];
    pointed?.replaceChildren(...ticked(parts.filter(Boolean).join(". ")));
  }

  const pinUnder = (svg, event) => {
    for (const picture of pictures.filter((each) => each.svg === svg)) {
      const cell = cellUnder(picture, event);
      if (cell) return picture.pinOf(...cell);
    }
    return "";
  };

  function follow(svg) {
    svg.addEventListener("pointermove", (event) => point(pinUnder(svg, event)));
    svg.addEventListener("pointerleave", () => point(""));
    svg.addEventListener("click", (event) => {
      const text = pinUnder(svg, event);
      if (text) pin(text, event.shiftKey);
    });
    svg.tabIndex = 0;
    svg.addEventListener("keydown", (event) => {
      const picture = pictures.find((each) => each.svg === svg);
      const cell = stepCell(picture.grid, picture.cellOf(now || pins[0] || ""), event.key);
      if (event.key === "Enter" && now) pin(now, event.shiftKey);
      else if (cell) {
        point(picture.pinOf(...cell));
        svg.querySelector(".pointed")?.scrollIntoView({ block: "nearest", inline: "nearest" });
        const spoken = $("spoken");
        const description = now && describe(now);
        if (spoken && description) spoken.textContent = description.spoken ?? description.line.replaceAll("`", "");
      } else return;
      event.preventDefault();
    });
  }

  drawings.forEach(follow);
  if (new URLSearchParams(location.search).has("find") && pins.length) keep(spelled(addressOf(pins)));
  show();
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && pins.length && !document.querySelector("dialog[open]")) pinAll([]);
  });
  addEventListener("popstate", () => {
    const query = new URLSearchParams(location.search);
    pins = legal(NAMES.map((name) => query.get(name)));
    show();
  });
  const address = () => new URL(`${location.pathname}?${addressOf([])}`, location.href);
  followFind({ address, show: (first, second, more) => {
    const next = more && pins.length ? [pins[0], first] : [first, second];
    if (!inView(first)) return openWith(next);
    pinAll(next);
    document.querySelector("svg .ringed")?.scrollIntoView({ block: "nearest" });
  } });
  document.documentElement.dataset.pins = "ready";
}
