// What all pages of the account share: their list, and the heading.
import { html } from "../html.js";
import { current } from "../session.js";
import { place } from "../router.js";

const PAGES = [
  ["/account", "General"],
  ["/account/gateways", "Gateways"],
  ["/account/keys", "Keys"],
  ["/account/channels", "Channels"],
  ["/account/usage", "Usage"],
  ["/account/limits", "Limits"],
];

const isWithin = (path, page) => path === page || (page !== "/account" && path.startsWith(`${page}/`));

/** A page of the account. `crumbs` lead up, `actions` stand beside the heading. */
export function AccountPage({ title, lead, crumbs, actions, children }) {
  const path = place.value.path.replace(/(.)\/$/, "$1");
  return html`<nav class="tabs" aria-label="Account">
      ${PAGES.map(([href, name]) => html`<a href=${href} aria-current=${isWithin(path, href) ? "page" : null}>${name}</a>`)}
    </nav>
    <div class="page-head">
      <div>${crumbs && html`<p class="crumbs">${crumbs}</p>`}<h1>${title}</h1>${lead && html`<p>${lead}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
    ${children}`;
}

/** Says what this session's key lacks; nothing if it has the scope. */
export function ScopeNote({ scope, act }) {
  if (current.value?.scopes.includes(scope)) return null;
  return html`<p class="note warn lacking">The key of this session may not ${act}: it lacks the scope <code>${scope}</code>.</p>`;
}
