// The catalogue of an exported site: every instruction is in the page, this hides what the search does not find.
// The rules are those of layouts/names/search.py, which made the keys; the tests hold both to the same rows.
import "../kit/scripted.js";
import { element } from "../kit/dom.js";

const form = document.getElementById("filters");
const box = form.elements.q;
const count = element("p", { className: "count", role: "status" });
const shownTopics = element("ul", { className: "topics" });
document.getElementById("results").prepend(shownTopics, count);
const rules = JSON.parse(document.getElementById("search").textContent);
const known = new Set([...rules.keys, ...rules.lines]);
const synonyms = new Map(Object.entries(rules.synonyms)), spelledSomewhere = new Set(rules.known);
const silent = new Set(rules.silent), ordered = new Set(rules.ordered);
const elements = document.querySelectorAll("#results .variant");
const rows = rules.rows.map(({ whole, words }, at) => ({
  element: elements[at],
  whole: new Set(whole.map((key) => rules.keys[key])), words: words.map((key) => rules.keys[key]),
}));

function line(text) {
  const found = new RegExp(rules.opcode, "i").exec(text);
  const opcode = (found?.[0] ?? "").toLowerCase().replace(/\s/g, "").replace(/:+$/, "");
  const parts = opcode.split(".").filter((part) => part && !rules.unspelled.includes(part));
  return [...parts.filter((part) => !ordered.has(part)).sort(), ...parts.filter((part) => ordered.has(part))].join(".");
}

function question({ q = "", ...filters }) {
  const trimmed = (value) => value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "").toLowerCase();
  const values = Object.entries(filters).map(([name, value]) => [name, trimmed(value)]);
  const whole = values.filter(([, value]) => value).map(([name, value]) => `${name}=${value}`);
  const text = q.replace(new RegExp(rules.foreign, "g"), " ");
  const spelled = `line=${line(text)}`;
  if (known.has(spelled)) return { whole: [...whole, spelled], words: [] };
  whole.push(...products(q));
  const words = text.split(new RegExp(rules.end))[0].toLowerCase().match(new RegExp(rules.word, "g")) ?? [];
  return { whole, words: words.filter((word) => !silent.has(word)) };
}

function products(text) {
  const pairs = [...text.toLowerCase().matchAll(new RegExp(rules.pair, "g"))]
    .map(([, ...pair]) => pair.map((word) => synonyms.get(word) ?? [word]));
  return pairs.filter((pair) => pair.every((names) => names.length === 1 && rules.types.includes(names[0])))
    .map(([one, other]) => `product=${one[0]}*${other[0]}`);
}

function sizes(word) {
  const product = new RegExp(`^(?:${rules.product})$`).exec(word);
  if (product) return ["m", "n", "k"].filter((_, n) => product[n + 1]).map((dim, n) => dim + product[n + 1]);
  return new RegExp(`^(?:${rules.part})$`).exec(word)?.slice(1).filter(Boolean) ?? [];
}

function hasWord(row, word) {
  const shape = sizes(word);
  if (shape.length) return shape.every((size) => row.whole.has(`shape=${size}`));
  if (word.startsWith(rules.target)) return row.whole.has(`target=${word}`);
  if (spelledSomewhere.has(word)) return row.words.includes(word) || row.whole.has(`type=${word}`);
  return word.length > 1 && !/^\d+$/.test(word) && row.words.some((key) => key.startsWith(word));
}

function matches(asked, row) {
  return asked.whole.every((key) => row.whole.has(key))
    && asked.words.every((word) => (synonyms.get(word) ?? [word]).some((spelling) => hasWord(row, spelling)));
}

// The pages a text asks for, by the rules of app/catalogue/topics.py: those it names, then those with all its words.
function topics(text) {
  const place = (name) => {
    const literal = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp(`(?<![\\w.])${literal}(?!\\w)`).exec(text)?.index ?? Infinity;
  };
  const { topics: known, silent: ignored, most } = rules.pages;
  const found = known.map((topic) => ({ topic, at: Math.min(...topic.names.map(place)) }));
  const present = found.filter(({ at }) => at < Infinity);
  const named = present.sort((one, other) => one.at - other.at).map(({ topic }) => topic);
  const words = text.slice(0, 400).toLowerCase().match(/[0-9a-z_]+/g) ?? [];
  const threads = known.flatMap((topic) => topic.names.map((name) => /#(\d+)$/.exec(name)?.[1]));
  const asked = words.filter((word) => !ignored.includes(word) && (!/^\d+$/.test(word) || threads.includes(word)));
  const whole = (topic) => asked.filter((part) => topic.words.includes(part)).length;
  const has = (topic) => asked.every((part) => topic.words.some((word) => word.startsWith(part)));
  const rest = known.filter((topic) => asked.length && !named.includes(topic) && has(topic));
  return [...named, ...rest.sort((one, other) => whole(other) - whole(one))].slice(0, most);
}

function showTopics(text) {
  shownTopics.replaceChildren(...topics(text).map((topic) => {
    const link = element("a", { href: topic.page }, topic.title);
    return element("li", {}, link, " ", element("span", { className: "muted" }, topic.summary));
  }));
}

function narrow() {
  const want = Object.fromEntries(new FormData(form));
  const asked = question(want);
  let shown = 0;
  for (const row of rows) {
    const found = matches(asked, row);
    row.element.hidden = !found;
    shown += found;
  }
  for (const holder of document.querySelectorAll("#results tbody tr, #results .family, #results .group")) {
    holder.hidden = !holder.querySelector(".variant:not([hidden])");
  }
  for (const list of document.querySelectorAll("#results .variants")) {
    const found = list.querySelectorAll(".variant:not([hidden])").length;
    list.previousElementSibling.hidden = !found;
    list.previousElementSibling.lastElementChild.textContent = `×${found}`;
  }
  showTopics(want.q ?? "");
  count.textContent = `${shown} of ${rows.length} instructions`;
  const query = new URLSearchParams(Object.entries(want).filter(([, value]) => value));
  history.replaceState(null, "", `#${query}`);
}

function readAddress() {
  const pasted = new URLSearchParams(location.search).get("text"); // from the box above every page
  if (pasted && !location.hash) box.value = pasted;
  for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
    if (form.elements[name]) form.elements[name].value = value;
  }
  narrow();
}

addEventListener("hashchange", () => {
  form.reset();
  readAddress();
});
document.querySelector(".groups").addEventListener("click", (event) => {
  const tab = event.target.closest("a");
  if (!tab) return;
  event.preventDefault();
  form.elements.family.value = "";
  narrow();
  document.querySelector(`.group:has([data-family="${tab.dataset.family}"])`)?.scrollIntoView();
});
box.addEventListener("input", narrow);
form.addEventListener("input", narrow);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const found = rows.filter((row) => !row.element.hidden);
  if (found.length === 1) location.href = found[0].element.href;
});
readAddress();
