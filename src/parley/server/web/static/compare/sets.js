// Two sets of runs of one test: before and after a change.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { withQuery } from "../router.js";
import { RunBadge } from "../components/badge.js";
import { SelectField, TextField } from "../components/field.js";
import { dollars, Money } from "../components/money.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { duration, Time } from "../components/time.js";
import { Outcomes, Scores } from "./distribution.js";
import { Figures, signed, withSign } from "./figures.js";
import { Reasons } from "./reasons.js";
import { telling } from "./telling.js";

const LISTED = 50;

/** `query` says which: `split` a moment, or `from` and `to`, two revisions. */
export function Sets({ testId, by, query }) {
  const split = query.get("split");
  const asked = by === "time" ? { split_at: split } : { left_revision: query.get("from"), right_revision: query.get("to") };
  const found = useLoad((signal) => get(`/agentic-tests/${testId}/comparison`, asked, { signal }), [testId, asked]);
  return html`<${Loaded} from=${found} lines=${12}>${({ data }) => {
    if (!data.revisions.length) return html`<${Empty} title="No run yet"><p>No run of this test has ended; there is nothing to compare.</p><//>`;
    return html`
      ${by === "time" ? html`<${Moment} split=${split} />` : html`<${Revisions} found=${data} />`}
      ${by === "time" && !split
        ? html`<${Empty} title="Choose a moment"><p>What began before it is compared with what began from it on: the hour of a release, say.</p><//>`
        : html`<${Both} found=${data} testId=${testId} />`}`;
  }}<//>`;
}

const counted = (count) => `${count} ${count === 1 ? "run" : "runs"}`;
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

function Revisions({ found }) {
  const options = (side) => {
    const chosen = side.runs[0]?.revision;
    const known = found.revisions.map((one) => [one.revision, `${one.revision.slice(0, 12)}, ${counted(one.run_count)}, last ${MOMENT.format(new Date(one.last_at))}`]);
    if (!chosen) return [["", "no other revision has run"], ...known];
    return known.some(([name]) => name === chosen) ? known : [...known, [chosen, chosen.slice(0, 12)]];
  };
  const [from, to] = [found.left.runs[0]?.revision ?? "", found.right.runs[0]?.revision ?? ""];
  return html`<div class="compare-choice sets">
    <${SelectField} label="Left: revision" value=${from} options=${options(found.left)} onChange=${(name) => withQuery({ from: name, to })} />
    <${SelectField} label="Right: revision" value=${to} options=${options(found.right)} onChange=${(name) => withQuery({ from, to: name })} />
  </div>`;
}

/** A moment as the input wants it: the reader's zone, without its name. */
function local(at) {
  const moment = new Date(at);
  return new Date(moment - moment.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function Moment({ split }) {
  const choose = (text) => text && withQuery({ split: new Date(text).toISOString() });
  return html`<div class="compare-choice sets">
    <${TextField} type="datetime-local" label="Moment of the change" hint="In your zone. Left is what began before, right what began from then on."
      value=${split ? local(split) : ""} onChange=${choose} />
  </div>`;
}

function Both({ found, testId }) {
  const words = telling(found);
  return html`
    <div class="compare-said">
      ${words && html`<p class="note">${words}</p>`}
      <${Reasons} comparable=${found.comparable} differences=${found.differences} />
    </div>
    <${Figures} caption="Figures of both sets" rows=${rowsOf(found)} />
    <div class="pair-figures halves">
      <section class="panel"><h2>Outcomes</h2><${Outcomes} left=${found.left} right=${found.right} /></section>
      <section class="panel"><h2>Scores</h2><${Scores} left=${found.left} right=${found.right} /></section>
    </div>
    <div class="halves">${[["Left", found.left], ["Right", found.right]].map(([name, side]) => html`<${Runs} key=${name} name=${name} side=${side} testId=${testId} />`)}</div>`;
}

function rowsOf({ left, right, gap }) {
  const count = (side) => `${side.executed_count} of ${side.run_count}`;
  const rough = (name, read, show) => ({
    name,
    left: read(left) === null ? null : show(read(left)),
    right: read(right) === null ? null : show(read(right)),
    gap: gap && signed(read(left), read(right), show),
  });
  const ms = (value) => duration(value / 1000);
  return [
    { name: "Runs carried out", left: count(left), right: count(right) },
    certain("Successes", "success", left, right, gap, (share) => `${Math.round(share * 100)}%`, (share) => `${Math.round(share * 100)}`, " points"),
    certain("Score, mean", "score", left, right, gap, (score) => score.toFixed(3)),
    certain("Cost, mean", "cost", left, right, gap, dollars),
    rough("Turns, mean", (side) => side.turns, (turns) => turns.toFixed(1)),
    rough("Run, median", (side) => side.took_ms.p50, ms),
    rough("Run, 95th percentile", (side) => side.took_ms.p95, ms),
    rough("Answer of the gateway, median", (side) => side.answer_ms.p50, ms),
    rough("Answer of the gateway, 95th percentile", (side) => side.answer_ms.p95, ms),
  ];
}

function certain(name, field, left, right, gap, show, showGap = show, unit = "") {
  const figure = (one) => one && html`<${Certain} value=${show(one.value)} low=${show(one.low)} high=${show(one.high)} />`;
  const apart = gap?.[field];
  const shown = apart && html`<${Certain} value=${withSign(apart.value, showGap) + unit} low=${withSign(apart.low, showGap)} high=${withSign(apart.high, showGap)} />`;
  return { name, left: figure(left[field]), right: figure(right[field]), gap: shown };
}

function Certain({ value, low, high }) {
  return html`<span>${value}</span> <span class="muted small interval" title="95% interval">${low} to ${high}</span>`;
}

function Runs({ name, side, testId }) {
  const columns = [
    { name: "Started", isMain: true, cell: (run) => html`<a href=${`/tests/${testId}/runs/${run.id}`}><${Time} at=${run.created_at} /></a>` },
    { name: "Outcome", cell: (run) => html`<${RunBadge} run=${run} />` },
    { name: "Score", isNumber: true, cell: (run) => run.score?.toFixed(2) ?? "–" },
    { name: "Cost", isNumber: true, cell: (run) => html`<${Money} usd=${run.cost} />` },
  ];
  const shown = side.runs.slice(0, LISTED);
  if (!shown.length) return null;
  return html`<details class="folded"><summary>${name}: ${shown.length < side.runs.length ? `the newest ${LISTED} of ${side.run_count} runs` : counted(side.run_count)}</summary>
    <${Table} caption=${`Runs on the ${name.toLowerCase()}`} columns=${columns} rows=${shown} /></details>`;
}
