// The schedule: five fields, told back as a sentence with the next three times, by the API.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad, useSettled } from "../load.js";
import { TextField } from "../components/field.js";
import { Time } from "../components/time.js";

const EXAMPLES = [
  ["0 6 * * *", "daily at 6"],
  ["0 6 * * mon-fri", "on workdays at 6"],
  ["0 */4 * * *", "every 4 hours"],
  ["*/30 * * * *", "every 30 minutes"],
];

const read = (cron, signal) => (cron ? get("/agentic-tests/schedule", { cron }, { signal }) : Promise.resolve(null));

export function CronField({ value, onChange, ...frame }) {
  const cron = useSettled(value?.trim() ?? "", 300);
  const told = useLoad((signal) => read(cron, signal), [cron]);
  return html`<div class="wide">
    <${TextField} ...${frame} value=${value} onChange=${(text) => onChange(text || undefined)} placeholder="minute hour day month weekday" />
    <p class="examples">For example: ${EXAMPLES.map(([text, name]) => html`
      <button type="button" class="link" key=${text} onClick=${() => onChange(text)}>${name}</button>`)}</p>
    <div class="told" aria-live="polite">${cron && !told.error && told.data && html`<${Told} ...${told.data.data} />`}</div>
  </div>`;
}

function Told({ sentence, upcoming }) {
  return html`<p>Runs <strong>${sentence}</strong>.</p>
    <p class="muted small">Next: ${upcoming.map((at, place) => html`${place ? "; " : ""}<${Time} at=${at} />`)}</p>`;
}
