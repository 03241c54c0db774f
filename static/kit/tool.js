// Tool pages: copy buttons, and forms that show the result of a choice at once.
import "./auto.js";
import { copyButtons } from "./copy.js";
import { followFind } from "./find.js";

followFind();
copyButtons();
