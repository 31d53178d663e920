// Write a suite: a new one, or a stored one.
import { useEffect, useState } from "preact/hooks";
import { get, patch, post } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { holdReader, navigate } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { isWhole, problemOf, toFirstProblem, useAct } from "../account/act.js";
import { Button } from "../components/button.js";
import { CheckField, TextArea, TextField } from "../components/field.js";
import { Failure } from "../components/states.js";
import { tell } from "../components/toast.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";
import { HowToRun, plain } from "../suites/how_to_run.js";
import { Members, splitsOf } from "../suites/members.js";
import { bodyOfScript, draftOfScript, ScriptEditor } from "../suites/script_editor.js";
import { CronField } from "../tests/cron.js";

const BLANK = { name: "", description: "", members: [], script: null, defaults: {}, cron: "", enabled: true };

/** A stored suite as the form has it. */
const draftOf = ({ name, description, cases, script, defaults, cron, enabled }) => ({
  name,
  description: description ?? "",
  members: cases.filter((one) => one.kind === "simulated").map((one) => ({ test_id: one.test_id, name: one.name, splits: one.splits.join(", ") })),
  script: draftOfScript(script),
  defaults: plain(defaults),
  cron: cron ?? "",
  enabled,
});

/** The form as the API takes it. */
const bodyOf = ({ name, description, members, script, defaults, cron, enabled }) => ({
  name,
  description: description.trim() || null,
  cases: members.map((one) => ({ test_id: one.test_id, splits: splitsOf(one.splits) })),
  script: bodyOfScript(script),
  defaults: plain(defaults),
  cron: cron?.trim() || null,
  enabled,
});

export default function Page({ params }) {
  if (!params.id) return html`<${Editor} stored=${null} />`;
  return html`<${Stored} id=${params.id} />`;
}

function Stored({ id }) {
  const found = useLoad((signal) => get(`/suites/${id}`, {}, { signal }), [id]);
  return html`<${LoadedPage} title="Suite" from=${found} lines=${10}>${({ data }) => html`<${Editor} stored=${data} />`}<//>`;
}

function Editor({ stored }) {
  const [start] = useState(() => (stored ? draftOf(stored) : BLANK));
  const [draft, setDraft] = useState(start);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(start);
  const set = (name) => (value) => setDraft((before) => ({ ...before, [name]: value }));
  const [isBusy, save, error] = useAct(
    async () => {
      const body = bodyOf(draft);
      const { data } = stored ? await patch(`/suites/${stored.id}`, body) : await post("/suites", body);
      holdReader(() => false);
      tell(stored ? "Saved." : "The suite was made.");
      navigate(`/evaluations/suites/${data.id}`);
    },
    { keepsError: true },
  );
  useEffect(() => holdReader(() => isChanged && !isBusy), [isChanged, isBusy]);
  useEffect(() => error && toFirstProblem(), [error]);
  const title = stored ? `Edit ${stored.name}` : "New suite";
  useTitle(title);
  const crumbs = html`<a href="/evaluations/suites">Suites</a>${stored && html` / <a href=${`/evaluations/suites/${stored.id}`}>${stored.name}</a>`}`;
  const submit = (event) => {
    event.preventDefault();
    save();
  };
  return html`<${EvaluationsPage} title=${title} crumbs=${crumbs}>
    <form class="form" noValidate onSubmit=${submit}>
      ${!may("evaluations:write") && html`<p class="note warn">The key of this session may read suites, but not write them (scope evaluations:write).</p>`}
      ${isWhole(error) && html`<${Failure} error=${error} title="It was not saved" />`}
      <section class="panel"><h2>Suite</h2><div class="fields">
        <${TextField} label="Name" value=${draft.name} required problem=${problemOf(error, "name")} onChange=${set("name")} />
        <${TextArea} label="Description" rows=${2} value=${draft.description} problem=${problemOf(error, "description")} onChange=${set("description")} />
      </div></section>
      <section class="panel"><h2>Tests</h2><${Members} members=${draft.members} onChange=${set("members")} error=${error} /></section>
      <section class="panel"><h2>Scripted cases</h2><${ScriptEditor} draft=${draft.script} onChange=${set("script")} error=${error} /></section>
      <section class="panel"><h2>Schedule</h2><div class="fields">
        <${CronField} label="When it runs by itself" badge="optional, UTC" value=${draft.cron} problem=${problemOf(error, "cron")} onChange=${set("cron")} />
        <${CheckField} label="The schedule is followed" value=${draft.enabled} onChange=${set("enabled")} />
      </div></section>
      <section class="panel"><h2>How it runs unless told otherwise</h2>
        <${HowToRun} value=${draft.defaults} onChange=${set("defaults")} error=${error} prefix="defaults."
          splits=${[...new Set(draft.members.flatMap((one) => splitsOf(one.splits)))]} /></section>
      <div class="save-bar at-end">
        <p class="muted">${isChanged ? "Not saved yet." : "Nothing changed yet."}</p>
        <div class="actions">
          <${Button} href=${stored ? `/evaluations/suites/${stored.id}` : "/evaluations/suites"}>Leave<//>
          <${Button} kind="primary" type="submit" isBusy=${isBusy} disabled=${!may("evaluations:write") || (stored && !isChanged)}>
            ${stored ? "Save" : "Make the suite"}<//>
        </div>
      </div>
    </form>
  <//>`;
}
