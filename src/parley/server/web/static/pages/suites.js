// The account's suites: what they hold, and when they run.
import { html } from "../html.js";
import { useEvery } from "../load.js";
import { useList } from "../account/list.js";
import { Button } from "../components/button.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { EvaluationsPage } from "../evaluations/frame.js";
import { RunSuite } from "../suites/run_suite.js";
import { NextRun } from "../suites/schedule.js";

export const title = "Suites";

const LOOK_EVERY_S = 15;
const COLUMNS = [
  { name: "Suite", isMain: true, cell: (one) => html`<${Name} suite=${one} />` },
  { name: "Cases", isNumber: true, cell: (one) => one.case_count },
  { name: "Splits", cell: (one) => one.splits.join(", ") || html`<span class="muted">none</span>` },
  { name: "Next run", cell: (one) => html`<${NextRun} suite=${one} />` },
  { name: "Evaluations", cell: (one) => html`<a href=${`/evaluations?suite=${one.id}`}>its evaluations</a>` },
  { name: "Start", isUnnamed: true, width: "7.5rem", isNumber: true, cell: (one) => html`<${RunSuite} suite=${one} />` },
];

function Name({ suite }) {
  return html`<a href=${`/evaluations/suites/${suite.id}`}>${suite.name}</a>
    ${suite.description && html`<div class="muted small plain clipped">${suite.description}</div>`}`;
}

export default function Page() {
  const list = useList("/suites");
  useEvery(LOOK_EVERY_S, list.found.reload);
  const actions = html`<${Button} kind="primary" href="/evaluations/suites/new">New suite<//>`;
  return html`<${EvaluationsPage} title="Suites" lead="Tests and scripted cases that are run and judged together, as one evaluation." actions=${actions}>
    <${Loaded} from=${list.found} lines=${6}>${({ data }) =>
      data.length
        ? html`<${Table} caption="Suites" columns=${COLUMNS} rows=${list.rowsOf(data)} /><${Pager} page=${list.page} more=${list.more} />`
        : html`<${Empty} title="No suite yet" action=${html`<${Button} kind="primary" href="/evaluations/suites/new">Make the first suite<//>`}>
            <p>A suite puts tests together. It runs them as often as you like, by hand, on a schedule or from a pipeline, and its
              evaluations can be compared with one another and held against a gate.</p><//>`}<//>
  <//>`;
}
