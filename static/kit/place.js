// Where pages lie and how a page keeps its state in the URL: on the server in the path and query, in an exported site in files and fragments.
const exported = "exported" in document.documentElement.dataset;

// Where this server begins: "" or the path below which a proxy serves it.
export const root = document.documentElement.dataset.root ?? "";

export const pageOf = (ptx, search) =>
  exported ? `${ptx.replaceAll(":", "-")}.html${search ? `#${search}` : ""}` : `${root}/i/${ptx}${search ? `?${search}` : ""}`;

export function keep(search) {
  if (exported) history.replaceState(null, "", `#${search}`);
  else history.replaceState(null, "", location.pathname + (search ? `?${search}` : ""));
}

// What the fragment of an exported page asks for; the server has already read the query.
export const given = () => (exported ? Object.fromEntries(new URLSearchParams(location.hash.slice(1))) : {});
export const onServer = !exported;
