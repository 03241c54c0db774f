// The verifier: its form, the analysis that the server renders anew for a word or a form, and what it offers.
import { copyButtons } from "../kit/copy.js";
import { $ } from "../kit/dom.js";
import { hex, pathOf } from "./format.js";
import { pairing } from "./pairs.js";
import { isWhole, now, set, whenSettled } from "./word.js";

const form = $("verify-form"), analysis = $("analysis");
const PAUSE = 100; // ms without an edit before the server is asked
let request = null, waiting = 0;

function asked() {
  const kept = ([name, value]) => value !== "" || form.elements[name].ariaRequired === "true"; // as ../kit/auto.js
  return new URLSearchParams([...new FormData(form)].filter(kept));
}

/** What is shown is no longer asked for: the page of a query for the word is, and has its address. */
function leave(query) {
  clearTimeout(waiting);
  request?.abort();
  history.replaceState(null, "", `${pathOf(now())}?${query}${location.hash}`);
  analysis.setAttribute("aria-busy", "true");
}

/** Shows the page of a query for the word; whole: the form is drawn anew, too, where it is not being typed in. */
async function show(query, whole = false) {
  if (!isWhole()) return;
  leave(query);
  request = new AbortController();
  const word = now(), part = new URLSearchParams(query);
  part.set("part", "analysis");
  try {
    const answer = await fetch(`${pathOf(word)}?${part}`, { signal: request.signal });
    const made = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (whole) form.replaceChildren(...made.getElementById("ask-part").childNodes);
    else freshen(made);
    analysis.replaceChildren(...made.getElementById("analysis-part").childNodes);
    mark(word);
  } catch (error) {
    if (error.name !== "AbortError") analysis.textContent = `The server did not answer: ${error.message}`;
  }
}

/** What in the form follows from the answer, while its fields stay as they are typed. */
function freshen(made) {
  $("presets").replaceChildren(...made.getElementById("presets").childNodes);
  for (const old of form.querySelectorAll("[data-error], .grew")) old.remove();
  for (const old of form.querySelectorAll("[aria-invalid]")) {
    old.removeAttribute("aria-invalid");
    old.removeAttribute("aria-describedby");
  }
  for (const said of made.querySelectorAll("#ask-part [data-error], #ask-part .grew")) {
    const theirs = said.closest("label")?.querySelector("[name]");
    const ours = theirs && form.elements[theirs.name];
    if (!ours) continue;
    if (said.id) {
      ours.setAttribute("aria-invalid", "true");
      ours.setAttribute("aria-describedby", said.id);
    } else if (ours !== document.activeElement) ours.value = theirs.value;
    ours.closest("label").append(said);
  }
}

const analyse = () => show(asked());

/** What the analysis of a word says elsewhere on the page: the fields that the hardware does not read. */
function mark(word) {
  copyButtons(analysis);
  pairing(analysis);
  analysis.removeAttribute("aria-busy");
  for (const label of document.querySelectorAll("#fields > div")) label.classList.remove("unread");
  for (const note of document.querySelectorAll("[data-unused]")) {
    const label = $(note.dataset.unused);
    label?.classList.add("unread");
    if (label) label.title = note.textContent;
  }
  for (const link of document.querySelectorAll("a[data-verdict]")) {
    const made = analysis.querySelector(`[data-pictured=${link.dataset.verdict}]`);
    link.hidden = !made;
    if (made) link.href = made.href;
  }
  document.documentElement.dataset.analysed = hex(word);
}

/** Shows a preset: its link belongs to a word and a form, so a word that is newer is analysed first. */
async function take(preset) {
  for (let tries = 3; tries && document.documentElement.dataset.analysed !== hex(now()); tries--) await analyse();
  const link = form.querySelector(`.preset[data-preset=${preset}]`);
  if (link) await show(new URL(link.href).search.slice(1), true);
}

/** The major turned: the tile of the preset that is chosen, for the other major. */
async function turned() {
  const chosen = form.querySelector(".preset[aria-current]")?.dataset.preset;
  await analyse();
  if (chosen) await take(chosen);
}

/** What a person types is no longer taken from the word. */
function given(name) {
  const assumed = form.elements.assumed;
  if (assumed) assumed.value = assumed.value.split(",").filter((one) => one !== name.replace(/^s_/, "")).join(",");
}

whenSettled(() => { // the next key or click may follow at once
  if (!isWhole()) return;
  leave(asked());
  waiting = setTimeout(analyse, PAUSE);
});
form.addEventListener("change", (event) => {
  if (event.target.name === "target" && isWhole()) { // other fields: another page
    location.assign(`${pathOf(now())}?${asked()}`);
    return undefined;
  }
  given(event.target.name);
  return event.target.name === "major" ? turned() : analyse();
});
form.addEventListener("submit", (event) => { event.preventDefault(); analyse(); });
const plain = (event) => !event.ctrlKey && !event.metaKey && !event.shiftKey;
form.addEventListener("click", (event) => {
  const preset = event.target.closest("a.preset");
  if (!preset || !plain(event)) return;
  event.preventDefault();
  take(preset.dataset.preset);
});
analysis.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-word], a[data-store]");
  if (!link || !plain(event)) return;
  event.preventDefault();
  if (link.dataset.word) set(BigInt(link.dataset.word));
  else show(new URL(link.href).search.slice(1), true);
});
mark(now());
