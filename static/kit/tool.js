// Tool pages: copy buttons, zoom of large pictures, and forms that show the result of a choice at once.
import "./auto.js";
import { copyButtons } from "./copy.js";
import { zoomPictures } from "./pictures.js";

copyButtons();
zoomPictures();
