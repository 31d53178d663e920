// What an attempt was played and judged with, and where its time went.
import { html } from "../html.js";
import { Time } from "../components/time.js";
import { Stored } from "../evaluations/transcript.js";
import { took } from "./took.js";

/** The phases in the order in which they are gone through. */
const PHASES = ["params", "setup", "execute", "responder", "reference", "grading", "verification", "cleanup", "reporting"];

export function Phases({ record: { phaseDurationsMs: spent = {} } }) {
  const known = PHASES.filter((name) => spent[name] !== undefined);
  if (!known.length) return null;
  return html`<section class="panel"><h2>Time by phase</h2>
    <dl class="facts">${known.map((name) => html`<div key=${name}><dt>${name}</dt><dd>${took(spent[name])}</dd></div>`)}</dl></section>`;
}

export function Facts({ attempt, record }) {
  const { judge, rubricVersion, compactionVersion, sessionId, runIds = [], commit, appVersion, params, verification } = record;
  const facts = [
    ["Judge", judge && `${judge.id}, ${judge.versionHash.slice(0, 12)}, of the ${judge.location}`],
    ["Rubric", rubricVersion],
    ["Evidence", compactionVersion],
    ["Session", sessionId],
    ["Your runs", runIds.join(", ")],
    ["Commit", html`<${OrUnknown} told=${commit} />`],
    ["App version", html`<${OrUnknown} told=${appVersion} />`],
    ["Suite revision", attempt.suite_revision.slice(0, 12)],
    ["Started", html`<${Time} at=${new Date(record.startedAt).toISOString()} />`],
    ["Ended", attempt.finished_at && html`<${Time} at=${attempt.finished_at} />`],
  ];
  return html`<section class="panel"><h2>Played with</h2>
    <dl class="facts">${facts.filter(([, told]) => told).map(([name, told]) => html`<div key=${name}><dt>${name}</dt><dd class="words">${told}</dd></div>`)}</dl>
    ${params !== undefined && html`<${Stored} name="Params" value=${params} />`}
    ${verification?.evidence !== undefined && html`<${Stored} name="What verification found" value=${verification.evidence} />`}
  </section>`;
}

/** Which code was tested matters: that nobody said is said aloud. */
function OrUnknown({ told }) {
  return told && told !== "unknown" ? told : html`<span class="badge warn"><span aria-hidden="true">–</span>unknown</span>`;
}
