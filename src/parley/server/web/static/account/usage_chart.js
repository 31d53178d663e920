// Usage day by day, in bars that stand on one another.
import { html } from "../html.js";
import { Chart, colour } from "../components/chart.js";
import { dollars } from "../components/money.js";

/** Colours of the tokens, by place; what has no place of its own is the last. */
export const COLOURS = ["accent", "good", "warn", "bad", "muted"];

const DAY_MS = 86_400_000;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/**
 * What uPlot draws, the tallest sum first, so that shorter ones stand before it. `shares` are `{costs}` by day
 * ("2027-01-31"), the first at the bottom.
 */
export function stacked(shares, days, lastDayMs) {
  const starts = Array.from({ length: days }, (_, index) => lastDayMs - (days - 1 - index) * DAY_MS);
  const names = starts.map((start) => new Date(start).toISOString().slice(0, 10));
  let below = names.map(() => 0);
  const sums = shares.map(({ costs }) => (below = below.map((sum, place) => sum + (costs.get(names[place]) ?? 0))));
  return [starts.map((start) => start / 1000), ...sums.reverse()];
}

const optionsOf = (count) => (UPlot) => ({
  legend: { show: false },
  cursor: { show: false },
  scales: { y: { range: (_, __, most) => [0, most * 1.05 || 1] } },
  axes: [
    { stroke: colour("muted"), grid: { show: false }, ticks: { show: false }, size: 28, space: 70, values: (_, at) => at.map((s) => DAY.format(s * 1000)) },
    { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, size: 70, values: (_, sums) => sums.map(dollars) },
  ],
  series: [
    {},
    ...Array.from({ length: count }, (_, place) => ({
      fill: colour(COLOURS[count - 1 - place]),
      width: 0,
      points: { show: false },
      paths: UPlot.paths.bars({ size: [0.7, 40] }),
    })),
  ],
});

/** `data` is what `stacked` gives; it has to stay the same between drawings. */
export function UsageChart({ data, label }) {
  return html`<${Chart} data=${data} options=${optionsOf(data.length - 1)} height=${240} label=${label} />`;
}
