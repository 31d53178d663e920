// How outcomes and scores of two sets are spread.
import { html } from "../html.js";
import { Badge } from "../components/badge.js";
import { histogram } from "./telling.js";

const ORDER = ["success", "incomplete", "loss", "interrupted", "failed"];

/** A bar for each side, its parts as long as their shares; the counts stand beside it in words. */
export function Outcomes({ left, right }) {
  return html`<div class="outcomes">${[["Left", left], ["Right", right]].map(([name, side]) => html`<div key=${name} class="outcome-side">
    <h3>${name} <span class="muted small">${side.run_count} ${side.run_count === 1 ? "run" : "runs"}</span></h3>
    <div class="outcome-bar" aria-hidden="true">${known(side).map(([outcome, count]) => html`<span key=${outcome} class=${outcome} style=${{ flexGrow: count }}></span>`)}</div>
    <ul class="outcome-counts">${known(side).map(([outcome, count]) => html`<li key=${outcome}><${Badge} of=${outcome} /> ${count}</li>`)}</ul>
    ${!side.run_count && html`<p class="muted">No run.</p>`}
  </div>`)}</div>`;
}

const known = (side) => ORDER.filter((outcome) => side.outcomes[outcome]).map((outcome) => [outcome, side.outcomes[outcome]]);

const WIDTH = 480;
const HALF = 70;
const MIDDLE = 16;
const HEIGHT = 2 * HALF + MIDDLE;
const STEP = WIDTH / 10;

/** Scores of the left above, of the right below, in tenths, as shares of each side; the line is the mean's interval. */
export function Scores({ left, right }) {
  const sides = [left, right].map((side) => histogram(side.runs));
  if (!sides.some((counts) => counts.some(Boolean))) return html`<p class="muted">No run has a score.</p>`;
  const shares = sides.map((counts) => counts.map((count) => count / Math.max(1, counts.reduce((sum, one) => sum + one))));
  const top = Math.max(...shares.flat());
  const says = ["Left", "Right"].map((name, side) => `${name}: ${spoken(sides[side])}`).join(". ");
  return html`<figure class="trajectory spread">
    <svg viewBox=${`0 -6 ${WIDTH} ${HEIGHT + 12}`} role="img" aria-label=${`How many scores lie in each tenth. ${says}.`}>
      ${shares.map((list, side) => list.map((share, place) => {
        const height = (share / top) * (HALF - 8);
        return html`<rect key=${`${side}-${place}`} class=${side ? "right" : "left"} x=${place * STEP + 2} width=${STEP - 4}
          y=${side ? HALF + MIDDLE : HALF - height} height=${height} />`;
      }))}
      ${[0, 0.2, 0.4, 0.6, 0.8, 1].map((value) => html`<text key=${value} x=${Math.min(WIDTH - 2, Math.max(2, value * WIDTH))} y=${HALF + 12}
        text-anchor=${value === 0 ? "start" : value === 1 ? "end" : "middle"}>${value}</text>`)}
      <${Mean} figure=${left.score} y=${-2} look="left" /><${Mean} figure=${right.score} y=${HEIGHT + 2} look="right" />
    </svg>
    <figcaption class="small muted"><span class="mark left">left, above</span> <span class="mark right">right, below</span>
      <span>as shares of each side; the line is the mean with its interval</span></figcaption>
  </figure>`;
}

function Mean({ figure, y, look }) {
  if (!figure) return null;
  return html`<g class=${`mean ${look}`}><line x1=${figure.low * WIDTH} x2=${figure.high * WIDTH} y1=${y} y2=${y} />
    <circle cx=${figure.value * WIDTH} cy=${y} r="4" /></g>`;
}

const spoken = (counts) =>
  counts.flatMap((count, place) => (count ? [`${count} from ${place / 10} to ${(place + 1) / 10}`] : [])).join(", ") || "none";
