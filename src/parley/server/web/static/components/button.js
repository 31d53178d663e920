// Buttons, and links that look like them.
import { html } from "../html.js";

/** `kind` is primary, plain, danger or quiet; `isBusy` keeps the size and takes no clicks. */
export function Button({ kind = "plain", isBusy = false, href, type = "button", disabled, children, ...rest }) {
  const look = `button ${kind}${isBusy ? " is-busy" : ""}`;
  if (href) return html`<a class=${look} href=${href} ...${rest}>${children}</a>`;
  return html`<button type=${type} class=${look} disabled=${disabled || isBusy} aria-busy=${isBusy} ...${rest}>
    ${children}
  </button>`;
}
