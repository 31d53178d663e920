// One run: the conversation, live while it goes on, beside its scores; and the turn that decided it.
import { useEffect, useState } from "preact/hooks";
import { get, post } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { place, withQuery } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { RunBadge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Confirm } from "../components/dialog.js";
import { Menu } from "../components/menu.js";
import { Money } from "../components/money.js";
import { Loaded } from "../components/states.js";
import { Duration, Time } from "../components/time.js";
import { tell, tellError } from "../components/toast.js";
import { Conversation } from "../run/conversation.js";
import { deciding } from "../run/deciding.js";
import { HookAudit } from "../run/hooks.js";
import { keptItems, opinionsOf } from "../run/items.js";
import { useLive } from "../run/live.js";
import { Snapshot } from "../run/snapshot.js";
import { Trajectory } from "../run/trajectory.js";
import { RunNow } from "../tests/run_now.js";

const LOOK_EVERY_S = 5;
const isOpen = (run) => run.state === "pending" || run.state === "running";

export default function Page({ params, query }) {
  const path = `/agentic-tests/${params.id}/runs/${params.run}`;
  const found = useLoad((signal) => get(path, {}, { signal }), [path]);
  useTitle(found.data && `Run of ${found.data.data.test_name}`);
  return html`<${Loaded} from=${found} lines=${14}>${({ data }) =>
    html`<${Run} key=${data.id} run=${data} path=${path} reload=${found.reload} isMarkdown=${query.has("markdown")} />`}<//>`;
}

function Run({ run, path, reload, isMarkdown }) {
  const live = useLive(`${path}/events`, isOpen(run), reload);
  useEvery(LOOK_EVERY_S, () => isOpen(run) && reload());
  const items = isOpen(run) && live ? live.items : keptItems(run);
  const opinions = opinionsOf(items);
  const decision = deciding(run, opinions);
  useEffect(() => {
    document.getElementById(place.value.hash.slice(1))?.scrollIntoView();
  }, []);
  return html`
    <${Head} run=${run} path=${path} reload=${reload} />
    ${decision && html`<p class=${`note decision ${noteLook(run)}`}>${decision.text}
      ${decision.turn && html` <a href=${`#turn-${decision.turn}`}>Go to turn ${decision.turn}</a>`}</p>`}
    <${Facts} run=${run} />
    <div class="inspector">
      <div class="talk" aria-live=${isOpen(run) ? "polite" : null}>
        <div class="section-head"><h2>Conversation</h2>
          <label class="small"><input type="checkbox" checked=${isMarkdown}
            onChange=${() => withQuery({ markdown: isMarkdown ? null : "1" })} /> show Markdown</label></div>
        <${Conversation} items=${items} start=${run.definition.fields.start ?? []} decided=${decision?.turn} isMarkdown=${isMarkdown} />
        ${!items.length && html`<p class="muted">${run.state === "pending" ? "It waits for a slot and a worker." : "Nothing has been said yet."}</p>`}
      </div>
      <aside class="stack" aria-label="About the run">
        <section class="panel"><h2>Trajectory</h2>
          ${opinions.length
            ? html`<${Trajectory} opinions=${opinions} fields=${run.definition.fields} />`
            : html`<p class="muted">The judge has not spoken ${isOpen(run) ? "yet" : "in this run"}.</p>`}</section>
        <${HookAudit} calls=${run.result?.hooks} />
        <${Snapshot} run=${run} />
      </aside>
    </div>`;
}

const noteLook = (run) => (run.outcome === "success" ? "" : run.outcome === "loss" || run.state === "failed" ? "bad" : "warn");

function Head({ run, path, reload }) {
  return html`<div class="page-head">
    <div>
      <p class="crumbs"><a href="/tests">Tests</a> / <a href=${`/tests/${run.test_id}`}>${run.test_name}</a></p>
      <h1>Run of ${run.test_name} <${RunBadge} run=${run} /></h1>
      <p><${Time} at=${run.created_at} />, started by ${TRIGGERS[run.trigger]}</p>
    </div>
    <div class="actions">
      ${isOpen(run) ? html`<${Cancel} path=${path} reload=${reload} />` : html`<${RunNow} test=${{ id: run.test_id, name: run.test_name }} kind="primary" />`}
      <${Button} href=${`/tests/${run.test_id}/compare?right=${run.id}`}>Compare<//>
      <${Menu} label="More" kind="plain" title="More about this run">
        <a role="menuitem" href=${`/api/v1${path}/export`} download=${`run-${run.id}.json`}>Export as JSON</a>
        <a role="menuitem" href=${`/tests/${run.test_id}`}>To the test</a>
      <//>
    </div>
  </div>`;
}

const TRIGGERS = { manual: "hand", schedule: "its schedule", suite: "a suite" };

function Cancel({ path, reload }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const cancel = async () => {
    setBusy(true);
    try {
      await post(`${path}/cancel`);
      tell("The run is being cancelled.");
      reload();
      setAsking(false);
    } catch (error) {
      tellError(error);
    }
    setBusy(false);
  };
  return html`<${Button} disabled=${!may("runs:write")} onClick=${() => setAsking(true)}>Cancel the run<//>
    ${isAsking && html`<${Confirm} title="Cancel this run?" label="Cancel the run" kind="danger" isBusy=${isBusy}
      onConfirm=${cancel} onClose=${() => setAsking(false)}>
      <p>It ends within two seconds, without an outcome. What was said stays, and is charged.</p>
    <//>`}`;
}

function Facts({ run }) {
  const facts = [
    ["Score", run.score === null ? "–" : run.score.toFixed(3)],
    ["Turns", `${run.result?.turn_number ?? Math.max(0, ...run.conversation.map((item) => item.turn))} of ${run.definition.fields.max_turns}`],
    ["Took", html`<${Duration} from=${run.started_at} to=${run.finished_at} />`],
    ["Cost", html`<${Money} usd=${run.cost} />`],
    ["Seed", run.seed],
    ["Revision", html`<code>${run.revision.slice(0, 12)}</code>`],
  ];
  return html`<dl class="facts run-facts">${facts.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
