// The catalogue of an exported site: every row is in the page, this hides what the search does not find.
// The rules are those of app/catalogue/search.py, which made the keys; the tests hold both to the same rows.
const form = document.getElementById("filters");
const box = document.querySelector("input[type=search]");
const thumbs = document.querySelector(".thumbs");
const count = document.querySelector(".count");
const shownTopics = Object.assign(document.createElement("ul"), { className: "topics" });
count.before(shownTopics);
const rules = JSON.parse(document.getElementById("search").textContent);
const known = new Set([...rules.keys, ...rules.lines]);
const silent = new Set(rules.silent), ordered = new Set(rules.ordered);
const elements = document.querySelectorAll("#results tbody tr");
const rows = rules.rows.map(({ whole, words }, at) => ({
  element: elements[at], link: elements[at].querySelector("a"),
  whole: new Set(whole.map((key) => rules.keys[key])), words: words.map((key) => rules.keys[key]),
}));

function line(text) {
  const found = new RegExp(rules.opcode, "i").exec(text);
  const parts = (found?.[0] ?? "").toLowerCase().replace(/\s/g, "").replace(/:+$/, "").split(".").filter((part) => part && !silent.has(part));
  return [...parts.filter((part) => !ordered.has(part)).sort(), ...parts.filter((part) => ordered.has(part))].join(".");
}

function question({ q = "", ...filters }) {
  const values = Object.entries(filters).map(([name, value]) => [name, value.replace(/^[ \t\r\n]+|[ \t\r\n]+$/g, "").toLowerCase()]);
  const whole = values.filter(([, value]) => value).map(([name, value]) => `${name}=${value}`);
  const text = q.replace(new RegExp(rules.foreign, "g"), " ");
  const spelled = `line=${line(text)}`;
  if (known.has(spelled)) return { whole: [...whole, spelled], words: [] };
  const words = text.split(new RegExp(rules.end))[0].toLowerCase().match(new RegExp(rules.word, "g")) ?? [];
  return { whole, words: words.filter((word) => !silent.has(word)) };
}

function matches(asked, row) {
  return asked.whole.every((key) => row.whole.has(key))
    && asked.words.every((word) => row.whole.has(`shape=${word}`) || row.words.some((key) => key.startsWith(word)));
}

// The pages a text asks for, by the rules of app/catalogue/topics.py: those it names, then those that have all its words.
function topics(text) {
  const named = rules.pages.topics.map((topic) => {
    const found = topic.names.map((name) => new RegExp(`(?<![\\w.])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\w)`).exec(text)).filter(Boolean);
    return { topic, at: Math.min(...found.map((match) => match.index)) };
  }).filter(({ at }) => at < Infinity).sort((one, other) => one.at - other.at).map(({ topic }) => topic);
  const asked = (text.slice(0, 400).toLowerCase().match(/[0-9a-z_]+/g) ?? []).filter((word) => !rules.pages.silent.includes(word) && !/^\d+$/.test(word));
  const whole = (topic) => asked.filter((part) => topic.words.includes(part)).length;
  const rest = rules.pages.topics.filter((topic) => asked.length && !named.includes(topic) && asked.every((part) => topic.words.some((word) => word.startsWith(part))));
  return [...named, ...rest.sort((one, other) => whole(other) - whole(one))].slice(0, rules.pages.most);
}

function showTopics(text) {
  shownTopics.replaceChildren(...topics(text).map((topic) => {
    const item = document.createElement("li"), link = document.createElement("a"), says = document.createElement("span");
    Object.assign(link, { href: topic.page, textContent: topic.title });
    Object.assign(says, { className: "muted", textContent: topic.summary });
    item.append(link, " ", says);
    return item;
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
  showTopics(want.q ?? "");
  count.textContent = `${shown} of ${rows.length} instructions`;
  const query = new URLSearchParams(Object.entries(want).filter(([, value]) => value));
  if (thumbs) thumbs.hidden = query.size > 0;
  history.replaceState(null, "", `#${query}`);
}

for (const [name, value] of new URLSearchParams(location.hash.slice(1))) if (form.elements[name]) form.elements[name].value = value;
document.documentElement.classList.add("scripted");
box.addEventListener("input", narrow);
form.addEventListener("input", narrow);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const found = rows.filter((row) => !row.element.hidden);
  if (found.length === 1) location.href = found[0].link.href;
});
narrow();
