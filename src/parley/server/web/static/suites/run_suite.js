// Run a suite by hand: how, and how much it may cost, before anything starts.
import { useState } from "preact/hooks";
import { get, post } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { isWhole, useAct } from "../account/act.js";
import { Button } from "../components/button.js";
import { Dialog } from "../components/dialog.js";
import { TextField } from "../components/field.js";
import { Failure } from "../components/states.js";
import { HowToRun, plain } from "./how_to_run.js";

/** The button, and the question it asks. `suite` is a line or a detail. */
export function RunSuite({ suite, kind = "plain" }) {
  const [isOpen, setOpen] = useState(false);
  const refusal = may("evaluations:write") ? null : "The key of this session may not run suites (scope evaluations:write).";
  return html`<${Button} kind=${kind} disabled=${Boolean(refusal)} title=${refusal} aria-label=${`Run ${suite.name} now`}
      onClick=${() => setOpen(true)}>Run now<//>
    ${isOpen && html`<${Question} suite=${suite} onClose=${() => setOpen(false)} />`}`;
}

function Question({ suite, onClose }) {
  const stored = useLoad((signal) => get(`/suites/${suite.id}`, {}, { signal }), [suite.id]);
  const [how, setHow] = useState({});
  const [source, setSource] = useState({});
  // One key for this question: a click too many, or one whose answer was lost, starts nothing twice.
  const [key] = useState(() => crypto.randomUUID());
  const [isBusy, start, error] = useAct(
    async () => {
      const headers = { "Idempotency-Key": key };
      const { data } = await post(`/suites/${suite.id}/evaluations`, { ...plain(how), ...plain(source) }, { headers });
      navigate(`/evaluations/${data.id}`);
    },
    { keepsError: true },
  );
  const submit = (event) => {
    event.preventDefault();
    start();
  };
  const count = suite.case_count === 1 ? "one test" : `${suite.case_count} tests`;
  return html`<${Dialog} title=${`Run “${suite.name}” now`} onClose=${onClose} isWide>
    <p>Starts the runs of ${count}, as quota and slots come free. What is left empty is as the suite has it.</p>
    <form class="form" noValidate onSubmit=${submit}>
      ${isWhole(error) && html`<${Failure} error=${error} title="It was not started" />`}
      <${HowToRun} value=${how} onChange=${setHow} splits=${suite.splits} defaults=${stored.data?.data.defaults} error=${error} />
      <div class="fields">
        <${TextField} label="Branch" value=${source.branch} onChange=${(branch) => setSource({ ...source, branch })} problem=${error?.problems?.branch} />
        <${TextField} label="Commit" value=${source.commit} onChange=${(commit) => setSource({ ...source, commit })} problem=${error?.problems?.commit} />
      </div>
      <div class="dialog-actions"><${Button} onClick=${onClose}>Not now<//>
        <${Button} kind="primary" type="submit" isBusy=${isBusy}>Start<//></div>
    </form>
  <//>`;
}
