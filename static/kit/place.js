// Where pages lie and where a page keeps its state: on the server in the query, in an exported site in the fragment.
const exported = "exported" in document.documentElement.dataset;

// Where this server begins: "" or the path below which a proxy serves it.
export const root = document.documentElement.dataset.root ?? "";

export function pageOf(ptx, search) {
  const [page, mark] = exported ? [`${ptx.replaceAll(":", "-")}.html`, "#"] : [`${root}/i/${ptx}`, "?"];
  return search ? page + mark + search : page;
}

/** Puts a state into the address; pushed: as a step that Back undoes. */
export function keep(search, pushed = false) {
  const address = exported ? `#${search}` : location.pathname + (search ? `?${search}` : "") + location.hash;
  history[pushed ? "pushState" : "replaceState"](null, "", address);
}

// What the fragment of an exported page asks for; the server has already read the query.
export const given = () => (exported ? Object.fromEntries(new URLSearchParams(location.hash.slice(1))) : {});
export const onServer = !exported;
