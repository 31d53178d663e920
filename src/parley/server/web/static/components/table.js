// Tables that become cards on narrow screens.
import { html } from "../html.js";

/**
 * `columns` are `{name, cell(row), isNumber, isMain, isUnnamed, width}`; the main one heads the row, and the name of an
 * unnamed one is only heard.
 * `caption` names the table for those who cannot see it.
 */
export function Table({ caption, columns, rows, keyOf = (row) => row.id, isStale }) {
  return html`<div class=${`table-frame${isStale ? " is-stale" : ""}`}>
    <table>
      <caption class="unseen">${caption}</caption>
      <thead>
        <tr>${columns.map((one) => html`<th scope="col" class=${one.isNumber ? "number" : null}
          style=${one.width ? { width: one.width } : null}>${one.isUnnamed ? html`<span class="unseen">${one.name}</span>` : one.name}</th>`)}</tr>
      </thead>
      <tbody>${rows.map((row) => html`<tr key=${keyOf(row)}>${columns.map((one) => cellOf(one, row))}</tr>`)}</tbody>
    </table>
  </div>`;
}

function cellOf({ name, cell, isNumber, isMain, isUnnamed }, row) {
  const look = [isNumber && "number", isMain && "main"].filter(Boolean).join(" ") || null;
  return isMain
    ? html`<th scope="row" class=${look}>${cell(row)}</th>`
    : html`<td class=${look} data-name=${isUnnamed ? null : name}>${cell(row)}</td>`;
}
