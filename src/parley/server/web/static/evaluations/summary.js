// What an evaluation's results say together, and what it was made with.
import { html } from "../html.js";
import { dollars } from "../components/money.js";
import { Table } from "../components/table.js";
import { duration, Time } from "../components/time.js";
import { Figure, rating, share } from "./figures.js";

const CURVE = [
  { name: "Repetitions (k)", isMain: true, cell: (line) => line.k },
  { name: "All k pass", isNumber: true, cell: (line) => share(line.hat) },
  { name: "At least one of k passes", isNumber: true, cell: (line) => share(line.at) },
];

/** The figures on top. */
export function Figures({ statistics }) {
  const { average_rating: mean, pass_rate: pass, coverage, expected_count: expected, result_count: kept } = statistics;
  const { failed_count: failed, skipped_count: skipped, duration_ms: took, cost } = statistics;
  return html`<dl class="figures">
    <${Figure} name="Mean rating" note="of 10">${rating(mean)}<//>
    <${Figure} name="Passed" note=${pass && `${share(pass.low)} to ${share(pass.high)} likely`}>${share(pass?.value)}<//>
    <${Figure} name="Coverage" look=${kept === expected && coverage < 1 ? "bad" : null} note=${`${kept} of ${expected} results`}>${share(coverage)}<//>
    <${Figure} name="Agent failed" look=${failed ? "bad" : null}>${failed}<//>
    <${Figure} name="Skipped" note="not rated" look=${skipped ? "bad" : null}>${skipped}<//>
    <${Figure} name="Took, median" note=${took.p95 === null ? null : `95% within ${duration(took.p95 / 1000)}`}>
      ${took.p50 === null ? "–" : duration(took.p50 / 1000)}<//>
    <${Figure} name="Grading cost">${cost === null ? "–" : dollars(cost)}<//>
  </dl>`;
}

/** What repeated cases tell: the chance that k of them pass, and cases that came out both ways. */
export function Repeated({ evaluation }) {
  const { pass_hat_k: hats, pass_at_k: ats, flaky_cases: flaky } = evaluation.statistics;
  if (evaluation.repetitions < 2) return null;
  const rows = hats.map(({ k, value }) => ({ k, hat: value, at: ats.find((one) => one.k === k)?.value }));
  return html`<section class="panel">
    <h2>Repetitions</h2>
    ${rows.length > 0 && html`<${Table} caption="Passing by repetitions" columns=${CURVE} rows=${rows} keyOf=${(line) => line.k} />`}
    <p class="below-table">${flaky.length
      ? html`Passed in some repetitions and not in others: ${flaky.map((id, place) => html`${place > 0 && ", "}<a key=${id}
          href=${`/evaluations/${evaluation.id}?case=${encodeURIComponent(id)}`}>${id}</a>`)}.`
      : "No case came out both ways."}</p>
  </section>`;
}

/** Where it comes from and who graded it. */
export function Origin({ evaluation: one }) {
  const facts = [
    ["Branch", one.branch],
    ["Commit", one.commit],
    ["Pull request", one.pull_request],
    ["Split", one.split ?? "all cases"],
    ["Repetitions", one.repetitions],
    ["Source", one.run_source],
    ["Version", one.version],
    ["Pass mark", one.pass_rating],
    ["Started", html`<${Time} at=${one.created_at} />`],
    ["Ended", one.ended_at && html`<${Time} at=${one.ended_at} />`],
    ["Baseline", one.baseline_id && html`<a href=${`/evaluations/${one.baseline_id}`}>the one before</a>`],
    ["Judged again from", one.regrade_of && html`<a href=${`/evaluations/${one.regrade_of}`}>the first grading</a>`],
  ];
  return html`<section class="panel">
    <h2>Origin and grader</h2>
    <dl class="facts">${facts
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
    <details class="folded"><summary>Grader, ${one.grading_hash.slice(0, 12)}</summary>
      <pre class="code">${JSON.stringify(one.grading, null, 2)}</pre></details>
  </section>`;
}
