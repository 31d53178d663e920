// The account's tests: found by name and gateway, each with its last scores and its next run.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad, useSettled } from "../load.js";
import { withQuery } from "../router.js";
import { Button } from "../components/button.js";
import { RunBadge } from "../components/badge.js";
import { SelectField, TextField } from "../components/field.js";
import { Pager } from "../components/pager.js";
import { Sparkline } from "../components/sparkline.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { ImportTests } from "../tests/import.js";
import { RunNow } from "../tests/run_now.js";

export const title = "Tests";

const SCORES = 20;
const PAGE = 50;

const COLUMNS = [
  { name: "Test", isMain: true, cell: (test) => html`<${Name} test=${test} />` },
  { name: "Gateway", cell: (test) => html`<span class="small">${test.gateway}</span>` },
  { name: `Last ${SCORES} scores`, width: "9rem", cell: (test) => html`<${Sparkline} scores=${test.scores} />` },
  { name: "Last run", cell: (test) => html`<${LastRun} test=${test} />` },
  { name: "Next run", cell: (test) => html`<${NextRun} test=${test} />` },
  { name: "Start", isUnnamed: true, width: "7.5rem", isNumber: true, cell: (test) => html`<${RunNow} test=${test} />` },
];

function Name({ test }) {
  return html`<a href=${`/tests/${test.id}`}>${test.name}</a>
    ${test.schedule && html`<div class="muted small plain">${test.schedule}</div>`}`;
}

function LastRun({ test }) {
  const run = test.latest_run;
  if (!run) return html`<span class="muted">never</span>`;
  return html`<a class="bare" href=${`/tests/${test.id}/runs/${run.id}`}><${RunBadge} run=${run} /></a>
    <div class="muted small"><${Time} at=${run.created_at} isRelative /></div>`;
}

function NextRun({ test }) {
  if (test.cron && !test.enabled) return html`<span class="muted">paused</span>`;
  if (!test.next_run_at) return html`<span class="muted">by hand</span>`;
  return html`<${Time} at=${test.next_run_at} isRelative />
    ${test.last_skip && html`<div class="muted small" title=${test.last_skip.reason}>last one skipped</div>`}`;
}

export default function Page({ query }) {
  const search = query.get("search") ?? "";
  const gateway = query.get("gateway") ?? "";
  const read = (signal, cursor) =>
    get("/agentic-tests", { search, gateway, scores: SCORES, limit: PAGE, cursor }, { signal });
  const found = useLoad((signal) => read(signal), [search, gateway]);
  const [older, setOlder] = useState(null);
  useEffect(() => setOlder(null), [search, gateway]);
  useEvery(15, found.reload);

  const more = async (cursor) => {
    const next = await read(undefined, cursor);
    setOlder((before) => ({ rows: [...(before?.rows ?? []), ...next.data], page: next.page }));
  };
  return html`
    <div class="page-head">
      <div><h1>Tests</h1><p>What a simulated user wants from your agents, and how that is judged.</p></div>
      <div class="actions"><${ImportTests} onDone=${found.reload} /><${Button} kind="primary" href="/tests/new">New test<//></div>
    </div>
    <${Filters} search=${search} gateway=${gateway} />
    <${Loaded} from=${found} lines=${8}>
      ${({ data, page }) => {
        if (!data.length) return html`<${Nothing} isFiltered=${Boolean(search || gateway)} />`;
        const rows = [...data, ...(older?.rows ?? []).filter((row) => !data.some((one) => one.id === row.id))];
        const ids = rows.slice(0, 100).map((row) => ["id", row.id]);
        return html`<${Table} caption="Tests" columns=${COLUMNS} rows=${rows} />
          <${Pager} page=${older?.page ?? page} more=${more} />
          <p class="muted small below-table">${rows.length} shown.${" "}
            <a href=${`/api/v1/agentic-tests/file?${new URLSearchParams(ids)}`} download="tests.yaml">Export as YAML</a></p>`;
      }}
    <//>`;
}

function Filters({ search, gateway }) {
  const [text, setText] = useState(search);
  const settled = useSettled(text, 250);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && settled !== search) withQuery({ search: settled });
    isFirst.current = false;
  }, [settled]);
  useEffect(() => setText(search), [search]);
  const gateways = useLoad((signal) => get("/ai-gateways", { limit: 100 }, { signal }), []);
  const names = (gateways.data?.data ?? []).map((one) => [one.slug, one.slug]);
  if (gateway && !names.some(([slug]) => slug === gateway)) names.push([gateway, gateway]);
  return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
    <${TextField} label="Search names" type="search" value=${text} onChange=${setText} />
    <${SelectField} label="Gateway" value=${gateway} onChange=${(value) => withQuery({ gateway: value })}
      options=${[["", "All gateways"], ...names]} />
  </form>`;
}

function Nothing({ isFiltered }) {
  if (isFiltered) {
    return html`<${Empty} title="No test fits" action=${html`<${Button} href="/tests">Show all tests<//>`}>
      <p>No test has this in its name and goes to this gateway.</p>
    <//>`;
  }
  return html`<${Empty} title="No test yet" action=${html`<${Button} kind="primary" href="/tests/new">Write the first test<//>`}>
    <p>A test says what a simulated user wants from your agent and how you know that they got it. Parley plays the user,
      judges each turn, and tells success, loss or incomplete.</p>
    <p>You need a gateway first: the agent under test, as an OpenAI-compatible address. Make one with
      <code>POST /api/v1/ai-gateways</code> or under <a href="/account/gateways">Gateways</a>.</p>
  <//>`;
}
