// The verifier: its form, the analysis that the server renders anew for a word or a form, and the repairs it offers.
import { copyButtons } from "../kit/copy.js";
import { $ } from "../kit/dom.js";
import { hex, pathOf } from "./format.js";
import { now, set, whenSettled } from "./word.js";

const form = $("verify-form"), analysis = $("analysis");
const kind = form.elements.s_kind;
let request = null;

function asked() {
  return new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
}

async function analyse() {
  request?.abort();
  request = new AbortController();
  const query = asked();
  history.replaceState(null, "", `${pathOf(now())}?${query}${location.hash}`);
  query.set("part", "analysis");
  try {
    const answer = await fetch(`${pathOf(now())}?${query}`, { signal: request.signal });
    analysis.innerHTML = await answer.text();
    mark();
  } catch (error) {
    if (error.name !== "AbortError") analysis.textContent = `The server did not answer: ${error.message}`;
  }
}

/** What an analysis says elsewhere on the page: the fields that the hardware does not read. */
function mark() {
  copyButtons(analysis);
  for (const label of document.querySelectorAll("#fields label")) label.classList.remove("unread");
  for (const note of document.querySelectorAll("[data-unused]")) {
    const label = $(note.dataset.unused);
    label?.classList.add("unread");
    if (label) label.title = note.textContent;
  }
  document.documentElement.dataset.analysed = hex(now());
}

/** A kind of storage shows its own fields alone. */
function showKind() {
  for (const label of form.querySelectorAll(".stored")) label.hidden = !label.classList.contains(`for-${kind.value}`);
}

whenSettled(analyse);
form.addEventListener("change", () => { showKind(); analyse(); });
form.addEventListener("submit", (event) => { event.preventDefault(); analyse(); });
analysis.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-word]");
  if (!link) return;
  event.preventDefault();
  set(BigInt(link.dataset.word));
});
showKind();
mark();
