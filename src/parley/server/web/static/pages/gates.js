// Gates: whether the newest evaluation would pass now, how verdicts went over time, and the whole history.
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { withQuery } from "../router.js";
import { useList } from "../account/list.js";
import { Button } from "../components/button.js";
import { SelectField } from "../components/field.js";
import { Pager } from "../components/pager.js";
import { Empty, Failure, Loaded, Loading } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { VerdictBadge } from "../evaluations/badges.js";
import { rating } from "../evaluations/figures.js";
import { FilterText } from "../evaluations/filter_text.js";
import { EvaluationsPage } from "../evaluations/frame.js";
import { GateAnswer } from "../evaluations/gate_answer.js";
import { askedOf, GateForm } from "../evaluations/gate_form.js";
import { chosenSubject, SubjectField } from "../evaluations/subjects.js";
import { Trend } from "../evaluations/trend.js";

export const title = "Gates";

const LOOK_EVERY_S = 15;
const FILTERS = ["dataset", "suite", "verdict", "branch", "commit", "caller"];
const VERDICTS = [["", "All verdicts"], ["passed", "Passed"], ["failed", "Failed"], ["inconclusive", "Inconclusive"]];
const LOOKS = { passed: "good", failed: "bad", inconclusive: "warn" };

const COLUMNS = [
  { name: "Evaluation", isMain: true, cell: (one) => html`<${Name} gate=${one} />` },
  { name: "Verdict", cell: (one) => html`<${VerdictBadge} verdict=${one.verdict} />` },
  { name: "Mean", isNumber: true, cell: (one) => rating(one.answer.average_rating) },
  { name: "Checks", cell: (one) => html`<${Checks} checks=${one.answer.checks} />` },
  { name: "Asked by", cell: (one) => one.caller || html`<span class="muted">nobody named</span>` },
  { name: "When", cell: (one) => html`<${Time} at=${one.created_at} isRelative />` },
];

/** Leads to the gate with the same question, asked anew. */
function Name({ gate }) {
  const asked = new URLSearchParams(Object.entries(gate.parameters).filter(([name]) => name !== "record" && name !== "caller"));
  const notes = [gate.branch, gate.commit?.slice(0, 12)].filter(Boolean);
  return html`<a href=${`/evaluations/${gate.evaluation_id}/gate?${asked}`}>${gate.name}</a>
    ${notes.length > 0 && html`<div class="muted small plain">${notes.join(" · ")}</div>`}`;
}

function Checks({ checks }) {
  const open = checks.filter((one) => !one.passed);
  if (!open.length) return html`<span class="muted">all ${checks.length} pass</span>`;
  return html`<ul class="small">${open.map((one) => html`<li key=${one.check}><strong>${one.check}</strong>: ${one.detail}</li>`)}</ul>`;
}

export default function Page({ query }) {
  const subject = chosenSubject(query);
  const isChosen = Object.keys(subject).length > 0;
  return html`<${EvaluationsPage} title="Gates" lead="What pipelines asked, and what they were told.">
    <form class="filters many" role="search" onSubmit=${(event) => event.preventDefault()}>
      <${SubjectField} query=${query} />
      <${SelectField} label="Verdict" value=${query.get("verdict") ?? ""} options=${VERDICTS} onChange=${(verdict) => withQuery({ verdict })} />
      <${FilterText} label="Branch" name="branch" query=${query} />
      <${FilterText} label="Asked by" name="caller" query=${query} />
    </form>
    ${isChosen
      ? html`<${WouldPass} key=${JSON.stringify(subject)} subject=${subject} query=${query} />`
      : html`<p class="note">Choose a dataset or a suite to see whether its newest evaluation would pass now, and how it went over time.</p>`}
    <${History} query=${query} isChosen=${isChosen} />
  <//>`;
}

function WouldPass({ subject, query }) {
  const asked = askedOf(query);
  const found = useLoad((signal) => get("/gates/preview", { ...subject, ...asked }, { signal }), [subject, asked]);
  const isRefused = found.error?.status === 400;
  return html`<section class="panel would-pass" aria-live="polite">
    <h2>Would the newest pass now?</h2>
    ${found.error && !isRefused && html`<${NoPreview} error=${found.error} retry=${found.reload} />`}
    ${isRefused && html`<p class="note bad">The gate does not take this: ${found.error.message}</p>`}
    ${!found.error && (found.data ? html`<${GateAnswer} answer=${found.data.data} />` : html`<${Loading} lines=${4} />`)}
    <details class="folded" open=${Object.keys(asked).length > 0 || isRefused}>
      <summary>${Object.keys(asked).length ? "What is asked" : "Asked as in the last recorded gate; ask something else"}</summary>
      <${GateForm} query=${query} error=${isRefused ? found.error : null} />
    </details>
  </section>`;
}

function NoPreview({ error, retry }) {
  if (error.status === 404) return html`<p class="muted">No evaluation of it has completed yet.</p>`;
  return html`<${Failure} error=${error} retry=${retry} />`;
}

function History({ query, isChosen }) {
  const filters = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  const list = useList("/gates", filters);
  useEvery(LOOK_EVERY_S, list.found.reload);
  return html`<section>
    <h2 class="log-head">History</h2>
    <${Loaded} from=${list.found} lines=${6}>${({ data }) => {
      if (!data.length) return html`<${Nothing} isFiltered=${Object.values(filters).some(Boolean)} />`;
      const rows = list.rowsOf(data);
      return html`${isChosen && html`<${Verdicts} gates=${rows} />`}
        <${Table} caption="Recorded gates" columns=${COLUMNS} rows=${rows} />
        <${Pager} page=${list.page} more=${list.more} />`;
    }}<//>
  </section>`;
}

function Verdicts({ gates }) {
  const rated = gates.filter((one) => typeof one.answer.average_rating === "number").reverse();
  const points = rated.map((one) => {
    const value = one.answer.average_rating;
    return { key: one.id, value, look: LOOKS[one.verdict], href: `/evaluations/${one.evaluation_id}`, says: `${one.verdict} with a mean of ${value}` };
  });
  const passed = rated.filter((one) => one.verdict === "passed").length;
  return html`<${Trend} points=${points} caption=${`Means of ${rated.length} recorded gates, oldest first; ${passed} passed. Squares failed.`} />`;
}

function Nothing({ isFiltered }) {
  if (isFiltered) {
    return html`<${Empty} title="No gate fits" action=${html`<${Button} href="/evaluations/gates">Show all<//>`}>
      <p>No recorded gate is of this kind.</p><//>`;
  }
  return html`<${Empty} title="No gate is recorded yet">
    <p>A pipeline records one with <code>parley gate RUN --fail-under 7 --no-regression --record</code>; then its verdicts stand here.</p>
  <//>`;
}
