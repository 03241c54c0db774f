// The catalogue of an exported site: every row is in the page, this hides what does not match.
const form = document.getElementById("filters");
const box = document.querySelector("input[type=search]");
const thumbs = document.querySelector(".thumbs");
const count = document.querySelector(".count");
const rows = [...document.querySelectorAll("#results tbody tr")].map((row) => {
  const [family, ptx, shape, types, , targets] = [...row.cells].map((cell) => cell.textContent.trim());
  return { row, family, shape: `m${shape.replace("×", "n").replace("×", "k")}`, types: types.split(/[^\w]+/), targets: targets.split(" "), text: `${family} ${ptx}`.toLowerCase(), link: row.querySelector("a") };
});

function narrow() {
  const want = Object.fromEntries(new FormData(form));
  const words = (want.q ?? "").toLowerCase().replaceAll(".sync.aligned", "").split(/[\s,;{}]+/).filter(Boolean);
  let shown = 0;
  for (const entry of rows) {
    const match = (!want.family || entry.family === want.family) && (!want.type || entry.types.includes(want.type))
      && (!want.target || entry.targets.includes(want.target.replace("sm_", ""))) && (!want.shape || entry.shape.includes(want.shape))
      && words.every((word) => entry.text.includes(word));
    entry.row.hidden = !match;
    shown += match;
  }
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
  const found = rows.filter((entry) => !entry.row.hidden);
  if (found.length === 1) location.href = found[0].link.href;
});
narrow();
