// What a run was started with, and what of the test has changed since.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** The fields that differ, as `[name, then, now]`. */
export function changes(then, now) {
  return Object.keys(then)
    .filter((name) => name in now && JSON.stringify(then[name]) !== JSON.stringify(now[name]))
    .map((name) => [name, then[name], now[name]]);
}

export function Snapshot({ run }) {
  const test = useLoad((signal) => get(`/agentic-tests/${run.test_id}`, {}, { signal }), [run.test_id]);
  const { fields, gateway: target, resource_texts: texts } = run.definition;
  return html`<section class="panel">
    <h2>Definition</h2>
    ${test.data && html`<${Changes} list=${changes(fields, test.data.data)} />`}
    <details class="folded"><summary>As it was started</summary>
      <dl class="snapshot">
        ${Object.entries(fields).map(([name, value]) => html`<dt key=${name}>${name}</dt><dd class="words">${shown(value)}</dd>`)}
        <dt>system under test</dt><dd class="words">${shown(target)}</dd>
        ${texts?.length > 0 && html`<dt>resources, as read</dt><dd class="words">${texts.join("\n\n---\n\n")}</dd>`}
      </dl>
    </details>
  </section>`;
}

function Changes({ list }) {
  if (!list.length) return html`<p class="muted">The test is still as it was then.</p>`;
  return html`<p>Changed since: ${list.map(([name]) => name).join(", ")}.</p>
    <details class="folded"><summary>What changed</summary>
      ${list.map(([name, then, now]) => html`<div key=${name} class="change"><h3>${name}</h3>
        <p class="words"><del>${shown(then)}</del></p><p class="words"><ins>${shown(now)}</ins></p></div>`)}
    </details>`;
}
