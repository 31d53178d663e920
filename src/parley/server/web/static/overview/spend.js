// What was spent, day by day.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { Chart, colour } from "../components/chart.js";
import { dollars, Money } from "../components/money.js";
import { Loaded } from "../components/states.js";

const DAY_MS = 86_400_000;
const today = () => Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** Sums by day, oldest first, days without usage as 0: `[seconds, dollars]` as uPlot wants them. */
export function byDay(lines, days, lastDayMs) {
  const spent = new Map();
  for (const line of lines) spent.set(line.day, (spent.get(line.day) ?? 0) + line.cost);
  const starts = Array.from({ length: days }, (_, index) => lastDayMs - (days - 1 - index) * DAY_MS);
  return [
    starts.map((start) => start / 1000),
    starts.map((start) => spent.get(new Date(start).toISOString().slice(0, 10)) ?? 0),
  ];
}

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

const options = (UPlot) => ({
  legend: { show: false },
  cursor: { show: false },
  scales: { y: { range: (_, __, most) => [0, most || 1] } },
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
      size: 62,
      values: (_, sums) => sums.map(dollars),
    },
  ],
  series: [
    {},
    {
      fill: colour("accent"),
      width: 0,
      points: { show: false },
      paths: UPlot.paths.bars({ size: [0.7, 24] }),
    },
  ],
});

/** The last `days` days, by the day in UTC that the ledger counts by. */
export function Spend({ days }) {
  const last = today();
  const query = {
    by: "day",
    time_start: new Date(last - (days - 1) * DAY_MS).toISOString(),
    time_end: new Date(last + DAY_MS).toISOString(),
  };
  const found = useLoad(async (signal) => {
    const { data: usage } = await get("/information/usage", query, { signal });
    return { usage, data: byDay(usage.lines, days, last) };
  }, [days, last]);
  return html`<section class="panel">
    <div class="section-head"><h2>Spent in ${days} days</h2><a href="/account/usage">Usage</a></div>
    <${Loaded} from=${found} lines=${5}>${({ usage, data }) => html`
      <p class="sum"><${Money} usd=${usage.total.cost} /> <span class="muted small">for ${usage.total.inferences} inferences</span></p>
      <${Chart} data=${data} options=${options} height=${140}
        label=${`Spent by day over ${days} days, ${dollars(usage.total.cost)} in all`} />`}<//>
  </section>`;
}
