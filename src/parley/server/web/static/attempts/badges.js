// How attempts, their steps and their criteria stand, each in a word, a sign and a colour.
import { html } from "../html.js";
import { Badge } from "../components/badge.js";

const LOOKS = { passed: "success", failed: "loss", error: "failed", inconclusive: "incomplete", ungraded: "pending", cancelled: "cancelled" };
const STATES = { queued: ["pending", "waiting"], running: ["running", "running"] };
const CONTACTS = { retrying: "Retrying", reconnecting: "Reconnecting", unknown: "Status unknown" };

/** Passed, failed and the others; also of a step or a criterion. */
export function StatusBadge({ status }) {
  return html`<${Badge} of=${LOOKS[status] ?? status}>${status}<//>`;
}

/** What an attempt came to; while it goes on, where it stands. */
export function AttemptBadge({ attempt: { status, state, contact } }) {
  if (status) return html`<${StatusBadge} status=${status} />`;
  const [look, word] = STATES[state] ?? [state, state];
  return html`<${Badge} of=${look}>${word}<//>${contact && html` <${Badge} of="incomplete">${CONTACTS[contact] ?? contact}<//>`}`;
}
