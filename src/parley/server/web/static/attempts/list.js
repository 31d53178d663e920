// The attempts of an evaluation.
import { html } from "../html.js";
import { useEvery } from "../load.js";
import { withQuery } from "../router.js";
import { SelectField } from "../components/field.js";
import { Money } from "../components/money.js";
import { Pager } from "../components/pager.js";
import { Table } from "../components/table.js";
import { isOpen } from "../evaluations/badges.js";
import { useRows } from "../evaluations/rows.js";
import { AttemptBadge } from "./badges.js";
import { took } from "./took.js";

const LOOK_EVERY_S = 5;

const STATUSES = [
  ["", "All attempts"],
  ["error", "Error"],
  ["cancelled", "Cancelled"],
  ["failed", "Failed"],
  ["inconclusive", "Inconclusive"],
  ["ungraded", "Ungraded"],
  ["passed", "Passed"],
];

export const addressOf = (attempt) => `/evaluations/${attempt.evaluation_id}/attempts/${attempt.id}`;

const COLUMNS = [
  { name: "Case", isMain: true, cell: (one) => html`<a href=${addressOf(one)}>${one.name}</a><div class="muted small plain">${one.case_id}, repetition ${one.repetition}</div>` },
  { name: "Status", cell: (one) => html`<${AttemptBadge} attempt=${one} />` },
  { name: "Why", cell: (one) => (one.reason ? html`<span class="clipped" title=${one.reason}>${one.reason}</span>` : html`<span class="muted">–</span>`) },
  { name: "Took", isNumber: true, cell: (one) => took(one.duration_ms) },
  { name: "Workflow", isNumber: true, cell: (one) => html`<${Cost} usd=${one.workflow_cost} isDone=${one.status} />` },
  { name: "Judge", isNumber: true, cell: (one) => html`<${Cost} usd=${one.judge_cost} isDone=${one.status} />` },
];

/** Nothing without attempts: evaluations of other kinds have none. */
export function Attempts({ evaluation, query }) {
  const status = query.get("attempts") ?? "";
  const list = useRows(`/evaluations/${evaluation.id}/attempts`, { case: query.get("case") ?? "", status });
  useEvery(LOOK_EVERY_S, () => isOpen(evaluation) && list.found.reload());
  const data = list.found.data?.data ?? [];
  if (!data.length && !status) return null;
  return html`<section>
    <h2 class="log-head">Attempts</h2>
    <form class="filters" role="search" aria-label="Attempts" onSubmit=${(event) => event.preventDefault()}>
      <${SelectField} label="Attempts" value=${status} options=${STATUSES} onChange=${(attempts) => withQuery({ attempts })} />
    </form>
    ${data.length
      ? html`<${Table} caption="Attempts" columns=${COLUMNS} rows=${list.rowsOf(data)} />`
      : html`<p class="muted">No attempt came out so.</p>`}
    <${Pager} page=${list.page} more=${list.more} label="Show more attempts" />
  </section>`;
}

/** Unknown is unknown, never free. */
export function Cost({ usd, isDone }) {
  if (usd !== null && usd !== undefined) return html`<${Money} usd=${usd} />`;
  return html`<span class="muted">${isDone ? "unknown" : "–"}</span>`;
}
