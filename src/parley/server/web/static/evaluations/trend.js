// Means over time as a picture; each point leads to its evaluation. The table below says the same in figures.
import { html } from "../html.js";

const WIDTH = 720;
const HEIGHT = 150;
const LEFT = 28;
const RIGHT = 12;
const TOP = 10;
const BOTTOM = 10;
const HIGHEST = 10;

const y = (value) => TOP + (1 - value / HIGHEST) * (HEIGHT - TOP - BOTTOM);
const x = (index, count) => (count < 2 ? (LEFT + WIDTH - RIGHT) / 2 : LEFT + ((index + 0.5) * (WIDTH - LEFT - RIGHT)) / count);

/** `points` are `{key, value (0..10), href, says, look}`, oldest first; `look` is good, bad, warn or nothing. */
export function Trend({ points, caption }) {
  if (points.length < 2) return null;
  const placed = points.map((point, index) => ({ ...point, cx: x(index, points.length).toFixed(1), cy: y(point.value).toFixed(1) }));
  return html`<figure class="trend">
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label=${caption}>
      ${[0, 5, 10].map((value) => html`<g key=${value}>
        <line class="grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />
        <text x=${LEFT - 6} y=${y(value) + 4} text-anchor="end">${value}</text>
      </g>`)}
      <polyline points=${placed.map((one) => `${one.cx},${one.cy}`).join(" ")} />
      ${placed.map((one) => html`<a key=${one.key} href=${one.href} aria-label=${one.says}>
        <title>${one.says}</title>
        <circle class="reach" cx=${one.cx} cy=${one.cy} r="12" />
        ${one.look === "bad"
          ? html`<rect class="point bad" x=${one.cx - 4.5} y=${one.cy - 4.5} width="9" height="9" />`
          : html`<circle class=${`point ${one.look ?? ""}`} cx=${one.cx} cy=${one.cy} r="5" />`}
      </a>`)}
    </svg>
    <figcaption class="small muted">${caption}</figcaption>
  </figure>`;
}
