// Short news at the edge of the screen, read out politely. Errors stay until they are closed.
import { signal } from "@preact/signals";
import { html } from "../html.js";
import { Countdown } from "./time.js";

const LASTS_MS = 6_000;
const shown = signal([]);
let made = 0;

const close = (id) => (shown.value = shown.value.filter((one) => one.id !== id));

/** Tell good news. `link` is `{href, name}`. */
export function tell(text, link) {
  const id = (made += 1);
  shown.value = [...shown.value, { id, text, link }];
  setTimeout(() => close(id), LASTS_MS);
}

/** Tell what went wrong, in the API's words. */
export function tellError(error) {
  shown.value = [...shown.value, { id: (made += 1), text: error.message, wait: error.retryAfter, isError: true }];
}

export function Toasts() {
  return html`<div class="toasts" role="region" aria-label="News" aria-live="polite">
    ${shown.value.map(({ id, text, link, wait, isError }) => html`<div class=${`toast${isError ? " error" : ""}`} key=${id}>
      <p>${text} ${link && html`<a href=${link.href}>${link.name}</a>`} ${wait && html`<${Countdown} seconds=${wait} />`}</p>
      <button type="button" class="button quiet square" aria-label="Close" onClick=${() => close(id)}>✕</button>
    </div>`)}
  </div>`;
}
