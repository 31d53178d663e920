// What a test tries, in the words it was written in. All of it is text.
import { html } from "../html.js";

/** Words as a string, a part or parts, as one text. */
export function wordsOf(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.map(wordsOf).join("\n") : value.text;
}

const code = (value) => html`<pre class="code">${JSON.stringify(value, null, 2)}</pre>`;

const MORE = [
  ["start", "The conversation starts with", code],
  ["resources", "Background for user and judge", (found) => found.map((one) => html`<p class="words">${one.type === "RemoteResource" ? `Read from ${one.data}` : one.data}</p>`)],
  ["tool_mocks", "Answers to open tool calls", code],
  ["hooks", "Hooks", (found) => html`<ul>${found.map((one) => html`<li><code>${one.event}</code> ${one.url}</li>`)}</ul>`],
];

export function Definition({ test }) {
  const criteria = wordsOf(test.validation_criteria);
  const metadata = Object.entries(test.metadata);
  return html`<section class="panel">
    <h2>What is tried</h2>
    <h3>Goal</h3>
    <p class="words">${wordsOf(test.goal)}</p>
    <h3>Criteria</h3>
    ${criteria ? html`<p class="words">${criteria}</p>` : html`<p class="muted">None: the judge has the goal alone.</p>`}
    ${MORE.filter(([name]) => test[name].length > 0).map(([name, title, shown]) => html`<h3>${title}</h3>${shown(test[name])}`)}
    ${metadata.length > 0 && html`<h3>Metadata for the gateway</h3>
      <ul>${metadata.map(([name, value]) => html`<li><code>${name}</code> ${value}</li>`)}</ul>`}
    ${test.external_user_id && html`<h3>User id for the gateway</h3><p>${test.external_user_id}</p>`}
  </section>`;
}
