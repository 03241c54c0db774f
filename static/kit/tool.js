// Tool pages: copy buttons, zoom of large pictures, and forms that show the result of a choice at once.
import "./auto.js";
import { copyButtons } from "./copy.js";
import { followFind } from "./find.js";
import { zoomPictures } from "./pictures.js";

followFind();
copyButtons();
zoomPictures();
