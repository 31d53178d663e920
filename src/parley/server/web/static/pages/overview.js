// What broke, what recovered, what runs now, what is due next; and what it costs.
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { may } from "../session.js";
import { RunBadge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Money } from "../components/money.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { Spend } from "../overview/spend.js";

export const title = "Overview";

const LOOK_EVERY_S = 15;
const SPANS = [1, 7, 30];

const runAddress = ({ test, run }) => `/tests/${test.id}/runs/${run.id}`;

const SINCE = { broke: "since this run", failing: "for longer" };

const FAILING = [
  { name: "Test", isMain: true, cell: (line) => html`<a href=${`/tests/${line.test.id}`}>${line.test.name}</a>` },
  { name: "Last run", cell: (line) => html`<a href=${runAddress(line)}><${RunBadge} run=${line.run} /></a>` },
  { name: "Not passing", cell: (line) => SINCE[line.change] },
  { name: "Ended", width: "6.5rem", cell: (line) => html`<${Time} at=${line.run.finished_at} isRelative />` },
  { name: "Why", cell: (line) => html`<span class="muted">${line.run.error?.message ?? scored(line.run)}</span>` },
];
const RECOVERED = FAILING.filter((column) => ["Test", "Last run", "Ended"].includes(column.name));

const scored = (run) => (run.score === null ? "no score" : `score ${run.score.toFixed(2)}`);

export default function Page({ query }) {
  const days = Number(query.get("days")) || 7;
  const found = useLoad((signal) => get("/overview", { days }, { signal }), [days]);
  useEvery(LOOK_EVERY_S, found.reload);
  return html`<div class="page-head">
      <div><h1>Overview</h1><p>How your tests have stood over the last ${days === 1 ? "day" : `${days} days`}.</p></div>
      <div class="actions"><${Spans} days=${days} /></div>
    </div>
    <div class="overview">
      <div>
        <${Loaded} from=${found} lines=${12}>${({ data }) => html`<${Tests} overview=${data} />`}<//>
      </div>
      <aside aria-label="Account">
        <${Standing} />
        ${may("account:read") && html`<${Spend} days=${30} />`}
        <${Loaded} from=${found} lines=${4}>${({ data }) => html`<${Upcoming} lines=${data.upcoming} />`}<//>
      </aside>
    </div>`;
}

function Spans({ days }) {
  return html`<nav class="choice" aria-label="How far back">
    ${SPANS.map((one) => html`<a href=${one === 7 ? "/" : `/?days=${one}`} aria-current=${one === days ? "true" : null}>
      ${one === 1 ? "1 day" : `${one} days`}</a>`)}
  </nav>`;
}

function Tests({ overview }) {
  const { counts, not_passing: failing, recovered, open_runs: open } = overview;
  const isQuiet = Object.values(counts).every((count) => count === 0) && open.length === 0;
  if (isQuiet) return html`<${Quiet} />`;
  return html`<dl class="figures">
      <${Figure} name="Broke" value=${counts.broke} look=${counts.broke ? "bad" : null} />
      <${Figure} name="Still failing" value=${counts.failing} look=${counts.failing ? "bad" : null} />
      <${Figure} name="Recovered" value=${counts.recovered} />
      <${Figure} name="Passing" value=${counts.passing + counts.recovered} look="good" />
    </dl>
    ${open.length > 0 && html`<section class="panel"><h2>Under way</h2><${Open} lines=${open} /></section>`}
    <section>
      <h2>Not passing</h2>
      ${failing.length
        ? html`<${Table} caption="Tests that do not pass" columns=${FAILING} rows=${failing} keyOf=${(line) => line.test.id} />`
        : html`<p class="note">Every test that has run passes.</p>`}
    </section>
    ${recovered.length > 0 &&
    html`<section>
      <h2>Recovered</h2>
      <${Table} caption="Tests that recovered" columns=${RECOVERED} rows=${recovered} keyOf=${(line) => line.test.id} />
    </section>`}`;
}

function Figure({ name, value, look }) {
  return html`<div class=${`figure ${look ?? ""}`}><dt>${name}</dt><dd>${value}</dd></div>`;
}

function Quiet() {
  return html`<${Empty} title="No run in this time" action=${html`<${Button} kind="primary" href="/tests">To the tests<//>`}>
    <p>Run a test by hand, or give it a schedule: then this page tells what broke and what recovered.</p>
  <//>`;
}

function Open({ lines }) {
  return html`<ul class="lines">
    ${lines.map((line) => html`<li key=${line.run.id}>
      <a href=${runAddress(line)}>${line.test.name}</a>
      <span><${RunBadge} run=${line.run} /> <${Time} at=${line.run.started_at ?? line.run.created_at} isRelative /></span>
    </li>`)}
  </ul>`;
}

function Upcoming({ lines }) {
  return html`<section class="panel">
    <h2>Next up</h2>
    ${lines.length
      ? html`<ul class="lines">
          ${lines.slice(0, 8).map((line) => html`<li key=${line.test.id}>
            <a href=${`/tests/${line.test.id}`}>${line.test.name}</a> <${Time} at=${line.next_run_at} isRelative />
          </li>`)}
        </ul>`
      : html`<p class="muted">No test has a schedule.</p>`}
  </section>`;
}

function Standing() {
  const limits = useLoad((signal) => get("/limits", {}, { signal }), []);
  const balance = useLoad((signal) => get("/information/balance", {}, { signal }), []);
  useEvery(LOOK_EVERY_S, () => {
    limits.reload();
    balance.reload();
  });
  return html`<section class="panel">
    <div class="section-head"><h2>Where you stand</h2><a href="/account/limits">Limits</a></div>
    <${Loaded} from=${limits} lines=${4}>${({ data }) => html`<dl class="pairs">
      <div><dt>Balance</dt><dd><${Balance} from=${balance} /></dd></div>
      <div><dt>Starts this minute</dt><dd>${ofLimit(data.runs_per_minute)}</dd></div>
      <div><dt>Runs at once</dt><dd>${ofLimit({ used: data.concurrent_runs.in_use, limit: data.concurrent_runs.limit })}</dd></div>
      <div><dt>Waiting</dt><dd>${data.concurrent_runs.waiting}</dd></div>
    </dl>`}<//>
  </section>`;
}

function Balance({ from }) {
  if (from.error && !from.data) return html`<span class="muted">not shown to this key</span>`;
  if (!from.data) return html`<span class="muted">…</span>`;
  const { balance, metered } = from.data.data;
  return metered ? html`<${Money} usd=${balance} />` : "not metered";
}

const ofLimit = ({ used, limit }) => (limit === null ? `${used}, no limit` : `${used} of ${limit}`);
