// The scores of two runs in one picture.
import { html } from "../html.js";
import { HEIGHT, LEFT, RIGHT, scale, ticks, WIDTH, y } from "../run/trajectory.js";

/** Opinions of both sides, oldest first; `fields` the definition whose thresholds are drawn. */
export function Overlay({ left, right, fields }) {
  if (!left.length && !right.length) return html`<p class="muted">The judge has spoken in neither.</p>`;
  const turns = Math.max(2, ...left.map((one) => one.turn), ...right.map((one) => one.turn));
  const x = scale(turns);
  const points = (opinions) => opinions.map((one) => `${x(one.turn).toFixed(1)},${y(one.score).toFixed(1)}`).join(" ");
  const told = (name, opinions) => `${name}: ${opinions.map((one) => `turn ${one.turn} ${one.score.toFixed(2)}`).join(", ") || "no score"}`;
  return html`<figure class="trajectory overlay">
    <svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label=${`Scores by turn. ${told("Left", left)}. ${told("Right", right)}.`}>
      ${[0, 0.5, 1].map((value) => html`<g key=${value}>
        <line class="grid" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />
        <text x=${LEFT - 6} y=${y(value) + 4} text-anchor="end">${value}</text>
      </g>`)}
      <line class="threshold good" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(fields.base_threshold)} y2=${y(fields.base_threshold)} />
      <line class="threshold bad" x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(fields.loss_threshold)} y2=${y(fields.loss_threshold)} />
      ${ticks(turns).map((turn) => html`<text key=${turn} x=${x(turn)} y=${HEIGHT - 6} text-anchor="middle">${turn}</text>`)}
      <polyline class="left" points=${points(left)} /><polyline class="score" points=${points(right)} />
      ${left.map((one) => html`<rect key=${`l${one.turn}`} class="left" x=${x(one.turn) - 3.5} y=${y(one.score) - 3.5} width="7" height="7" />`)}
      ${right.map((one) => html`<circle key=${`r${one.turn}`} class="right" cx=${x(one.turn)} cy=${y(one.score)} r="4" />`)}
    </svg>
    <figcaption class="small muted"><span class="mark left">left</span> <span class="mark right">right</span>
      <span>dashed: success from ${fields.base_threshold}, loss at ${fields.loss_threshold} or less</span></figcaption>
  </figure>`;
}
