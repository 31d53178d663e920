// What stands where content would: on its way, nothing there yet, or something went wrong.
import { html } from "../html.js";
import { Button } from "./button.js";
import { Countdown } from "./time.js";

/** Grey bars with the height that content will take, so that nothing jumps. */
export function Loading({ lines = 6, label = "Loading" }) {
  return html`<div class="loading" role="status" aria-label=${label}>
    ${Array.from({ length: lines }, (_, index) => html`<div class="loading-line" key=${index}></div>`)}
  </div>`;
}

/** Nothing there yet, and what to do about it. */
export function Empty({ title, children, action }) {
  return html`<div class="state"><h2>${title}</h2><div class="state-text">${children}</div>${action}</div>`;
}

const NEXT_STEPS = {
  balance_exhausted: html`<a href="/account">See the balance</a> and ask your operator for credit.`,
  scope_missing: html`Sign in with a key that has this scope, or make one under <a href="/account/keys">Keys</a>.`,
  internal_error: "If it stays so, tell your operator the request id below.",
};

/** An error in the API's words, with what can be done. `retry` is offered if given. */
export function Failure({ error, retry, title }) {
  if (error.status === 404) return html`<${Missing} />`;
  return html`<div class="state failure" role="alert">
    <h2>${title ?? "This did not work"}</h2>
    <div class="state-text">
      <p>${error.message}</p>
      ${NEXT_STEPS[error.code] && html`<p>${NEXT_STEPS[error.code]}</p>`}
      ${error.retryAfter && html`<p><${Countdown} seconds=${error.retryAfter} /></p>`}
      ${error.requestId && html`<p class="muted small">Request ${error.requestId}</p>`}
    </div>
    ${retry && html`<${Button} onClick=${retry}>Try again<//>`}
  </div>`;
}

/** A link that leads nowhere, or into another account. */
export function Missing() {
  return html`<div class="state">
    <h1>There is nothing here</h1>
    <div class="state-text">
      <p>This address leads to nothing in this account. It may have been deleted, or belong to another account.</p>
    </div>
    <${Button} href="/tests">To the tests<//>
  </div>`;
}

/** What a `useLoad` gave: loading, failure, or `children(data)`. Old data stays while new is on its way. */
export function Loaded({ from, lines, children }) {
  if (from.error && !from.data) return html`<${Failure} error=${from.error} retry=${from.reload} />`;
  if (!from.data) return html`<${Loading} lines=${lines} />`;
  return html`${from.error && html`<${Failure} error=${from.error} retry=${from.reload} />`}${children(from.data)}`;
}
