// An evaluation beside its baseline: what moved, by how much, and how sure that is; or why it cannot be said.
import { useState } from "preact/hooks";
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { withQuery } from "../router.js";
import { useTitle } from "../title.js";
import { Button } from "../components/button.js";
import { SelectField } from "../components/field.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { ClassBadge } from "../evaluations/badges.js";
import { chance, difference, Figure, rating, share } from "../evaluations/figures.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";
import { Interval } from "../evaluations/interval.js";

const CLASSES = ["regressed", "improved", "unchanged", "changed", "inconclusive", "new", "missing"];
const AT_FIRST = 100;
const WHAT = { subject: "What was evaluated", grader: "The grader", split: "The split", cases: "The cases" };

export default function Page({ params, query }) {
  const found = useLoad((signal) => get(`/evaluations/${params.id}`, {}, { signal }), [params.id]);
  useTitle(found.data && `Compare ${found.data.data.name}`);
  return html`<${LoadedPage} title="Compare" from=${found} lines=${12}>${({ data }) => html`<${Compare} evaluation=${data} query=${query} />`}<//>`;
}

function Compare({ evaluation, query }) {
  const baseline = query.get("baseline") ?? evaluation.baseline_id;
  const crumbs = html`<a href=${`/evaluations/${evaluation.id}`}>${evaluation.name}</a>`;
  return html`<${EvaluationsPage} title="Compare" crumbs=${crumbs} lead=${labelOf(evaluation)}>
    <${Baselines} evaluation=${evaluation} baseline=${baseline} />
    ${baseline
      ? html`<${Comparison} key=${baseline} evaluation=${evaluation} baseline=${baseline} kind=${query.get("class") ?? ""} />`
      : html`<${Empty} title="Nothing to compare with"><p>No baseline was there when this evaluation completed. Choose another evaluation above.</p><//>`}
  <//>`;
}

/** How an evaluation is told from others of its kind. */
function labelOf({ created_at: at, branch, commit, statistics, pinned }) {
  const mean = statistics?.average_rating;
  const parts = [new Date(at).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }), branch, commit?.slice(0, 12)];
  return [...parts, typeof mean === "number" && `mean ${mean}`, pinned && "pinned"].filter(Boolean).join(", ");
}

function Baselines({ evaluation, baseline }) {
  const subject = evaluation.dataset_id ? { dataset: evaluation.dataset_id } : { suite: evaluation.suite_id };
  const read = (signal) => get("/evaluations", { ...subject, state: "completed", limit: 50 }, { signal });
  const found = useLoad(read, [evaluation.id]);
  const others = (found.data?.data ?? []).filter((one) => one.id !== evaluation.id).map((one) => [one.id, labelOf(one)]);
  if (baseline && !others.some(([id]) => id === baseline)) others.push([baseline, baseline]);
  const options = baseline ? others : [["", "Choose one"], ...others];
  return html`<form class="filters single" onSubmit=${(event) => event.preventDefault()}>
    <${SelectField} label="Baseline" value=${baseline ?? ""} options=${options} onChange=${(id) => withQuery({ baseline: id })} />
  </form>`;
}

function Comparison({ evaluation, baseline, kind }) {
  const path = `/evaluations/${evaluation.id}/compare`;
  const found = useLoad((signal) => get(path, { baseline }, { signal }), [path, baseline]);
  return html`<${Loaded} from=${found} lines=${10}>${({ data }) => html`
    ${data.comparable ? html`<${Moved} comparison=${data} />` : html`<${Refused} comparison=${data} />`}
    <${Cases} comparison=${data} kind=${kind} />`}<//>`;
}

function Refused({ comparison }) {
  return html`<div class="note warn refused" role="status">
    <h2>These cannot be compared</h2>
    <ul>${comparison.differences.map((one) => html`<li key=${one.what}><strong>${WHAT[one.what]}:</strong> ${one.detail}</li>`)}</ul>
    <p>The cases stand side by side below all the same; what moved them cannot be told.</p>
  </div>`;
}

function Moved({ comparison }) {
  const { delta, interval, p_value: p, changed_count: changed, paired_count: paired, verdicts, differences, words } = comparison;
  return html`<p class="note">${words}</p>
    ${differences.map((one) => html`<p key=${one.what} class="note warn">${one.detail}</p>`)}
    <div class="moved">
      <dl class="figures">
        <${Figure} name="Mean moved" look=${interval && interval.high < 0 ? "bad" : interval && interval.low > 0 ? "good" : null}
          note=${interval && html`${interval.level * 100}%: ${difference(interval.low)} to ${difference(interval.high)}`}>${difference(delta)}<//>
        <${Figure} name="p-value" note=${`Wilcoxon, ${changed} of ${paired} pairs moved`}>${chance(p)}<//>
        <${Figure} name="Verdicts" note=${`McNemar, p ${chance(verdicts.p_value)}`}>${verdicts.fell} fell, ${verdicts.rose} rose<//>
      </dl>
      ${interval && html`<${Interval} delta=${delta} interval=${interval} />`}
    </div>`;
}

const columns = (comparison) => [
  { name: "Case", isMain: true, cell: (one) => html`<${CaseName} one=${one} comparison=${comparison} />` },
  { name: "Class", cell: (one) => html`<${ClassBadge} of=${one.class} />` },
  { name: "Was", isNumber: true, cell: (one) => html`<${Side} value=${one.rating_was} passed=${one.passed_was} />` },
  { name: "Is", isNumber: true, cell: (one) => html`<${Side} value=${one.rating_is} passed=${one.passed_is} />` },
  { name: "Moved", isNumber: true, cell: (one) => difference(one.delta) },
  { name: "Detail", cell: (one) => one.detail ?? html`<span class="muted">–</span>` },
];

function Side({ value, passed }) {
  return html`${rating(value)}${passed !== null && html`<div class="muted small">${passed === 1 ? "passed" : passed === 0 ? "not passed" : `${share(passed)} passed`}</div>`}`;
}

function CaseName({ one, comparison }) {
  const side = one.class === "missing" ? comparison.baseline_id : comparison.evaluation_id;
  return html`<a href=${`/evaluations/${side}?case=${encodeURIComponent(one.case_id)}`}>${one.name}</a>`;
}

function Cases({ comparison, kind }) {
  const [isWhole, setWhole] = useState(false);
  const fitting = comparison.cases.filter((one) => !kind || one.class === kind);
  const rows = isWhole ? fitting : fitting.slice(0, AT_FIRST);
  return html`<section>
    <h2>Cases</h2>
    <nav class="choice many" aria-label="Classes">
      <${Choice} name="all" count=${comparison.cases.length} kind="" chosen=${kind} />
      ${CLASSES.filter((name) => comparison.counts[name] > 0).map((name) => html`<${Choice} key=${name} name=${name}
        count=${comparison.counts[name]} kind=${name} chosen=${kind} />`)}
    </nav>
    ${rows.length
      ? html`<${Table} caption="Cases on both sides" columns=${columns(comparison)} rows=${rows} keyOf=${(one) => one.case_id} />`
      : html`<${Empty} title="No such case"><p>No case is of this class.</p><//>`}
    ${rows.length < fitting.length && html`<div class="pager"><${Button} onClick=${() => setWhole(true)}>Show all ${fitting.length}<//></div>`}
  </section>`;
}

function Choice({ name, count, kind, chosen }) {
  const query = new URLSearchParams(location.search);
  query.delete("class");
  if (kind) query.set("class", kind);
  const text = query.toString();
  return html`<a href=${location.pathname + (text && `?${text}`)} aria-current=${kind === chosen ? "true" : null}>${name} ${count}</a>`;
}
