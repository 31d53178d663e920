// What the gate says: the verdict, and each check with what it asked and found.
import { html } from "../html.js";
import { Table } from "../components/table.js";
import { CheckBadge, VerdictBadge } from "./badges.js";

const number = (value) => (value === null ? html`<span class="muted">–</span>` : String(value));

const COLUMNS = [
  { name: "Check", isMain: true, cell: (one) => html`<span class="unbroken">${one.check}</span>` },
  { name: "Result", cell: (one) => html`<${CheckBadge} passed=${one.passed} />` },
  { name: "Asked", isNumber: true, cell: (one) => number(one.threshold) },
  { name: "Found", isNumber: true, cell: (one) => number(one.actual) },
  { name: "Detail", cell: (one) => one.detail },
];

const WORDS = {
  passed: "It passes: every check does.",
  failed: "It does not pass.",
  inconclusive: "It cannot be decided, so it does not pass.",
};

/** `isBrief` leaves out which evaluation it is about. */
export function GateAnswer({ answer, isBrief }) {
  const { evaluation_id: id, baseline_id: baseline, first_run: isFirst, note, checks, verdict } = answer;
  return html`<div class="gate-answer">
    <p class="gate-verdict"><${VerdictBadge} verdict=${verdict} /> <strong>${WORDS[verdict]}</strong></p>
    <${Table} caption="Checks of the gate" columns=${COLUMNS} rows=${checks} keyOf=${(one) => one.check} />
    <p class="small muted">
      ${!isBrief && html`About <a href=${`/evaluations/${id}`}>this evaluation</a>. `}
      ${baseline && html`Compared with <a href=${`/evaluations/${id}/compare?baseline=${baseline}`}>its baseline</a>. `}
      ${isFirst && "There was no baseline: checks of regression pass. "}
      ${note}
    </p>
  </div>`;
}
