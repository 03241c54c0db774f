// A word by its format, the server's row: where a field's bits lie, what one step is worth, what text it reads.
import { $ } from "../kit/dom.js";
import { root } from "../kit/place.js";

const row = JSON.parse($("data").textContent);
const spelling = new RegExp(row.number);

export const format = row.format;
export const first = BigInt(row.word);
/** The bits that are not known when the page opens: those of fields that were wrong when they were sent. */
export const firstUnknown = BigInt(row.unknown);
export const query = row.query;
export const figureQuery = row.target ? `?target=${row.target}` : "";
/** Name → field: its lowest bit, its highest code, and the amount that code 1 means. */
export const fields = Object.fromEntries(row.fields.map(({ name, label, high, low, unit }) => [name, {
  name, label, low: BigInt(low), most: (1n << BigInt(high - low + 1)) - 1n, unit: BigInt(unit),
}]));
/** The code of a swizzle mode. */
export const codeOfMode = (mode) => (mode in row.codes ? BigInt(row.codes[mode]) : undefined);
export const origin = fields[row.start];

export const maskOf = (field) => field.most << field.low;
export const fieldAt = (bit) => Object.values(fields).find((field) => (maskOf(field) >> BigInt(bit)) & 1n);

export const hex = (word) => `0x${word.toString(16).padStart(16, "0")}`;
export const pathOf = (word) => `${root}/descriptor/${format}/${hex(word)}`;

export const codeOf = (word, field) => (word >> field.low) & field.most;
export const amountOf = (word, field) => String(codeOf(word, field) * field.unit);
/** The word with another code in one field; every other bit stays, reserved ones too. */
export const withCode = (word, field, code) => (word & ~(field.most << field.low)) | (code << field.low);

/** The code that a text means in a field, or why it means none: any spelling of a number that the server reads. */
export function read(field, text) {
  const { label, unit, most } = field;
  const none = `${label} is '${text}': a whole number from 0 (decimal, 0x… or 0b…)`;
  if (!spelling.test(text)) return { problem: none };
  const amount = BigInt(text.trim().replace(/[_']|[uUlLzZ]+$/g, ""));
  if (amount / unit > most) return { problem: `${label}: at most ${most * unit}` };
  if (amount % unit) return { problem: `${label}: a multiple of ${unit}, e.g. ${(amount / unit) * unit}` };
  return { code: amount / unit, problem: "" };
}
