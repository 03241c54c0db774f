import { copyButtons } from "./copy.js";

copyButtons();
