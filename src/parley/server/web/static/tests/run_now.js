// Start a run by hand, with quota, balance and likely cost in sight before anything is spent.
import { useState } from "preact/hooks";
import { get, post } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { Button } from "../components/button.js";
import { Dialog } from "../components/dialog.js";
import { NumberField } from "../components/field.js";
import { dollars } from "../components/money.js";
import { Failure, Loading } from "../components/states.js";
import { Time } from "../components/time.js";

const LOOKED_AT = 20;

async function readStanding(testId, signal) {
  const [limits, balance, runs] = await Promise.all([
    get("/limits", {}, { signal }),
    get("/information/balance", {}, { signal }).catch((error) => (error.status === 403 ? null : Promise.reject(error))),
    get(`/agentic-tests/${testId}/runs`, { state: "succeeded", limit: LOOKED_AT }, { signal }),
  ]);
  return { limits: limits.data, balance: balance?.data, costs: runs.data.map((run) => run.cost) };
}

/** The button, and the question it asks. `test` needs `id` and `name`. */
export function RunNow({ test, kind = "plain" }) {
  const [isOpen, setOpen] = useState(false);
  const refusal = may("runs:write") ? null : "The key of this session may not start runs (scope runs:write).";
  return html`<${Button} kind=${kind} disabled=${Boolean(refusal)} title=${refusal} aria-label=${`Run ${test.name} now`}
      onClick=${() => setOpen(true)}>Run now<//>
    ${isOpen && html`<${Question} test=${test} onClose=${() => setOpen(false)} />`}`;
}

function Question({ test, onClose }) {
  const standing = useLoad((signal) => readStanding(test.id, signal), [test.id]);
  const [seed, setSeed] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  // One key for this question: a click too many, or one whose answer was lost, starts no second run.
  const [key] = useState(() => crypto.randomUUID());
  const start = async () => {
    setBusy(true);
    setError(null);
    try {
      const body = seed === null ? undefined : { seed };
      const { data } = await post(`/agentic-tests/${test.id}/runs`, body, { headers: { "Idempotency-Key": key } });
      navigate(`/tests/${test.id}/runs/${data.id}`);
    } catch (fault) {
      setError(fault);
      setBusy(false);
      standing.reload();
    }
  };
  return html`<${Dialog} title=${`Run “${test.name}” now`} onClose=${onClose}>
    ${standing.data ? html`<${Standing} ...${standing.data} />` : !standing.error && html`<${Loading} lines=${2} />`}
    ${standing.error && html`<${Failure} error=${standing.error} retry=${standing.reload} />`}
    ${error && html`<${Failure} error=${error} title="The run was not started" />`}
    <${NumberField} label="Seed" badge="optional" value=${seed} onChange=${setSeed} min="0" problem=${error?.problems.seed}
      hint="Repeats the simulated user's traits and their turns. Without one, the test's; without that, a fresh one." />
    <div class="dialog-actions">
      <${Button} onClick=${onClose}>Not now<//>
      <${Button} kind="primary" isBusy=${isBusy} onClick=${start}>Start the run<//>
    </div>
  <//>`;
}

function Standing({ limits, balance, costs }) {
  const { runs_per_minute: starts, concurrent_runs: slots } = limits;
  const mean = costs.length ? costs.reduce((sum, cost) => sum + cost, 0) / costs.length : null;
  const waits = slots.in_use >= slots.limit;
  return html`<dl class="facts">
    <div><dt>Starts left this minute</dt>
      <dd>${starts.limit === null ? "no limit" : `${starts.remaining} of ${starts.limit}`}
        ${starts.remaining === 0 && html`<span>, one more <${Time} at=${starts.reset_at} isRelative /></span>`}</dd></div>
    <div><dt>Running at once</dt>
      <dd>${slots.in_use} of ${slots.limit}${waits ? `; this run waits behind ${slots.waiting}` : ""}</dd></div>
    <div><dt>Balance</dt>
      <dd>${limits.metered ? (balance ? dollars(balance.balance) : "not shown to this key") : "not charged"}</dd></div>
    <div><dt>Likely cost</dt>
      <dd>${mean === null ? "not known yet" : `about ${dollars(mean)}`}
        ${mean !== null && html`<span class="muted small"> (mean of ${costs.length})</span>`}</dd></div>
  </dl>`;
}
