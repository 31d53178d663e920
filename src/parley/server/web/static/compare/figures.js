// Figures of two sides in a table, one a line.
import { html } from "../html.js";
import { Table } from "../components/table.js";

/** `rows` are `{name, left, right, gap}`, each ready to be shown. */
export function Figures({ caption, rows }) {
  const columns = [
    { name: "Figure", isMain: true, cell: (row) => row.name },
    { name: "Left", isNumber: true, cell: (row) => row.left ?? nothing },
    { name: "Right", isNumber: true, cell: (row) => row.right ?? nothing },
    { name: "Difference", isNumber: true, cell: (row) => row.gap ?? nothing },
  ];
  return html`<div class="figures"><${Table} caption=${caption} columns=${columns} rows=${rows} keyOf=${(row) => row.name} /></div>`;
}

const nothing = html`<span class="muted">–</span>`;

/** `right - left` with its sign, or null where one of them is missing. */
export function signed(left, right, show) {
  if (left === null || right === null) return null;
  return withSign(right - left, show);
}

export function withSign(value, show) {
  const text = show(Math.abs(value));
  return text === show(0) ? text : `${value > 0 ? "+" : "−"}${text}`;
}
