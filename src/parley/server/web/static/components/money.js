// US dollars: two places, and as many more as small sums need to be seen.
import { html } from "../html.js";

/** "$12.30", "$0.0042", "$0.000017"; "<$0.000001" for less than can be shown. */
export function dollars(usd) {
  const size = Math.abs(usd);
  if (size > 0 && size < 0.000001) return "<$0.000001";
  const places = size === 0 || size >= 1 ? 2 : Math.min(6, Math.max(2, 1 - Math.floor(Math.log10(size))));
  return `${usd < 0 ? "−" : ""}$${size.toLocaleString("en-US", { minimumFractionDigits: places, maximumFractionDigits: places })}`;
}

export function Money({ usd }) {
  if (usd === null || usd === undefined) return html`<span class="muted">–</span>`;
  return html`<span class="money" title=${`${usd} US dollars`}>${dollars(usd)}</span>`;
}
