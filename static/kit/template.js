// Templates from the server, as "T{thread}:{values}": filled with facts by name ({byte:x}: in hexadecimal), and read
// back.
export const fill = (template, facts) =>
  template.replace(/\{(\w+)(:x)?\}/g, (_, name, hex) => (hex ? facts[name].toString(16) : facts[name]));

/** The facts of a text that a template could have made, null for any other text. */
export function read(template, text) {
  const literal = template.replace(/[.*+?^$()|[\]\\]/g, "\\$&");
  return new RegExp(`^${literal.replace(/\{(\w+)\}/g, "(?<$1>\\w+)")}$`).exec(text)?.groups ?? null;
}
