// One test: what it tries, how it went lately, when it runs next.
import { useState } from "preact/hooks";
import { del, get } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { Button } from "../components/button.js";
import { Confirm } from "../components/dialog.js";
import { Menu } from "../components/menu.js";
import { Loaded } from "../components/states.js";
import { Time } from "../components/time.js";
import { tell, tellError } from "../components/toast.js";
import { Definition } from "../tests/definition.js";
import { RunNow } from "../tests/run_now.js";
import { Runs, useRuns } from "../tests/runs.js";

export default function Page({ params, query }) {
  const found = useLoad((signal) => get(`/agentic-tests/${params.id}`, {}, { signal }), [params.id]);
  const state = query.get("state") ?? "";
  const runs = useRuns(params.id, state);
  useEvery(15, found.reload);
  useTitle(found.data?.data.name);
  return html`<${Loaded} from=${found} lines=${10}>${({ data }) => html`<${Test} test=${data} state=${state} runs=${runs} />`}<//>`;
}

function Test({ test, state, runs }) {
  return html`
    <div class="page-head">
      <div>
        <p class="crumbs"><a href="/tests">Tests</a></p>
        <h1>${test.name}</h1>
        <p>${test.gateway}</p>
      </div>
      <div class="actions">
        <${RunNow} test=${test} kind="primary" />
        <${Button} href=${`/tests/${test.id}/edit`}>Edit<//>
        <${More} test=${test} />
      </div>
    </div>
    <div class="split">
      <div class="stack"><${Runs} test=${test} state=${state} found=${runs} /><${Definition} test=${test} /></div>
      <div class="stack"><${Schedule} test=${test} /><${Rules} test=${test} /></div>
    </div>`;
}

function More({ test }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const remove = async () => {
    setBusy(true);
    try {
      await del(`/agentic-tests/${test.id}`);
      tell(`“${test.name}” was deleted.`);
      navigate("/tests", { replace: true });
    } catch (error) {
      tellError(error);
      setBusy(false);
    }
  };
  return html`<${Menu} label="More" kind="plain" title="More about this test">
      <a role="menuitem" href=${`/tests/new?from=${test.id}`}>Duplicate</a>
      <a role="menuitem" href=${`/api/v1/agentic-tests/file?id=${test.id}`} download="tests.yaml">Export as YAML</a>
      ${may("tests:write") && html`<button type="button" role="menuitem" onClick=${() => setAsking(true)}>Delete</button>`}
    <//>
    ${isAsking && html`<${Confirm} title=${`Delete “${test.name}”?`} label="Delete the test" kind="danger" isBusy=${isBusy}
      onConfirm=${remove} onClose=${() => setAsking(false)}>
      <p>It is gone at once: its open runs are cancelled and its runs removed, except those of an evaluation. What they
        cost stays in the ledger.</p>
    <//>`}`;
}

function Schedule({ test }) {
  const { schedule, upcoming, enabled, cron, last_skip: skip } = test;
  return html`<section class="panel">
    <h2>Schedule</h2>
    ${!cron && html`<p class="muted">It runs by hand only. <a href=${`/tests/${test.id}/edit#schedule`}>Give it a schedule</a></p>`}
    ${cron && html`<p>${schedule ?? cron}${enabled ? "" : html` <strong>(paused)</strong>`}</p><p class="muted small"><code>${cron}</code></p>`}
    ${upcoming.length > 0 && html`<h3>Next</h3><ol>${upcoming.map((at) => html`<li key=${at}><${Time} at=${at} /></li>`)}</ol>`}
    ${skip && html`<h3>Last left out</h3><p><${Time} at=${skip.due_at} />: ${skip.reason}</p>`}
  </section>`;
}

function Rules({ test }) {
  const facts = [
    ["Profile", test.profile],
    ["Turns", `up to ${test.max_turns}`],
    ["User may leave", test.allow_user_exit ? `from turn ${test.minimum_turns}` : "never"],
    ["Judged", test.judge_start_turn === 1 ? "every turn" : `from turn ${test.judge_start_turn}`],
    ["Success", `from a score of ${test.base_threshold}`],
    ["Loss", `at ${test.loss_threshold} or less, twice in a row`],
    ["Seed", test.seed ?? "drawn at each start"],
    ["Failures in a row", test.consecutive_failures],
    ["Changed", html`<${Time} at=${test.updated_at} />`],
    ["Revision", html`<code class="small">${test.revision.slice(0, 12)}</code>`],
  ];
  return html`<section class="panel">
    <h2>Rules</h2>
    <dl class="facts pairs">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
  </section>`;
}
