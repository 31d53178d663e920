// How evaluations, results, checks and gates stand, each in a word, a sign and a colour.
import { html } from "../html.js";
import { Badge } from "../components/badge.js";

const STATES = { in_progress: "running", scoring: "running", failed: "failed", expired: "incomplete", cancelled: "cancelled" };
const STATUSES = { failed: ["failed", "agent failed"], skipped: ["incomplete", "skipped"], pending: ["pending", "waiting"], scoring: ["running", "scoring"] };
const VERDICTS = { passed: "success", failed: "loss", inconclusive: "incomplete" };
const CLASSES = { improved: "success", regressed: "loss", inconclusive: "incomplete" };

export const isOpen = (evaluation) => evaluation.state === "in_progress" || evaluation.state === "scoring";

/** Where an evaluation stands. That it is completed says nothing good or bad, so that has no colour. */
export function StateBadge({ state }) {
  return html`<${Badge} of=${STATES[state] ?? state}>${state.replace("_", " ")}<//>`;
}

/** The pinned baseline's mark. */
export function Pinned() {
  return html`<span class="badge accent" title="The pinned baseline of its dataset or suite, grader and split"><span aria-hidden="true">◆</span>pinned</span>`;
}

/** How one case result came out. */
export function ResultBadge({ result }) {
  const [look, word] = STATUSES[result.status] ?? (result.passed ? ["success", "passed"] : ["loss", "not passed"]);
  return html`<${Badge} of=${look}>${word}<//>`;
}

/** What the gate said. */
export function VerdictBadge({ verdict }) {
  return html`<${Badge} of=${VERDICTS[verdict] ?? verdict}>${verdict}<//>`;
}

/** A check that passed, failed, or could not be decided. */
export function CheckBadge({ passed }) {
  return html`<${VerdictBadge} verdict=${passed === null ? "inconclusive" : passed ? "passed" : "failed"} />`;
}

/** What became of a case since the baseline. */
export function ClassBadge({ of }) {
  return html`<${Badge} of=${CLASSES[of] ?? of}>${of}<//>`;
}
