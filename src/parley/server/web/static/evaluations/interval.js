// A difference with its interval as a picture: whether it lies clear of no difference is seen at a glance.
import { html } from "../html.js";
import { difference } from "./figures.js";

const WIDTH = 320;
const HEIGHT = 54;
const EDGE = 16;

/** `delta` and `interval {low, high, level}` on the scale of ratings. */
export function Interval({ delta, interval }) {
  const reach = Math.max(0.5, ...[interval.low, interval.high, delta].map(Math.abs));
  const x = (value) => WIDTH / 2 + (value / reach) * (WIDTH / 2 - EDGE);
  const says = `Difference ${difference(delta)}, ${interval.level * 100}% interval from ${difference(interval.low)} to ${difference(interval.high)}`;
  return html`<svg class="interval" role="img" aria-label=${says} viewBox=${`0 0 ${WIDTH} ${HEIGHT}`}>
    <title>${says}</title>
    <line class="grid" x1=${EDGE} x2=${WIDTH - EDGE} y1="20" y2="20" />
    <line class="zero" x1=${WIDTH / 2} x2=${WIDTH / 2} y1="6" y2="34" />
    <line class="span" x1=${x(interval.low)} x2=${x(interval.high)} y1="20" y2="20" />
    <circle class="point" cx=${x(delta)} cy="20" r="6" />
    <text x=${EDGE} y="48">${difference(-reach)}</text>
    <text x=${WIDTH / 2} y="48" text-anchor="middle">no difference</text>
    <text x=${WIDTH - EDGE} y="48" text-anchor="end">${difference(reach)}</text>
  </svg>`;
}
