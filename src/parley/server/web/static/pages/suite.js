// One suite: its cases, how it runs, and what its last evaluations gave.
import { useState } from "preact/hooks";
import { del, get, patch } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { useAct } from "../account/act.js";
import { Button } from "../components/button.js";
import { Confirm } from "../components/dialog.js";
import { dollars } from "../components/money.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { tell } from "../components/toast.js";
import { StateBadge } from "../evaluations/badges.js";
import { rating, share } from "../evaluations/figures.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";
import { RunSuite } from "../suites/run_suite.js";
import { NextRun } from "../suites/schedule.js";

const LOOK_EVERY_S = 10;
const LAST = 10;
const SCOPE = "evaluations:write";

const CASES = [
  { name: "Case", isMain: true, cell: (one) => html`<${CaseName} of=${one} />` },
  { name: "Splits", cell: (one) => one.splits.join(", ") || html`<span class="muted">none</span>` },
];

function CaseName({ of: { kind, id, name, test_id: test } }) {
  if (kind === "scripted") return html`${name} <span class="muted small plain">${name === id ? "scripted" : `${id}, scripted`}</span>`;
  return name ? html`<a href=${`/tests/${test}`}>${name}</a>` : html`<span class="muted">deleted; it is left out</span>`;
}

const EVALUATIONS = [
  { name: "Started", isMain: true, cell: (one) => html`<a href=${`/evaluations/${one.id}`}><${Time} at=${one.created_at} isRelative /></a>` },
  { name: "State", cell: (one) => html`<${StateBadge} state=${one.state} />` },
  { name: "Mean", isNumber: true, cell: (one) => rating(one.statistics?.average_rating) },
  { name: "Passed", isNumber: true, cell: (one) => share(one.statistics?.pass_rate?.value) },
];
const HOW = { split: "Split", repetitions: "Repetitions", concurrency: "At once", gateway: "Gateway", budget_usd: "Budget", seed: "Seed" };

export default function Page({ params }) {
  const found = useLoad((signal) => get(`/suites/${params.id}`, {}, { signal }), [params.id]);
  useTitle(found.data?.data.name);
  return html`<${LoadedPage} title="Suite" from=${found} lines=${10}>${({ data }) => html`<${Suite} suite=${data} reload=${found.reload} />`}<//>`;
}

function Suite({ suite, reload }) {
  useEvery(LOOK_EVERY_S, reload);
  const actions = html`<${RunSuite} suite=${suite} kind="primary" />
    <${Button} href=${`/evaluations/suites/${suite.id}/edit`}>Edit<//><${Delete} suite=${suite} />`;
  const crumbs = html`<a href="/evaluations/suites">Suites</a>`;
  return html`<${EvaluationsPage} title=${suite.name} crumbs=${crumbs} lead=${suite.description} actions=${actions}>
    <div class="split">
      <div>
        <section><h2 class="log-head">Last evaluations</h2><${Last} suite=${suite} /></section>
        <section><h2 class="log-head">Cases</h2><${Table} caption="Cases of the suite" columns=${CASES} rows=${suite.cases} /></section>
      </div>
      <section class="panel"><h2>How it runs</h2><${How} suite=${suite} reload=${reload} /></section>
    </div>
  <//>`;
}

function How({ suite, reload }) {
  const { defaults } = suite;
  const set = Object.entries(HOW).filter(([name]) => defaults[name] !== null && defaults[name] !== undefined);
  return html`<dl class="facts single">
      <div><dt>Schedule</dt><dd><${NextRun} suite=${suite} /></dd></div>
      ${set.map(([name, words]) => html`<div key=${name}><dt>${words}</dt><dd>${name === "budget_usd" ? dollars(defaults[name]) : defaults[name]}</dd></div>`)}
      ${suite.script && html`<${Scripted} script=${suite.script} />`}
      <div><dt>Version</dt><dd>${suite.version}</dd></div>
    </dl>
    ${suite.cron && html`<${Pause} suite=${suite} reload=${reload} />`}`;
}

function Scripted({ script: { target, judge, profile, revision } }) {
  const against = { gateway: `the gateway ${target.gateway}`, app: `the app ${target.app}`, process: "your own process" };
  return html`<div><dt>Played against</dt><dd class="words">${against[target.type]}</dd></div>
    <div><dt>Judged by</dt><dd>${judge === "app" ? "the app itself" : `the service, profile ${profile}`}</dd></div>
    <div><dt>Revision of the script</dt><dd><code title=${revision}>${revision.slice(0, 12)}</code></dd></div>`;
}

function Pause({ suite, reload }) {
  const [isBusy, turn] = useAct(async () => {
    await patch(`/suites/${suite.id}`, { enabled: !suite.enabled });
    tell(suite.enabled ? "The schedule is paused." : "The schedule goes on.");
    reload();
  });
  return html`<p class="below-table"><${Button} isBusy=${isBusy} disabled=${!may(SCOPE)} onClick=${turn}>
    ${suite.enabled ? "Pause the schedule" : "Go on with the schedule"}<//></p>`;
}

function Last({ suite }) {
  const found = useLoad((signal) => get("/evaluations", { suite: suite.id, limit: LAST }, { signal }), [suite.id]);
  useEvery(LOOK_EVERY_S, found.reload);
  return html`<${Loaded} from=${found} lines=${3}>${({ data }) =>
    data.length
      ? html`<${Table} caption="Last evaluations" columns=${EVALUATIONS} rows=${data} />
          <p class="small below-table"><a href=${`/evaluations?suite=${suite.id}`}>All evaluations</a>,
            ${" "}<a href=${`/evaluations/gates?suite=${suite.id}`}>gates</a></p>`
      : html`<${Empty} title="Not run yet"><p>Run it now, or give it a schedule.</p><//>`}<//>`;
}

function Delete({ suite }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, remove] = useAct(async () => {
    await del(`/suites/${suite.id}`);
    tell(`${suite.name} was deleted.`);
    navigate("/evaluations/suites");
  });
  return html`<${Button} kind="danger" disabled=${!may(SCOPE)} onClick=${() => setAsking(true)}>Delete<//>
    ${isAsking && html`<${Confirm} title=${`Delete ${suite.name}?`} label="Delete the suite" kind="danger" isBusy=${isBusy} onConfirm=${remove} onClose=${() => setAsking(false)}>
      <p>Its schedule ends. Its tests and its evaluations stay.</p>
    <//>`}`;
}
