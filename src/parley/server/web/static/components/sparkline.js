// The last scores of a test as a small line, oldest first. A table of numbers would not be read at a glance.
import { html } from "../html.js";

const WIDTH = 120;
const HEIGHT = 28;
const EDGE = 3;

const x = (index, count) => EDGE + (count < 2 ? WIDTH / 2 - EDGE : (index * (WIDTH - 2 * EDGE)) / (count - 1));
const y = (score) => EDGE + (1 - score) * (HEIGHT - 2 * EDGE);

/** `scores` from 0 to 1, oldest first; runs without a score are left out before. */
export function Sparkline({ scores }) {
  if (!scores.length) return html`<span class="muted">no scores yet</span>`;
  const points = scores.map((score, index) => `${x(index, scores.length).toFixed(1)},${y(score).toFixed(1)}`);
  const [lastX, lastY] = points.at(-1).split(",");
  const says = `${scores.length} scores, the last ${scores.at(-1).toFixed(2)}, lowest ${Math.min(...scores).toFixed(2)}`;
  return html`<svg class="sparkline" role="img" aria-label=${says} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}
    width=${WIDTH} height=${HEIGHT}>
    <title>${says}</title>
    <line x1="0" x2=${WIDTH} y1=${y(0.5)} y2=${y(0.5)} class="sparkline-middle" />
    <polyline points=${points.join(" ")} class="sparkline-line" />
    <circle cx=${lastX} cy=${lastY} r="2.5" class="sparkline-last" />
  </svg>`;
}
