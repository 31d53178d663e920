// Run a suite by hand: which cases, how, and how much it may cost, before anything starts.
import { useState } from "preact/hooks";
import { get, post } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { isWhole, problemOf, useAct } from "../account/act.js";
import { Button } from "../components/button.js";
import { Dialog } from "../components/dialog.js";
import { SelectField, TextField } from "../components/field.js";
import { Failure } from "../components/states.js";
import { ChooseCases } from "./choose_cases.js";
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
  const { cases = [], script = null, defaults } = stored.data?.data ?? {};
  const [how, setHow] = useState({});
  const [chosen, setChosen] = useState(null);
  const [judge, setJudge] = useState("");
  const [source, setSource] = useState({});
  // One key for this question: a click too many, or one whose answer was lost, starts nothing twice.
  const [key] = useState(() => crypto.randomUUID());
  const [isBusy, start, error] = useAct(
    async () => {
      const headers = { "Idempotency-Key": key };
      const body = { ...plain(how), ...plain(source), ...plain({ judge, cases: chosen }) };
      const { data } = await post(`/suites/${suite.id}/evaluations`, body, { headers });
      navigate(`/evaluations/${data.id}`);
    },
    { keepsError: true },
  );
  const submit = (event) => {
    event.preventDefault();
    start();
  };
  const count = suite.case_count === 1 ? "one case" : `${suite.case_count} cases`;
  if (script?.target.type === "process") return html`<${PlayedElsewhere} suite=${suite} onClose=${onClose} />`;
  return html`<${Dialog} title=${`Run “${suite.name}” now`} onClose=${onClose} isWide>
    <p>Starts ${count}, as quota and slots come free. What is left empty is as the suite has it.</p>
    <form class="form" noValidate onSubmit=${submit}>
      ${isWhole(error) && html`<${Failure} error=${error} title="It was not started" />`}
      <${HowToRun} value=${how} onChange=${setHow} splits=${suite.splits} defaults=${defaults} error=${error} />
      ${script && html`<${ChooseCases} cases=${cases} chosen=${chosen} onChange=${setChosen} problem=${problemOf(error, "cases")} />`}
      <div class="fields">
        ${script && html`<${SelectField} label="Judged by" value=${judge} options=${judgesOf(script)} problem=${problemOf(error, "judge")} onChange=${setJudge} />`}
        <${TextField} label="Branch" value=${source.branch} onChange=${(branch) => setSource({ ...source, branch })} problem=${error?.problems?.branch} />
        <${TextField} label="Commit" value=${source.commit} onChange=${(commit) => setSource({ ...source, commit })} problem=${error?.problems?.commit} />
      </div>
      <div class="dialog-actions"><${Button} onClick=${onClose}>Not now<//>
        <${Button} kind="primary" type="submit" isBusy=${isBusy}>Start<//></div>
    </form>
  <//>`;
}

/** A gateway has no judge of its own. */
function judgesOf({ judge, target }) {
  const asBefore = ["", judge === "app" ? "the app, as the suite says" : "the service, as the suite says"];
  return target.type === "app" ? [asBefore, ["service", "the service"], ["app", "the app"]] : [asBefore];
}

function PlayedElsewhere({ suite, onClose }) {
  return html`<${Dialog} title=${`“${suite.name}” is played in your own process`} onClose=${onClose}>
    <p>Run it there, and its result is kept here as an evaluation:</p>
    <pre class="code">parley evals run --entry app.evals:evals --upload</pre>
    <div class="dialog-actions"><${Button} onClick=${onClose}>Close<//></div>
  <//>`;
}
