// Figures of evaluations as people read them.
import { html } from "../html.js";

const nothing = html`<span class="muted">–</span>`;
const isMissing = (value) => value === null || value === undefined;

/** A rating or a mean of 0..10: two places, none that say nothing. */
export const rating = (value) => (isMissing(value) ? nothing : String(Number(value.toFixed(2))));

/** A difference of ratings, with its sign. */
export const difference = (value) => (isMissing(value) ? nothing : `${value > 0 ? "+" : value < 0 ? "−" : ""}${Math.abs(Number(value.toFixed(2)))}`);

/** A share of 0..1 in percent. */
export const share = (value) => (isMissing(value) ? nothing : `${Number((value * 100).toFixed(1))}%`);

/** A p-value. */
export const chance = (value) => (isMissing(value) ? nothing : value < 0.001 ? "< 0.001" : value.toFixed(3));

/** A name and its figure; `note` says more. */
export function Figure({ name, look, note, children }) {
  return html`<div class=${`figure ${look ?? ""}`}><dt>${name}</dt><dd>${children}${note && html`<span class="figure-note">${note}</span>`}</dd></div>`;
}
