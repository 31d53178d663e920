// The account's evaluations: found by what was evaluated, state, branch, commit and split; each with its figures.
import { html } from "../html.js";
import { useEvery } from "../load.js";
import { withQuery } from "../router.js";
import { useList } from "../account/list.js";
import { Button } from "../components/button.js";
import { SelectField } from "../components/field.js";
import { Money } from "../components/money.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { Pinned, StateBadge } from "../evaluations/badges.js";
import { rating, share } from "../evaluations/figures.js";
import { FilterText } from "../evaluations/filter_text.js";
import { EvaluationsPage } from "../evaluations/frame.js";
import { chosenSubject, SubjectField } from "../evaluations/subjects.js";
import { Trend } from "../evaluations/trend.js";

export const title = "Evaluations";

const LOOK_EVERY_S = 10;
const STATES = [
  ["", "All states"],
  ["in_progress", "In progress"],
  ["scoring", "Scoring"],
  ["completed", "Completed"],
  ["failed", "Failed"],
  ["expired", "Expired"],
  ["cancelled", "Cancelled"],
];
const PINS = [
  ["", "All"],
  ["true", "Pinned baselines"],
];
const FILTERS = ["dataset", "suite", "state", "branch", "commit", "split", "run_source", "pinned"];

const COLUMNS = [
  { name: "Evaluation", isMain: true, cell: (one) => html`<${Name} evaluation=${one} />` },
  { name: "State", cell: (one) => html`<${StateBadge} state=${one.state} />${one.pinned && html` <${Pinned} />`}` },
  { name: "Mean", isNumber: true, cell: (one) => rating(one.statistics?.average_rating) },
  { name: "Passed", isNumber: true, cell: (one) => share(one.statistics?.pass_rate?.value) },
  { name: "Coverage", isNumber: true, cell: (one) => share(one.statistics?.coverage) },
  { name: "Cases", isNumber: true, cell: (one) => (one.repetitions > 1 ? `${one.case_count} × ${one.repetitions}` : one.case_count) },
  { name: "Cost", isNumber: true, cell: (one) => html`<${Money} usd=${one.cost} />` },
  { name: "Started", cell: (one) => html`<${Time} at=${one.created_at} isRelative />` },
];

function Name({ evaluation }) {
  const { id, name, branch, commit, split, regrade_of: regraded } = evaluation;
  const notes = [branch, commit?.slice(0, 12), split && `split ${split}`, regraded && "regraded"].filter(Boolean);
  return html`<a href=${`/evaluations/${id}`}>${name}</a>
    ${notes.length > 0 && html`<div class="muted small plain">${notes.join(" · ")}</div>`}`;
}

export default function Page({ query }) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const list = useList("/evaluations", filters);
  useEvery(LOOK_EVERY_S, list.found.reload);
  return html`<${EvaluationsPage} title="Evaluations" lead="Sets of cases, each executed and graded as a whole.">
    <form class="filters many" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${SubjectField} query=${query} />
      <${SelectField} label="State" value=${filters.state} options=${STATES} onChange=${(state) => withQuery({ state })} />
      <${SelectField} label="Pins" value=${filters.pinned} options=${PINS} onChange=${(pinned) => withQuery({ pinned })} />
      <${FilterText} label="Branch" name="branch" query=${query} />
      <${FilterText} label="Commit" name="commit" query=${query} />
      <${FilterText} label="Split" name="split" query=${query} />
    </form>
    <${Loaded} from=${list.found} lines=${8}>${({ data }) => {
      if (!data.length) return html`<${Nothing} isFiltered=${Object.values(filters).some(Boolean)} />`;
      const rows = list.rowsOf(data);
      return html`<${Means} rows=${rows} isOne=${Object.keys(chosenSubject(query)).length > 0} />
        <${Table} caption="Evaluations" columns=${COLUMNS} rows=${rows} />
        <${Pager} page=${list.page} more=${list.more} />`;
    }}<//>
  <//>`;
}

/** The means of one dataset or suite; those of several have nothing to do with one another. */
function Means({ rows, isOne }) {
  const rated = rows.filter((one) => isOne && typeof one.statistics?.average_rating === "number").reverse();
  const points = rated.map((one) => {
    const value = one.statistics.average_rating;
    const of = [one.commit?.slice(0, 12), one.branch].filter(Boolean).join(", ");
    return { key: one.id, value, href: `/evaluations/${one.id}`, says: `Mean ${value}${of && ` at ${of}`}` };
  });
  return html`<${Trend} points=${points} caption=${`Mean ratings of ${points.length} completed evaluations, oldest first`} />`;
}

function Nothing({ isFiltered }) {
  if (isFiltered) {
    return html`<${Empty} title="No evaluation fits" action=${html`<${Button} href="/evaluations">Show all<//>`}>
      <p>Branch, commit and split have to be written in full.</p><//>`;
  }
  return html`<${Empty} title="No evaluation yet">
    <p>An evaluation runs a set of cases and rates each: the questions of a dataset, which your pipeline answers and sends,
      or the tests of a suite, which are run here.</p>
    <p>Begin with <code>POST /api/v1/custom-agent-evaluations/datasets</code>; <a href="/docs">the reference</a> shows the calls.</p>
  <//>`;
}
