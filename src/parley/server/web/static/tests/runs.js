// The runs of a test: a chart of their scores, and a table from which two can be compared.
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { withQuery } from "../router.js";
import { RunBadge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Chart, colour } from "../components/chart.js";
import { SelectField } from "../components/field.js";
import { Money } from "../components/money.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Duration, Time } from "../components/time.js";

const PAGE = 25;
const STATES = [
  ["", "All states"],
  ["succeeded", "Executed"],
  ["failed", "Failed"],
  ["cancelled", "Cancelled"],
  ["running", "Running"],
  ["pending", "Waiting"],
];

const read = (testId, state, signal, cursor) =>
  get(`/agentic-tests/${testId}/runs`, { state, limit: PAGE, cursor }, { signal });

/** The newest runs of a test, for `Runs`; read by the page, so that they do not wait for the test. */
export const useRuns = (testId, state) => useLoad((signal) => read(testId, state, signal), [testId, state]);

/** `found` is what `useRuns` gives. */
export function Runs({ test, state, found }) {
  const [older, setOlder] = useState(null);
  const [chosen, setChosen] = useState([]);
  useEffect(() => setOlder(null), [state]);
  useEvery(5, found.reload);
  const more = async (cursor) => {
    const next = await read(test.id, state, undefined, cursor);
    setOlder((before) => ({ rows: [...(before?.rows ?? []), ...next.data], page: next.page }));
  };
  const [left, right] = [...chosen].sort();
  return html`<section class="panel">
    <div class="section-head">
      <h2>Runs</h2>
      <${Button} href=${right ? `/tests/${test.id}/compare?left=${left}&right=${right}` : null} disabled=${!right}
        title=${right ? null : "Choose two runs below"}>Compare two<//>
    </div>
    <div class="run-filter"><${SelectField} label="State" value=${state} options=${STATES}
      onChange=${(value) => withQuery({ state: value })} /></div>
    <${Loaded} from=${found} lines=${test.latest_run ? 12 : 5}>
      ${({ data, page }) => {
        if (!data.length) return html`<${NoRuns} state=${state} />`;
        const rows = [...data, ...(older?.rows ?? []).filter((row) => !data.some((one) => one.id === row.id))];
        return html`<${Scores} runs=${rows} test=${test} />
          <${Table} caption="Runs" columns=${columns(test, chosen, setChosen)} rows=${rows} />
          <${Pager} page=${older?.page ?? page} more=${more} />`;
      }}
    <//>
  </section>`;
}

function NoRuns({ state }) {
  return state
    ? html`<${Empty} title="No such run"><p>No run of this test is in this state.</p><//>`
    : html`<${Empty} title="No run yet"><p>Start one with Run now: you can watch the conversation as it happens.</p><//>`;
}

function columns(test, chosen, setChosen) {
  const choose = (id) =>
    setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-2));
  return [
    {
      name: "Compare",
      cell: (run) => html`<input type="checkbox" checked=${chosen.includes(run.id)} onChange=${() => choose(run.id)}
        aria-label="Choose this run to compare" />`,
    },
    {
      name: "Started",
      isMain: true,
      cell: (run) => html`<a href=${`/tests/${test.id}/runs/${run.id}`}><${Time} at=${run.created_at} isRelative /></a>`,
    },
    { name: "Outcome", cell: (run) => html`<${RunBadge} run=${run} />` },
    { name: "Score", isNumber: true, cell: (run) => run.score?.toFixed(3) ?? html`<span class="muted">–</span>` },
    { name: "Took", isNumber: true, cell: (run) => html`<${Duration} from=${run.started_at} to=${run.finished_at} />` },
    { name: "Cost", isNumber: true, cell: (run) => html`<${Money} usd=${run.cost} />` },
    { name: "By", cell: (run) => html`<span class="muted">${run.trigger}</span>` },
  ];
}

function Scores({ runs, test }) {
  const scored = runs.filter((run) => run.score !== null && run.finished_at).reverse();
  const key = JSON.stringify(scored.map((run) => [run.id, run.score]));
  const data = useMemo(() => {
    const flat = (value) => scored.map(() => value);
    return [
      scored.map((_, place) => place + 1),
      scored.map((run) => run.score),
      flat(test.base_threshold),
      flat(test.loss_threshold),
    ];
  }, [key, test.base_threshold, test.loss_threshold]);
  if (scored.length < 2) return null;
  const options = () => ({
    legend: { show: false },
    padding: [8, 10, 4, 0],
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: [0, 1] } },
    axes: [
      { show: false },
      { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, size: 36, splits: [0, 0.5, 1] },
    ],
    series: [
      {},
      { stroke: colour("accent"), width: 2, points: { show: true, size: 5 } },
      { stroke: colour("good"), dash: [4, 4], points: { show: false } },
      { stroke: colour("bad"), dash: [4, 4], points: { show: false } },
    ],
  });
  const label = `Scores of the last ${scored.length} runs, oldest first; dashed lines at ${test.base_threshold} for success and ${test.loss_threshold} for loss`;
  return html`<figure class="scores"><${Chart} data=${data} options=${options} height=${140} label=${label} />
    <figcaption class="muted small">Scores of the last ${scored.length} runs shown, oldest first. Dashed: success from
      ${" "}${test.base_threshold}, loss at ${test.loss_threshold} or less.</figcaption></figure>`;
}
