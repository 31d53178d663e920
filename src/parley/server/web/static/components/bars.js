// Sums day by day, in bars; several of one day stand on one another.
import { html } from "../html.js";
import { Chart, colour } from "./chart.js";
import { dollars } from "./money.js";

const DAY_S = 86_400;
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** How many shares of a day have a colour of their own: the tokens `series-1` and so on. */
export const MOST_SHARES = 5;

/**
 * What `Bars` draws, as uPlot wants it: moments of the last `days` days (UTC), then sums. `shares` are maps from day
 * ("2027-01-31") to dollars, the first at the bottom; days without are 0.
 */
export function stacked(shares, days, lastDayMs) {
  const starts = Array.from({ length: days }, (_, index) => lastDayMs / 1000 - (days - 1 - index) * DAY_S);
  const names = starts.map((start) => new Date(start * 1000).toISOString().slice(0, 10));
  let below = names.map(() => 0);
  const sums = shares.map((costs) => (below = below.map((sum, place) => sum + (costs.get(names[place]) ?? 0))));
  // The tallest is drawn first, and the shorter ones before it.
  return [starts, ...sums.reverse()];
}

const optionsOf = (count) => (UPlot) => ({
  legend: { show: false },
  cursor: { show: false },
  // Days are the ledger's, whatever the reader's zone.
  tzDate: (seconds) => UPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
  scales: {
    x: { range: (_, first, last) => [first - DAY_S / 2, last + DAY_S / 2] },
    y: { range: (_, __, most) => [0, most * 1.05 || 1] },
  },
  axes: [
    {
      stroke: colour("muted"),
      grid: { show: false },
      ticks: { show: false },
      size: 28,
      space: 70,
      values: (_, moments) => moments.map((seconds) => DAY.format(seconds * 1000)),
    },
    {
      stroke: colour("muted"),
      grid: { stroke: colour("line"), width: 1 },
      ticks: { show: false },
      size: 66,
      values: (_, sums) => sums.map(dollars),
    },
  ],
  series: [
    {},
    ...Array.from({ length: count }, (_, place) => ({
      fill: colour(`series-${count - place}`),
      stroke: colour("surface"),
      width: count > 1 ? 1 : 0,
      points: { show: false },
      paths: UPlot.paths.bars({ size: [0.7, 40] }),
    })),
  ],
});

/** `data` is what `stacked` gave; it has to stay the same object between drawings. `label` says it in words. */
export function Bars({ data, height, label }) {
  return html`<${Chart} data=${data} options=${optionsOf(data.length - 1)} height=${height} label=${label} />`;
}
