// What the pages of evaluations share: their list, and the heading.
import { html } from "../html.js";
import { place } from "../router.js";
import { Failure, Loaded } from "../components/states.js";

const PAGES = [
  ["/evaluations", "Evaluations"],
  ["/evaluations/suites", "Suites"],
  ["/evaluations/gates", "Gates"],
];

/** A page of evaluations. `crumbs` lead up, `actions` stand beside the heading; `lead` is a line below it. */
export function EvaluationsPage({ title, lead, crumbs, actions, children }) {
  const path = place.value.path.replace(/(.)\/$/, "$1");
  const within = PAGES.map(([href]) => href).findLast((href) => path === href || path.startsWith(`${href}/`));
  return html`<nav class="tabs" aria-label="Evaluations">
      ${PAGES.map(([href, name]) => html`<a href=${href} aria-current=${href === within ? "page" : null}>${name}</a>`)}
    </nav>
    <div class="page-head">
      <div>${crumbs && html`<p class="crumbs">${crumbs}</p>`}<h1>${title}</h1>${lead && html`<p>${lead}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}
    </div>
    ${children}`;
}

/** A page that is nothing without what it reads: as `Loaded`, and what went wrong stands under a heading. */
export function LoadedPage({ from, title, lines, children }) {
  const isBroken = from.error && !from.data && from.error.status !== 404;
  if (!isBroken) return html`<${Loaded} from=${from} lines=${lines}>${children}<//>`;
  return html`<${EvaluationsPage} title=${title}><${Failure} error=${from.error} retry=${from.reload} /><//>`;
}
