// When a suite runs by itself, and the last time it did not.
import { html } from "../html.js";
import { Time } from "../components/time.js";

export function NextRun({ suite }) {
  const { cron, enabled, schedule, next_run_at: next, last_skip: skip } = suite;
  if (!cron) return html`<span class="muted">by hand</span>`;
  return html`${enabled ? html`<${Time} at=${next} isRelative />` : html`<span class="muted">paused</span>`}
    <div class="muted small">${schedule}</div>
    ${skip && html`<div class="small bad-sign">Last one skipped: ${skip.reason}</div>`}`;
}
