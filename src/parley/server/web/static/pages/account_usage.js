// What was used and what it cost: by day, and by role, llm or test.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { AccountPage } from "../account/frame.js";
import { Bars, MOST_SHARES, stacked } from "../components/bars.js";
import { Button } from "../components/button.js";
import { dollars, Money } from "../components/money.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";

export const title = "Usage";

const DAY_MS = 86_400_000;
const SPANS = [7, 30, 90];
const PARTS = { role: "Role", model: "LLM", test: "Test" };
const MOST_ROWS = 100;
const NUMBERS = ["inferences", "estimated", "prompt_tokens", "cached_prompt_tokens", "completion_tokens", "cost"];

const keyOf = { role: (line) => line.role, model: (line) => line.model, test: (line) => line.test_id };
const nameOf = {
  role: (line) => line.role,
  model: (line) => line.model ?? "not named",
  test: (line) => line.test_name ?? (line.test_id ? "a deleted test" : "direct evaluations"),
};

/** Lines added up over the days, dearest first: `{key, name, costs by day, ...numbers}`. */
function shared(lines, part) {
  const found = new Map();
  for (const line of lines) {
    const key = keyOf[part](line) ?? "";
    const share = found.get(key) ?? { key, name: nameOf[part](line), testId: line.test_name && line.test_id, costs: new Map() };
    for (const name of NUMBERS) share[name] = (share[name] ?? 0) + line[name];
    share.costs.set(line.day, (share.costs.get(line.day) ?? 0) + line.cost);
    found.set(key, share);
  }
  return [...found.values()].sort((one, other) => other.cost - one.cost || other.inferences - one.inferences);
}

/** What is drawn, dearest first: as many as there are colours, where the last stands for all that are left. */
function drawn(shares) {
  const costs = shares.map((share) => share.costs);
  if (costs.length <= MOST_SHARES) return costs;
  return [...costs.slice(0, MOST_SHARES - 1), added(costs.slice(MOST_SHARES - 1))];
}

function added(maps) {
  const sums = new Map();
  for (const [day, cost] of maps.flatMap((one) => [...one])) sums.set(day, (sums.get(day) ?? 0) + cost);
  return sums;
}

async function read(days, part, signal) {
  const last = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  const span = { time_start: dayOf(last - (days - 1) * DAY_MS), time_end: dayOf(last + DAY_MS) };
  const { data } = await get("/information/usage", { ...span, by: `day,${part}` }, { signal });
  const shares = shared(data.lines, part);
  return { days, part, span, shares, total: data.total, data: stacked(drawn(shares), days, last) };
}

const dayOf = (ms) => new Date(ms).toISOString().slice(0, 10);

export default function Page({ query }) {
  const days = SPANS.find((one) => one === Number(query.get("days"))) ?? 30;
  const part = Object.hasOwn(PARTS, query.get("by") ?? "") ? query.get("by") : "role";
  const found = useLoad((signal) => read(days, part, signal), [days, part]);
  const span = found.data?.span;
  const file = span && `/api/v1/information/usage?${new URLSearchParams({ ...span, format: "csv" })}`;
  const actions = html`<${Choice} name="How far back" of=${SPANS} chosen=${days} say=${(one) => `${one} days`} to=${(one) => addressOf(one, part)} />
    ${file && html`<${Button} href=${file} download="usage.csv">CSV<//>`}`;
  return html`<${AccountPage} title="Usage" lead="What was used and what it cost; days are UTC, as the ledger counts." actions=${actions}>
    <${Loaded} from=${found} lines=${10}>${(usage) => (usage.total.inferences ? html`<${Report} usage=${usage} chosen=${part} />` : html`<${Nothing} days=${usage.days} />`)}<//>
  <//>`;
}

const addressOf = (days, part) => {
  const text = new URLSearchParams({ ...(days !== 30 && { days }), ...(part !== "role" && { by: part }) }).toString();
  return `/account/usage${text ? `?${text}` : ""}`;
};

function Choice({ name, of, chosen, say, to }) {
  return html`<nav class="choice" aria-label=${name}>
    ${of.map((one) => html`<a href=${to(one)} aria-current=${one === chosen ? "true" : null}>${say(one)}</a>`)}
  </nav>`;
}

function Report({ usage: { days, part, shares, total, data }, chosen }) {
  const words = `${dollars(total.cost)} in ${days} days, day by day, by ${PARTS[part].toLowerCase()}`;
  return html`<section class="panel">
      <div class="section-head">
        <p class="sum"><${Money} usd=${total.cost} /> <span class="muted small">for ${number(total.inferences)} inferences in ${days} days</span></p>
        <${Choice} name="Told apart by" of=${Object.keys(PARTS)} chosen=${chosen} say=${(one) => `by ${PARTS[one].toLowerCase()}`} to=${(one) => addressOf(days, one)} />
      </div>
      <${Bars} key=${`${days} ${part}`} data=${data} height=${240} label=${words} />
    </section>
    <section>
      <${Table} caption=${`Usage by ${PARTS[part].toLowerCase()}`} columns=${columns(part, shares)} rows=${shares.slice(0, MOST_ROWS)} keyOf=${(share) => share.key} />
      <p class="muted small below-table">${shares.length > MOST_ROWS && `The dearest ${MOST_ROWS} of ${number(shares.length)}; the CSV file has all. `}
        ${total.estimated > 0 && `${number(total.estimated)} inferences are estimates: their provider reported no usage.`}</p>
    </section>`;
}

const number = (value) => value.toLocaleString("en-US");

const columns = (part, shares) => [
  { name: PARTS[part], isMain: true, cell: (share) => html`<${Swatch} place=${shares.indexOf(share)} />${share.testId ? html`<a href=${`/tests/${share.testId}`}>${share.name}</a>` : share.name}` },
  { name: "Inferences", isNumber: true, cell: (share) => number(share.inferences) },
  { name: "Prompt tokens", isNumber: true, cell: (share) => number(share.prompt_tokens) },
  { name: "of them cached", isNumber: true, cell: (share) => number(share.cached_prompt_tokens) },
  { name: "Completion tokens", isNumber: true, cell: (share) => number(share.completion_tokens) },
  { name: "Cost", isNumber: true, cell: (share) => html`<${Money} usd=${share.cost} />` },
];

/** The colour of a row's bars. */
const Swatch = ({ place }) => html`<span class=${`swatch series-${Math.min(place + 1, MOST_SHARES)}`} aria-hidden="true"></span>`;

function Nothing({ days }) {
  return html`<${Empty} title=${`Nothing was used in ${days} days`} action=${html`<${Button} kind="primary" href="/tests">To the tests<//>`}>
    <p>Each run is charged as it goes: what the simulated user and the judge say, and your gateway's tokens at its prices.</p>
  <//>`;
}
