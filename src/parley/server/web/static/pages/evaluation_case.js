// One case result: how it came out and why, its checks, what was asked and what was answered.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { useTitle } from "../title.js";
import { Money } from "../components/money.js";
import { Table } from "../components/table.js";
import { duration, Time } from "../components/time.js";
import { CheckBadge, ResultBadge } from "../evaluations/badges.js";
import { Figure, rating } from "../evaluations/figures.js";
import { addressOf } from "../attempts/list.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";
import { Answered, Asked, Stored } from "../evaluations/transcript.js";

const CHECKS = [
  { name: "Check", isMain: true, cell: (one) => html`${one.id ?? one.type}${one.id && html` <span class="muted plain small">${one.type}</span>`}` },
  { name: "Result", cell: (one) => html`<${CheckBadge} passed=${one.passed} />` },
  { name: "Weight", cell: (one) => (one.must_pass ? "must pass" : "told only") },
  { name: "Detail", cell: (one) => html`<span class="words">${one.detail}</span>` },
];

export default function Page({ params }) {
  const path = `/evaluations/${params.id}/results`;
  const found = useLoad((signal) => get(`${path}/${params.result}`, {}, { signal }), [path, params.result]);
  useTitle(found.data?.data.name);
  return html`<${LoadedPage} title="Case" from=${found} lines=${12}>${({ data }) => html`<${Result} result=${data} path=${path} />`}<//>`;
}

function Result({ result, path }) {
  const crumbs = html`<a href=${`/evaluations/${result.evaluation_id}`}>The evaluation</a>`;
  const lead = html`<${ResultBadge} result=${result} /> <span class="small">${result.case_id}, repetition ${result.repetition}</span>`;
  return html`<${EvaluationsPage} title=${result.name} crumbs=${crumbs} lead=${lead}>
    <${Repetitions} result=${result} path=${path} />
    <dl class="figures">
      <${Figure} name="Rating" note="of 10" look=${result.passed === false ? "bad" : result.passed ? "good" : null}>${rating(result.rating)}<//>
      <${Figure} name="Agent took">${result.duration_ms === null ? "–" : duration(result.duration_ms / 1000)}<//>
      <${Figure} name="Grading cost"><${Money} usd=${result.cost} /><//>
      <${Figure} name="Scored"><span class="figure-note"><${Time} at=${result.scored_at} /></span><//>
    </dl>
    <div class="stack">
      <${Reasons} result=${result} />
      ${result.checks.length > 0 && html`<section><h2 class="log-head">Checks</h2>
        <${Table} caption="Checks" columns=${CHECKS} rows=${result.checks} keyOf=${(one) => result.checks.indexOf(one)} /></section>`}
      <section class="panel"><h2>Asked</h2><${Asked} content=${result.content} kind=${result.kind} /></section>
      <section class="panel"><h2>Answered</h2>
        ${result.kind === "scripted" && html`<${Attempt} result=${result} />`}
        ${result.run_id && html`<p><a href=${`/tests/${result.case_id}/runs/${result.run_id}`}>The run, turn by turn</a></p>`}
        ${(result.transcript || !(result.run_id || result.kind === "scripted")) && html`<${Answered} transcript=${result.transcript} />`}</section>
    </div>
  <//>`;
}

/** Where it was played, step by step. */
function Attempt({ result: { evaluation_id: id, case_id, repetition } }) {
  const asked = { case: case_id, repetition };
  const found = useLoad((signal) => get(`/evaluations/${id}/attempts`, asked, { signal }), [id, case_id, repetition]);
  const attempt = found.data?.data[0];
  return attempt ? html`<p><a href=${addressOf(attempt)}>The attempt, step by step</a></p>` : html`<p class="muted">No attempt is kept.</p>`;
}

function Reasons({ result: { error, justification, judgement, regraded_from: former } }) {
  return html`<section class="panel">
    <h2>Why</h2>
    ${error && html`<p class="note bad words"><strong>${error.type}</strong>: ${error.message}</p>`}
    ${justification && html`<p class="words">${justification}</p>`}
    ${!error && !justification && html`<p class="muted">Nothing is said yet.</p>`}
    <${Votes} votes=${judgement?.votes ?? []} />
    ${judgement && html`<${Stored} name="All that the judge said" value=${judgement} />`}
    ${former && html`<p class="muted small">The answer was judged before; this is another grader's opinion.</p>`}
  </section>`;
}

/** Where several were asked, each has its reasons. */
function Votes({ votes }) {
  if (votes.length < 2) return null;
  return html`<ol class="votes">${votes.map((vote, place) => html`<li key=${place}>
    <strong>${rating(vote.rating)}</strong> <span class="words">${vote.reasoning ?? vote.problem}</span></li>`)}</ol>`;
}

/** The other repetitions of the case. */
function Repetitions({ result, path }) {
  const found = useLoad((signal) => get(path, { case: result.case_id, limit: 100 }, { signal }), [path, result.case_id]);
  const all = found.data?.data ?? [];
  if (all.length < 2) return null;
  return html`<nav class="repetitions" aria-label="Repetitions">
    ${all.map((one) => html`<a key=${one.id} href=${`/evaluations/${one.evaluation_id}/cases/${one.id}`}
      aria-current=${one.id === result.id ? "page" : null}>Repetition ${one.repetition} <${ResultBadge} result=${one} /></a>`)}
  </nav>`;
}
