// The plan's limits, and where the account stands.
import { get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { AccountPage } from "../account/frame.js";
import { Loaded } from "../components/states.js";
import { Time } from "../components/time.js";

export const title = "Limits";

const LOOK_EVERY_S = 5;

export default function Page() {
  const found = useLoad((signal) => get("/limits", {}, { signal }), []);
  useEvery(LOOK_EVERY_S, found.reload);
  return html`<${AccountPage} title="Limits" lead="What your plan allows, and where you stand now.">
    <${Loaded} from=${found} lines=${8}>${({ data }) => html`<${Limits} limits=${data} />`}<//>
  <//>`;
}

function Limits({ limits }) {
  const { runs_per_minute: starts, concurrent_runs: runs, concurrent_direct: direct, integrated } = limits;
  return html`<div class="limits">
    <${Limit} name="Starts" of=${`in any ${starts.window_s} seconds, by hand, schedule or direct`} used=${starts.used} limit=${starts.limit}>
      ${starts.reset_at && html`One more is free <${Time} at=${starts.reset_at} isRelative />.`}<//>
    <${Limit} name="Runs at once" of="each holds a slot until it ends" used=${runs.in_use} limit=${runs.limit}>
      ${runs.waiting > 0 && `${runs.waiting} wait for a slot, first come first served.`}<//>
    <${Limit} name="Direct evaluations at once" of="each holds a slot while it streams" used=${direct.in_use} limit=${direct.limit} />
    <${Limit} name="Requests to integrated llms" of="in the last 24 hours" used=${integrated.requests_per_day.used} limit=${integrated.requests_per_day.limit} />
    <${Limit} name="Tokens of integrated llms" of="in the last 24 hours" used=${integrated.tokens_per_day.used} limit=${integrated.tokens_per_day.limit} />
  </div>
  <section class="panel plan">
    <h2>Plan</h2>
    <dl class="facts pairs">
      <div><dt>Plan</dt><dd>${limits.plan}</dd></div>
      <div><dt>Charged</dt><dd>${limits.metered ? html`yes, see <a href="/account/usage">usage</a>` : "no"}</dd></div>
      <div><dt>Times the cost</dt><dd>${limits.multiplier.toFixed(2)} of user, judge and integrated llms; your own gateways are never multiplied</dd></div>
      <div><dt>Resources</dt><dd>${limits.resources_per_test} a test</dd></div>
    </dl>
  </section>`;
}

const number = (value) => value.toLocaleString("en-US");

/** How much of a limit is used. `children` say when it gets better. */
function Limit({ name, of, used, limit, children }) {
  const isFull = limit !== null && used >= limit;
  const says = limit === null ? `${number(used)}, no limit` : `${number(used)} of ${number(limit)}`;
  return html`<section class="panel limit">
    <h2>${name}</h2>
    <p class="muted small">${of}</p>
    <p class=${`limit-says${isFull ? " bad" : ""}`}>${says}${isFull && ", full"}</p>
    ${limit !== null && html`<svg class="meter" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      <rect class="meter-ground" width="100" height="6" rx="1" /><rect class=${`meter-used${isFull ? " bad" : ""}`} width=${Math.min(100, (100 * used) / limit || 0)} height="6" rx="1" />
    </svg>`}
    ${children && html`<p class="muted small">${children}</p>`}
  </section>`;
}
