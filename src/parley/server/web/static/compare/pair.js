// Two runs side by side, aligned by turn.
import { useEffect, useMemo } from "preact/hooks";
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { place, withQuery } from "../router.js";
import { RunBadge, standing } from "../components/badge.js";
import { Button } from "../components/button.js";
import { SelectField } from "../components/field.js";
import { dollars } from "../components/money.js";
import { Empty, Loaded } from "../components/states.js";
import { duration, Time } from "../components/time.js";
import { Message } from "../run/conversation.js";
import { roughSize, useGradually } from "../run/gradually.js";
import { keptItems, opinionsOf } from "../run/items.js";
import { aligned, figures, parting } from "./align.js";
import { Figures, signed } from "./figures.js";
import { Overlay } from "./overlay.js";
import { Reasons } from "./reasons.js";

const OFFERED = 50;
const LOOK_EVERY_S = 5;
const isOpen = (run) => run.state === "pending" || run.state === "running";

async function readPair(testId, left, right, signal) {
  const path = `/agentic-tests/${testId}`;
  const offered = get(`${path}/runs`, { limit: OFFERED }, { signal });
  const { data: found } = await get(`${path}/comparison`, { left_run: left, right_run: right }, { signal });
  const run = async (side) => (side.runs.length ? (await get(`${path}/runs/${side.runs[0].id}`, {}, { signal })).data : null);
  const [one, other, list] = await Promise.all([run(found.left), run(found.right), offered]);
  return { found, left: one, right: other, offered: list.data };
}

/** Two runs of a test; without `left` the one that ended before `right`. */
export function Pair({ testId, left, right }) {
  const found = useLoad((signal) => readPair(testId, left, right, signal), [testId, left, right]);
  useEvery(LOOK_EVERY_S, () => found.data && [found.data.left, found.data.right].some((run) => run && isOpen(run)) && found.reload());
  return html`<${Loaded} from=${found} lines=${14}>${(data) => html`<${Both} ...${data} />`}<//>`;
}

function Both({ left, right, offered, ...rest }) {
  return html`<${Choice} left=${left} right=${right} offered=${offered} />
    ${left
      ? html`<${SideBySide} left=${left} right=${right} ...${rest} />`
      : html`<${Empty} title="No run before this one"><p>It is the first of its test that ended. Choose another run to compare it with.</p><//>`}`;
}

function SideBySide({ found, left, right }) {
  const sides = useMemo(
    () => [left, right].map((run, place) => ({ run, items: named(keptItems(run), place), look: place ? "right" : "left" })),
    [left, right],
  );
  const opinions = sides.map((side) => opinionsOf(side.items));
  const part = parting(opinions[0], opinions[1]);
  return html`
    <div class="compare-said">
      <${Reasons} comparable=${found.comparable} differences=${found.differences} />
      <p class="note">${part.text}${part.turn && html` <a href=${`#turn-${part.turn}`}>Go to turn ${part.turn}</a>`}</p>
    </div>
    <div class="pair-figures">
      <${Figures} caption="Figures of both runs" rows=${rowsOf(left, right)} />
      <section class="panel"><h2>Trajectories</h2><${Overlay} left=${opinions[0]} right=${opinions[1]} fields=${right.definition.fields} /></section>
    </div>
    <section aria-label="Conversations">
      <div class="section-head"><h2>Conversations, turn by turn</h2></div>
      <div class="sides sides-head">${sides.map((side) => html`<${SideHead} key=${side.look} ...${side} />`)}</div>
      <${Turns} rows=${aligned(sides[0].items, sides[1].items)} parting=${part.turn} />
    </section>`;
}

/** Keys that are the page's own, though both runs count from one. */
const named = (items, place) => items.map((item) => ({ ...item, key: `${place ? "right" : "left"}-${item.key}` }));

function SideHead({ run, look }) {
  return html`<p><strong>${look === "left" ? "Left" : "Right"}</strong> <a href=${`/tests/${run.test_id}/runs/${run.id}`}><${Time} at=${run.created_at} /></a>
    ${" "}<${RunBadge} run=${run} /></p>`;
}

function Turns({ rows, parting: parted }) {
  const wayOf = useGradually(rows.length, true);
  const aim = place.value.hash.slice(1);
  useEffect(() => {
    document.getElementById(aim)?.scrollIntoView();
  }, []);
  return rows.map((row, index) => html`<${Turn} key=${row.turn} row=${row} isParting=${row.turn === parted}
    isDrawn=${aim === `turn-${row.turn}` || wayOf(index)} />`);
}

function Turn({ row, isParting, isDrawn }) {
  const { turn, left, right } = row;
  const higher = left.length > right.length ? left : right;
  return html`<section class=${`turn${isParting ? " decided" : ""}`} id=${`turn-${turn}`} style=${roughSize(higher, 2)} aria-label=${turn ? `Turn ${turn}` : "Before the first turn"}>
    <h3 class="turn-head"><a href=${`#turn-${turn}`}>${turn ? `Turn ${turn}` : "Before the first turn"}</a>
      ${isParting && html`<span class="badge accent">scores part</span>`}</h3>
    ${isDrawn && html`<div class="sides">
      <${Said} name="Left" items=${left} /><${Said} name="Right" items=${right} />
    </div>`}
  </section>`;
}

function Said({ name, items }) {
  return html`<div class="side" role="group" aria-label=${name}>
    <p class="side-name" aria-hidden="true">${name}</p>
    ${items.map((item) => html`<${Message} key=${item.key} item=${item} />`)}
    ${!items.length && html`<p class="muted">Nothing at this turn.</p>`}
  </div>`;
}

function rowsOf(left, right) {
  const [was, is] = [figures(left), figures(right)];
  const row = (name, field, show) => ({
    name,
    left: was[field] === null ? null : show(was[field]),
    right: is[field] === null ? null : show(is[field]),
    gap: signed(was[field], is[field], show),
  });
  const ms = (value) => duration(value / 1000);
  return [
    { name: "Outcome", left: html`<${RunBadge} run=${left} />`, right: html`<${RunBadge} run=${right} />`, gap: standing(left) === standing(right) ? "same" : "another" },
    row("Score", "score", (score) => score.toFixed(3)),
    row("Turns", "turns", String),
    row("Took", "tookS", duration),
    row("Answer of the gateway, median", "answerMs", ms),
    row("First words, median", "firstMs", ms),
    row("Tokens answered", "tokens", (count) => count.toLocaleString("en-US")),
    row("Cost", "cost", dollars),
  ];
}

const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const label = (run) => `${MOMENT.format(new Date(run.created_at))}, ${standing(run)}${run.score === null ? "" : ` ${run.score.toFixed(2)}`}`;

function Choice({ left, right, offered }) {
  const options = (chosen) => {
    const known = chosen && !offered.some((run) => run.id === chosen.id) ? [...offered, chosen] : offered;
    return [...(chosen ? [] : [["", "choose a run"]]), ...known.map((run) => [run.id, label(run)])];
  };
  return html`<div class="compare-choice">
    <${SelectField} label="Left" value=${left?.id ?? ""} options=${options(left)} onChange=${(id) => withQuery({ left: id, right: right.id })} />
    <${SelectField} label="Right" value=${right.id} options=${options(right)} onChange=${(id) => withQuery({ left: left?.id, right: id })} />
    <${Button} disabled=${!left} onClick=${() => withQuery({ left: right.id, right: left.id })}>Swap<//>
  </div>`;
}
