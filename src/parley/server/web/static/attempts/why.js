// The reasons of an attempt, before anything else of it.
import { html } from "../html.js";
import { Badge } from "../components/badge.js";
import { Stored } from "../evaluations/transcript.js";
import { reasonsOf } from "./reasons.js";

const WORDS = {
  passed: "Everything that was asked for was met.",
  cancelled: "It was cancelled; what had been done until then stands below.",
};

export function Why({ record }) {
  const reasons = reasonsOf(record);
  return html`<section class="panel why">
    <h2>Why</h2>
    ${reasons.length
      ? html`<ol class="reasons">${reasons.map((one) => html`<li key=${one.key}><${Reason} reason=${one} /></li>`)}</ol>`
      : html`<p>${WORDS[record.status] ?? html`<span class="muted">Nothing is said yet.</span>`}</p>`}
  </section>`;
}

function Reason({ reason: { step, look, head, text, note, own, details, quotes } }) {
  return html`<p><${Badge} of=${look}>${step ? html`<a href=${`#step-${step}`}>Step ${step}</a>` : "Attempt"}<//> <strong class="words">${head}</strong></p>
    ${text && html`<p class="words">${text}</p>`}
    ${note && html`<p class="small muted words">${note}</p>`}
    <${Quotes} quotes=${quotes} />
    ${details !== undefined && html`<${Stored} name="Details" value=${details} />`}
    ${own && html`<${Stored} name="For your eyes only" value=${own} />`}`;
}

/** What the judge quoted; what was never said is marked. */
export function Quotes({ quotes }) {
  if (!quotes?.length) return null;
  return html`<ul class="quotes">${quotes.map(({ text, found }, place) => html`<li key=${place} class=${found ? null : "invented"}>
    <q class="words">${text}</q>${!found && html` <span class="badge bad"><span aria-hidden="true">✕</span>never said</span>`}</li>`)}</ul>`;
}
