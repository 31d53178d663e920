// One evaluation: its figures, its cases with their results, and what can be done with it.
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { withQuery } from "../router.js";
import { useTitle } from "../title.js";
import { Button } from "../components/button.js";
import { SelectField } from "../components/field.js";
import { Money } from "../components/money.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { duration } from "../components/time.js";
import { Attempts } from "../attempts/list.js";
import { Acts } from "../evaluations/act_menu.js";
import { isOpen, Pinned, ResultBadge, StateBadge } from "../evaluations/badges.js";
import { rating } from "../evaluations/figures.js";
import { FilterText } from "../evaluations/filter_text.js";
import { Flips } from "../evaluations/flips.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";
import { useRows } from "../evaluations/rows.js";
import { Figures, Origin, Repeated } from "../evaluations/summary.js";

const LOOK_EVERY_S = 5;
const STATUSES = [
  ["", "All results"],
  ["rated", "Rated"],
  ["failed", "Agent failed"],
  ["skipped", "Skipped"],
  ["scoring", "Scoring"],
  ["pending", "Waiting"],
];

export default function Page({ params, query }) {
  const found = useLoad((signal) => get(`/evaluations/${params.id}`, {}, { signal }), [params.id]);
  useTitle(found.data?.data.name);
  return html`<${LoadedPage} title="Evaluation" from=${found} lines=${14}>${({ data }) =>
    html`<${Evaluation} evaluation=${data} reload=${found.reload} query=${query} />`}<//>`;
}

function Evaluation({ evaluation, reload, query }) {
  useEvery(LOOK_EVERY_S, () => isOpen(evaluation) && reload());
  const subject = evaluation.dataset_id ? `dataset=${evaluation.dataset_id}` : `suite=${evaluation.suite_id}`;
  const isDone = evaluation.state === "completed";
  const actions = html`
    <${Button} href=${isDone ? `/evaluations/${evaluation.id}/compare` : null} disabled=${!isDone}>Compare<//>
    <${Button} href=${isDone ? `/evaluations/${evaluation.id}/gate` : null} disabled=${!isDone}>Ask the gate<//>
    <${Acts} evaluation=${evaluation} reload=${reload} />`;
  const lead = html`<${StateBadge} state=${evaluation.state} />${evaluation.pinned && html` <${Pinned} />`}`;
  const crumbs = html`<a href=${`/evaluations?${subject}`}>All of ${evaluation.name}</a>`;
  return html`<${EvaluationsPage} title=${evaluation.name} crumbs=${crumbs} lead=${lead} actions=${actions}>
    ${evaluation.error && html`<p class="note bad">${evaluation.error.message}</p>`}
    <${Figures} statistics=${evaluation.statistics} />
    <p class="muted sensitivity">${evaluation.statistics.smallest_difference.words}</p>
    <${Flips} evaluation=${evaluation} />
    ${evaluation.kind === "suite" && html`<${Attempts} evaluation=${evaluation} query=${query} />`}
    <${Cases} evaluation=${evaluation} query=${query} />
    <${Repeated} evaluation=${evaluation} />
    <${Origin} evaluation=${evaluation} />
  <//>`;
}

const columns = (evaluation) => [
  { name: "Case", isMain: true, cell: (one) => html`<${CaseName} result=${one} isRepeated=${evaluation.repetitions > 1} />` },
  { name: "Result", cell: (one) => html`<${ResultBadge} result=${one} />` },
  { name: "Rating", isNumber: true, cell: (one) => rating(one.rating) },
  { name: "Why", cell: (one) => html`<${Why} result=${one} />` },
  { name: "Checks", cell: (one) => html`<${Checks} checks=${one.checks} />` },
  { name: "Took", isNumber: true, cell: (one) => (one.duration_ms === null ? "–" : duration(one.duration_ms / 1000)) },
  { name: "Cost", isNumber: true, cell: (one) => html`<${Money} usd=${one.cost} />` },
];

function CaseName({ result, isRepeated }) {
  return html`<a href=${`/evaluations/${result.evaluation_id}/cases/${result.id}`}>${result.name}</a>
    <div class="muted small plain">${result.case_id}${isRepeated && `, repetition ${result.repetition}`}</div>`;
}

function Why({ result }) {
  const words = result.error?.message ?? result.justification;
  return words ? html`<span class="clipped" title=${words}>${words}</span>` : html`<span class="muted">–</span>`;
}

function Checks({ checks }) {
  if (!checks.length) return html`<span class="muted">–</span>`;
  const failed = checks.filter((one) => one.passed === false);
  const names = failed.map((one) => one.id ?? one.type).join(", ");
  return failed.length ? html`<span class="bad-sign">✕ ${names}</span>` : html`<span>${checks.filter((one) => one.passed).length} of ${checks.length}</span>`;
}

function Cases({ evaluation, query }) {
  const filters = { status: query.get("status") ?? "", case: query.get("case") ?? "" };
  const list = useRows(`/evaluations/${evaluation.id}/results`, filters);
  useEvery(LOOK_EVERY_S, () => isOpen(evaluation) && list.found.reload());
  return html`<section>
    <h2 class="log-head">Cases</h2>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label="Results" value=${filters.status} options=${STATUSES} onChange=${(status) => withQuery({ status })} />
      <${FilterText} label="Case id" name="case" query=${query} />
    </form>
    <${Loaded} from=${list.found} lines=${6}>${({ data }) =>
      data.length
        ? html`<${Table} caption="Case results" columns=${columns(evaluation)} rows=${list.rowsOf(data)} />
            <${Pager} page=${list.page} more=${list.more} label="Show more" />`
        : html`<${NoResults} isFiltered=${Boolean(filters.status || filters.case)} />`}<//>
  </section>`;
}

function NoResults({ isFiltered }) {
  return isFiltered
    ? html`<${Empty} title="No such result"><p>No result of this evaluation fits. A case id has to be written in full.</p><//>`
    : html`<${Empty} title="No result yet"><p>Results stand here as soon as they come in.</p><//>`;
}
