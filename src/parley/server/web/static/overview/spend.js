// What was spent, day by day.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { Bars, stacked } from "../components/bars.js";
import { dollars, Money } from "../components/money.js";
import { Loaded } from "../components/states.js";

const DAY_MS = 86_400_000;
const today = () => Math.floor(Date.now() / DAY_MS) * DAY_MS;

/** What was spent, by day. */
const byDay = (lines) => new Map(lines.map((line) => [line.day, line.cost]));

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
    return { usage, data: stacked([byDay(usage.lines)], days, last) };
  }, [days, last]);
  return html`<section class="panel">
    <div class="section-head"><h2>Spent in ${days} days</h2><a href="/account/usage">Usage</a></div>
    <${Loaded} from=${found} lines=${5}>${({ usage, data }) => html`
      <p class="sum"><${Money} usd=${usage.total.cost} /> <span class="muted small">for ${usage.total.inferences.toLocaleString("en-US")} inferences</span></p>
      <${Bars} data=${data} height=${140}
        label=${`Spent by day over ${days} days, ${dollars(usage.total.cost)} in all`} />`}<//>
  </section>`;
}
