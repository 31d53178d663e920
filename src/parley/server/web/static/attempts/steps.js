// An attempt step by step: what was said, what the agent did, what was checked, what was judged on which evidence.
import { html } from "../html.js";
import { Stored } from "../evaluations/transcript.js";
import { StatusBadge } from "./badges.js";
import { took } from "./took.js";
import { Quotes } from "./why.js";

export function Steps({ record }) {
  const { steps = [], stepsPlanned: planned } = record;
  const left = planned - steps.length;
  return html`<section class="conversation">
    <h2 class="log-head">Steps</h2>
    ${steps.map((step) => html`<${Step} key=${step.index} step=${step} />`)}
    ${left > 0 && html`<p class="muted">${left === 1 ? "One more step was" : `${left} more steps were`} not reached.</p>`}
  </section>`;
}

function Step({ step }) {
  const { index, status, latencyMs, input, resumed, observation, reference, evidence, checks = [], criteria = [] } = step;
  return html`<section class="turn" id=${`step-${index + 1}`} aria-label=${`Step ${index + 1}`}>
    <h3 class="turn-head"><a href=${`#step-${index + 1}`}>Step ${index + 1}</a> <${StatusBadge} status=${status} />
      ${latencyMs !== undefined && html`<span title="The agent alone">${took(latencyMs)}</span>`}</h3>
    <${Input} input=${input} resumed=${resumed} />
    ${observation ? html`<${Observed} observation=${observation} />` : html`<p class="muted">The agent gave nothing.</p>`}
    <${Checks} checks=${checks} />
    <${Criteria} criteria=${criteria} />
    ${reference !== undefined && html`<${Stored} name="Reference" value=${reference} />`}
    ${evidence && html`<${Stored} name=${`Evidence that the judge saw, ${evidence.compactionVersion}`} value=${evidence} />`}
  </section>`;
}

const answerTo = (resume) => resume.text ?? resume.ids?.join(", ") ?? (resume.type === "cancel" ? "Called off" : JSON.stringify(resume.value));

function Input({ input, resumed }) {
  const { message, resume } = input;
  const isNamed = Boolean(resume?.using);
  return html`<article class="message user" aria-label=${message ? "User" : "Answer to the pause"}>
    <header class="message-head"><h4>${message ? "User" : "Answer to the pause"}</h4>
      ${isNamed && html`<span class="small muted">by responder <code>${resume.using}</code></span>`}</header>
    <p class="words">${message ?? (resumed ? answerTo(resumed) : isNamed ? "Nothing was answered." : answerTo(resume))}</p>
  </article>`;
}

const TITLES = { answer: "Agent", interrupt: "Agent, pausing", error: "Agent, ended by an error", cancelled: "Agent, cancelled" };

function Observed({ observation }) {
  const { type, text, structured = [], events = [], interrupt, runId, usage } = observation;
  return html`<article class="message assistant" aria-label=${TITLES[type]}>
    <header class="message-head"><h4>${TITLES[type]}</h4>
      <span class="small muted">${[runId && `run ${runId}`, spent(usage)].filter(Boolean).join(" · ")}</span></header>
    ${text && html`<p class="words">${text}</p>`}
    ${interrupt && html`<${Pause} interrupt=${interrupt} />`}
    ${structured.map((one, place) => html`<${Stored} key=${place} name=${nameOf(one)} value=${one.data} />`)}
    ${!text && !interrupt && !structured.length && html`<p class="muted">Nothing was said.</p>`}
    ${events.length > 0 && html`<details class="folded"><summary>Events (${events.length})</summary>
      <ol class="events">${events.map((one, place) => html`<li key=${place}><${Event} event=${one} /></li>`)}</ol></details>`}
  </article>`;
}

const spent = (usage) => usage?.promptTokens !== undefined && `${usage.promptTokens} + ${usage.completionTokens ?? "?"} tokens`;
const nameOf = ({ schemaId, schemaVersion, dataType, status }) =>
  `Output ${[schemaId ?? dataType, schemaVersion].filter(Boolean).join(" ")}${status === "streaming" ? ", unfinished" : ""}`;

function Pause({ interrupt: { question, kind, options = [], request, schemaId } }) {
  return html`<p class="words">${question ?? html`<span class="muted">It asks nothing in words.</span>`}</p>
    <p class="small muted">${[`Pause: ${kind}`, schemaId].filter(Boolean).join(", ")}</p>
    ${options.length > 0 && html`<ul class="small">${options.map((one) => html`<li key=${one.id}><code>${one.id}</code> ${one.label}
      ${one.description && html` <span class="muted">${one.description}</span>`}</li>`)}</ul>`}
    ${request !== undefined && html`<${Stored} name="Request" value=${request} />`}`;
}

function Event({ event: { type, toolName, callId, ...rest } }) {
  const told = Object.keys(rest).length > 0;
  return html`<p class="small"><code>${type}</code>${toolName && html` <strong>${toolName}</strong>`}${callId && html` <span class="muted">${callId}</span>`}</p>
    ${told && html`<pre class="code words">${JSON.stringify(rest, null, 2)}</pre>`}`;
}

function Checks({ checks }) {
  if (!checks.length) return null;
  return html`<ul class="verdicts" aria-label="Checks">${checks.map((one) => html`<li key=${one.check} class=${one.passed ? null : "bad-sign"}>
    <span aria-hidden="true">${one.passed ? "✓" : "✕"}</span><span class="unseen">${one.passed ? "passed" : "failed"}</span>
    <span><code>${one.check}</code> <span class="words">${one.detail}</span></span></li>`)}</ul>`;
}

function Criteria({ criteria }) {
  return criteria.map((one) => html`<article class="message judge" key=${one.id} aria-label=${`Criterion ${one.id}`}>
    <header class="message-head"><h4 class="words">${one.text}</h4><${StatusBadge} status=${one.status} />
      <span class="small muted">${one.calls > 1 ? `${one.calls} calls · ` : ""}${took(one.durationMs)}</span></header>
    ${one.reason && html`<p class="words">${one.reason}</p>`}
    <${Quotes} quotes=${one.quotes} />
  </article>`);
}
