// The descriptor editor: one word, many equal views. Edit any, all follow: bits, fields, the word's box, the verifier.
import "../kit/scripted.js";
import "./bits.js";
import "./fields.js";
import "./wordbox.js";
import "./verifier.js";
import { $ } from "../kit/dom.js";
import { root } from "../kit/place.js";
import { figureQuery, format, hex, pathOf, query } from "./format.js";
import { draw, follow, isWhole, now, redo, undo, undone } from "./word.js";

follow(() => {
  const text = hex(now()), whole = isWhole();
  for (const drop of document.querySelectorAll(".word .drop")) drop.hidden = !whole;
  $("undo").disabled = !undone().past;
  $("redo").disabled = !undone().future;
  for (const link of document.querySelectorAll("a[data-form]")) {
    link.href = `${pathOf(now())}.${link.dataset.form}${figureQuery}`;
  }
  $("as-json").href = `${root}/api/v1/descriptors/${text}${query}`;
  $("verify-form").action = pathOf(now());
  document.title = `${whole ? `${text}, a` : "A"} ${format} matrix descriptor · Lanescope`;
});
$("undo").addEventListener("click", undo);
$("redo").addEventListener("click", redo);

$("tools").hidden = $("paste-word").hidden = false;
$("paste-word").addEventListener("click", () => { $("word").focus(); $("word").select(); });
draw();
if (location.hash) $(location.hash.slice(1))?.querySelector("input, select")?.focus();
