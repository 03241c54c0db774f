// The front door: the paste box; an old address of an exported catalogue leads on.
import "../kit/paste.js";

if ("exported" in document.documentElement.dataset && location.hash.includes("=")) {
  location.replace(`instructions.html${location.hash}`);
}
