// A matrix as a real table: opens the page's list of what every lane holds.
import { $ } from "../kit/dom.js";

/** The table of a cell's matrix, of the first matrix without a cell. */
export function openTable(cell) {
  const tables = [...document.querySelectorAll("details[data-table]")];
  const table = tables.find((each) => each.dataset.table === cell?.panel.operand.name) ?? tables[0];
  if (!table) return;
  const tab = table.closest(".tab");
  if (tab?.hidden) document.querySelector(`#tabs a[href="#${tab.id}"]`).click();
  table.open = true;
  table.scrollIntoView({ block: "start" });
  table.querySelector("summary").focus();
  $("spoken").textContent = table.querySelector("summary").textContent;
}
