// One attempt at a scripted case: why it came out as it did, then step by step.
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { useTitle } from "../title.js";
import { AttemptBadge } from "../attempts/badges.js";
import { Facts, Phases } from "../attempts/facts.js";
import { addressOf, Cost } from "../attempts/list.js";
import { Steps } from "../attempts/steps.js";
import { took } from "../attempts/took.js";
import { Why } from "../attempts/why.js";
import { Figure } from "../evaluations/figures.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";

const LOOK_EVERY_S = 3;
const WHERE = { gateway: "a gateway", app: "your app, remotely", process: "your own process" };

export default function Page({ params }) {
  const path = `/evaluations/${params.id}/attempts`;
  const found = useLoad((signal) => get(`${path}/${params.attempt}`, {}, { signal }), [path, params.attempt]);
  const attempt = found.data?.data;
  useEvery(LOOK_EVERY_S, () => attempt && attempt.state !== "finished" && found.reload());
  useTitle(attempt?.name);
  return html`<${LoadedPage} title="Attempt" from=${found} lines=${14}>${({ data }) => html`<${Attempt} attempt=${data} path=${path} />`}<//>`;
}

function Attempt({ attempt, path }) {
  const { record } = attempt;
  const crumbs = html`<a href=${`/evaluations/${attempt.evaluation_id}`}>The evaluation</a>`;
  const lead = html`<${AttemptBadge} attempt=${attempt} /> <span class="small">${attempt.case_id}, repetition ${attempt.repetition}</span>`;
  return html`<${EvaluationsPage} title=${attempt.name} crumbs=${crumbs} lead=${lead}>
    <${Repetitions} attempt=${attempt} path=${path} />
    <dl class="figures">
      <${Figure} name="Took">${took(attempt.duration_ms)}<//>
      <${Figure} name="Steps" note="reached of planned">${record ? `${record.steps.length} of ${record.stepsPlanned}` : "–"}<//>
      <${Figure} name="Workflow cost"><${Cost} usd=${attempt.workflow_cost} isDone=${attempt.status} /><//>
      <${Figure} name="Judge cost"><${Cost} usd=${attempt.judge_cost} isDone=${attempt.status} /><//>
      <${Figure} name="Played in"><span class="figure-note">${WHERE[attempt.target]}</span><//>
    </dl>
    ${record
      ? html`<div class="stack"><${Why} record=${record} /><${Steps} record=${record} /><${Phases} record=${record} />
          <${Facts} attempt=${attempt} record=${record} /></div>`
      : html`<p class="muted">Nothing has been played yet.</p>`}
  <//>`;
}

/** The other attempts at the case. */
function Repetitions({ attempt, path }) {
  const found = useLoad((signal) => get(path, { case: attempt.case_id, limit: 100 }, { signal }), [path, attempt.case_id]);
  const all = found.data?.data ?? [];
  if (all.length < 2) return null;
  return html`<nav class="repetitions" aria-label="Repetitions">
    ${all.map((one) => html`<a key=${one.id} href=${addressOf(one)} aria-current=${one.id === attempt.id ? "page" : null}>
      Repetition ${one.repetition} <${AttemptBadge} attempt=${one} /></a>`)}
  </nav>`;
}
