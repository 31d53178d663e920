// What was asked and what was judged, for each kind of case; what has no form of its own is shown as it is stored.
import { html } from "../html.js";
import { Badge } from "../components/badge.js";

const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
const has = (value) => value !== null && value !== undefined && value !== "" && !(Array.isArray(value) && !value.length);

/** What the case asks: `content` of a result. */
export function Asked({ content, kind }) {
  if (kind !== "custom") return html`<${Stored} name="The case, as it was frozen" value=${content} />`;
  const main = content.main_question ?? content;
  const { query, expectedResults: expected, judgeGuideline: guideline, expectedTrajectory: tools, checks } = main;
  return html`
    <${Said} who="user" name="Question">${query}<//>
    ${(content.follow_up_questions ?? []).map((one, place) => html`<${Said} key=${place} who="user" name="Follow-up question">${one.query}<//>`)}
    <dl class="asked">
      <${Wanted} name="Expected" value=${expected} />
      <${Wanted} name="Guideline for the judge" value=${guideline} />
      <${Wanted} name="Expected tools" value=${tools && `${tools.tools.join(", ")} (${tools.mode ?? "unordered"})`} />
    </dl>
    ${has(checks) && html`<${Stored} name=${`Checks of the case (${checks.length})`} value=${checks} />`}`;
}

function Wanted({ name, value }) {
  return has(value) && html`<div><dt>${name}</dt><dd class="words">${shown(value)}</dd></div>`;
}

function Said({ who, name, children }) {
  return html`<article class=${`message ${who}`} aria-label=${name}>
    <header class="message-head"><h3>${name}</h3></header><p class="words">${children}</p></article>`;
}

const KNOWN = ["output", "turns", "toolCalls", "retrievalContext", "steps"];

/** What the agent did: `transcript` of a result. */
export function Answered({ transcript }) {
  if (!transcript) return html`<p class="muted">No transcript is kept.</p>`;
  const { output, turns, toolCalls: calls, retrievalContext: retrieved, steps } = transcript;
  const rest = Object.fromEntries(Object.entries(transcript).filter(([name, value]) => !KNOWN.includes(name) && has(value)));
  return html`
    ${(turns ?? []).map((turn, place) => html`<${Said} key=${place} who=${turn.role === "user" ? "user" : "assistant"} name=${turn.role}>${turn.content}<//>`)}
    ${(steps ?? []).map((step) => html`<${Step} key=${step.index} step=${step} />`)}
    ${output && html`<${Said} who="assistant" name="Answer">${output.text || "Nothing was said."}<//>`}
    ${(calls ?? []).map((call, place) => html`<${ToolCall} key=${place} call=${call} />`)}
    ${has(retrieved) && html`<${Stored} name=${`Retrieved texts (${retrieved.length})`} value=${retrieved.join("\n\n---\n\n")} />`}
    ${Object.keys(rest).length > 0 && html`<${Stored} name="All else that was sent" value=${rest} />`}`;
}

function ToolCall({ call }) {
  return html`<details class="folded"><summary>Called <code>${call.name}</code>${has(call.error) && ", which failed"}</summary>
    ${has(call.arguments) && html`<pre class="code words">${shown(call.arguments)}</pre>`}
    ${has(call.result) && html`<p class="small muted">Result</p><pre class="code words">${shown(call.result)}</pre>`}
    ${has(call.error) && html`<p class="small muted">Error</p><pre class="code words">${shown(call.error)}</pre>`}
  </details>`;
}

const STEP_LOOKS = { passed: "success", failed: "loss", error: "failed", inconclusive: "incomplete" };

function Step({ step }) {
  const { index, input, observation, status, checks = [], criteria = [] } = step;
  return html`<section class="turn" aria-label=${`Step ${index + 1}`}>
    <h3 class="turn-head">Step ${index + 1} <${Badge} of=${STEP_LOOKS[status] ?? status}>${status}<//></h3>
    <${Said} who="user" name="User">${shown(input?.message ?? input)}<//>
    ${observation && html`<${Said} who="assistant" name="Agent">${observation.text || shown(observation)}<//>`}
    <ul class="small">
      ${checks.map((one) => html`<li key=${one.check}>${one.passed ? "✓" : "✕"} ${one.check}: ${one.detail}</li>`)}
      ${criteria.map((one) => html`<li key=${one.id}>${one.status === "passed" ? "✓" : "✕"} ${one.text} <span class="muted">${one.reason}</span></li>`)}
    </ul>
  </section>`;
}

/** Something folded, as it is stored. */
export function Stored({ name, value }) {
  return html`<details class="folded"><summary>${name}</summary><pre class="code words">${shown(value)}</pre></details>`;
}
