// Why two sides cannot be compared, and what else differs between them.
import { html } from "../html.js";

/** `comparable` and `differences` as the API tells them. */
export function Reasons({ comparable, differences }) {
  const against = differences.filter((one) => one.kind !== "subject");
  const subject = differences.filter((one) => one.kind === "subject");
  return html`
    ${!comparable && html`<div class="note warn"><p><strong>These cannot be compared.</strong> Each side is shown by itself.</p>
      <ul class="reasons">${against.map((one) => html`<li key=${one.detail}>${one.detail}</li>`)}</ul></div>`}
    ${subject.length > 0 && html`<p class="muted">What was tried differs: ${subject.map((one) => one.field).join(", ")}.</p>`}`;
}
