// The scores of a run as a picture; each point leads to its turn.
import { html } from "../html.js";

export const WIDTH = 320;
export const HEIGHT = 180;
export const LEFT = 28;
export const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;

/** Where a score stands. */
export const y = (value) => TOP + (1 - value) * (HEIGHT - TOP - BOTTOM);

/** Where turn `turn` of `turns` stands. */
export function scale(turns) {
  return (turn) => (turns < 2 ? (LEFT + WIDTH - RIGHT) / 2 : LEFT + ((turn - 1) * (WIDTH - LEFT - RIGHT)) / (turns - 1));
}

/** `opinions` oldest first, `fields` the run's definition. */
export function Trajectory({ opinions, fields }) {
  const turns = Math.max(2, ...opinions.map((one) => one.turn));
  const x = scale(turns);
  const line = (name) => opinions.map((one) => `${x(one.turn).toFixed(1)},${y(one[name]).toFixed(1)}`).join(" ");
  return html`<figure class="trajectory">
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label="Scores by turn; each point leads to its turn">
      ${[0, 0.5, 1].map((value) => html`<g key=${value}>
        <line class="grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />
        <text x=${LEFT - 6} y=${y(value) + 4} text-anchor="end">${value}</text>
      </g>`)}
      <${Threshold} value=${fields.base_threshold} look="good" />
      <${Threshold} value=${fields.loss_threshold} look="bad" />
      ${ticks(turns).map((turn) => html`<text key=${turn} x=${x(turn)} y=${HEIGHT - 6} text-anchor="middle">${turn}</text>`)}
      <polyline class="conversation" points=${line("conversation_delta")} />
      <polyline class="score" points=${line("score")} />
      ${opinions.map((one) => html`<a key=${one.turn} href=${`#turn-${one.turn}`} aria-label=${said(one)}>
        <title>${said(one)}</title>
        <circle class=${`point ${one.state}`} cx=${x(one.turn)} cy=${y(one.score)} r="5" />
      </a>`)}
    </svg>
    <figcaption class="small muted">
      <span class="key score">score</span> <span class="key conversation">conversation</span>
      <span>dashed: success from ${fields.base_threshold}, loss at ${fields.loss_threshold} or less</span>
    </figcaption>
  </figure>`;
}

function Threshold({ value, look }) {
  return html`<line class=${`threshold ${look}`} x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />`;
}

const said = ({ turn, score, conversation_delta: delta, loss_streak: streak }) =>
  `Turn ${turn}: score ${score.toFixed(2)}, conversation ${delta.toFixed(2)}${streak ? `, loss streak ${streak}` : ""}`;

/** At most eight turns to name, evenly spread, the first among them. */
export function ticks(turns) {
  const step = Math.ceil(turns / 8);
  return Array.from({ length: turns }, (_, index) => index + 1).filter((turn) => (turn - 1) % step === 0);
}
