// What can be done with an evaluation: pin it, judge it again, cancel it.
import { useState } from "preact/hooks";
import { del, post } from "../api.js";
import { html } from "../html.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { isWhole, problemOf, useAct } from "../account/act.js";
import { Button } from "../components/button.js";
import { Confirm, Dialog } from "../components/dialog.js";
import { NumberField, SelectField, TextArea } from "../components/field.js";
import { Failure } from "../components/states.js";
import { tell } from "../components/toast.js";
import { isOpen } from "./badges.js";

const SCOPE = "evaluations:write";

export function Acts({ evaluation, reload }) {
  if (isOpen(evaluation)) return html`<${Cancel} evaluation=${evaluation} reload=${reload} />`;
  return html`${evaluation.state === "completed" && html`<${Pin} evaluation=${evaluation} reload=${reload} />`}
    ${canBeJudgedAgain(evaluation) && html`<${Regrade} evaluation=${evaluation} />`}`;
}

/** Posted answers, and conversations; what was scripted is not judged again. */
function canBeJudgedAgain({ kind, grading }) {
  return kind === "custom" || grading.kinds?.includes("simulated");
}

function Pin({ evaluation, reload }) {
  const path = `/evaluations/${evaluation.id}/pin`;
  const [isBusy, turn] = useAct(async () => {
    if (evaluation.pinned) await del(path);
    else await post(path);
    tell(evaluation.pinned ? "The pin is taken away." : "This is the pinned baseline now.");
    reload();
  });
  return html`<${Button} isBusy=${isBusy} disabled=${!may(SCOPE)} onClick=${turn}
    title="Gates that ask for the baseline pinned compare with it">${evaluation.pinned ? "Take the pin away" : "Pin as baseline"}<//>`;
}

function Cancel({ evaluation, reload }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, cancel] = useAct(async () => {
    tell((await post(`/evaluations/${evaluation.id}/cancel`)).message);
    setAsking(false);
    reload();
  });
  return html`<${Button} kind="danger" disabled=${!may(SCOPE)} onClick=${() => setAsking(true)}>Cancel<//>
    ${isAsking && html`<${Confirm} title="Cancel this evaluation?" label="Cancel it" kind="danger" isBusy=${isBusy} onConfirm=${cancel} onClose=${() => setAsking(false)}>
      <p>Results that are not scored yet are skipped. What is scored stays.</p>
    <//>`}`;
}

function Regrade({ evaluation }) {
  const [isOpened, setOpened] = useState(false);
  return html`<${Button} disabled=${!may(SCOPE)} onClick=${() => setOpened(true)}>Judge again<//>
    ${isOpened && html`<${RegradeDialog} evaluation=${evaluation} onClose=${() => setOpened(false)} />`}`;
}

const PROFILES = [["", "as before"], ["low", "low"], ["medium", "medium"], ["high", "high"]];
const VOTES = [["", "as before"], ["1", "one vote"], ["3", "median of three"], ["5", "median of five"]];

function RegradeDialog({ evaluation, onClose }) {
  const [profile, setProfile] = useState("");
  const [votes, setVotes] = useState("");
  const [mark, setMark] = useState(null);
  const [criteria, setCriteria] = useState("");
  const [isBusy, begin, error] = useAct(
    async () => {
      const given = { profile, votes: votes && Number(votes), pass_rating: mark, criteria };
      const body = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "" && value !== null));
      const { data, message } = await post(`/evaluations/${evaluation.id}/regrade`, body);
      tell(message);
      navigate(`/evaluations/${data.id}`);
    },
    { keepsError: true },
  );
  const submit = (event) => {
    event.preventDefault();
    begin();
  };
  return html`<${Dialog} title="Judge again" onClose=${onClose}>
    <p>What the agent said is judged by another grader, as a new evaluation. This one stays as it is.</p>
    <form class="form" noValidate onSubmit=${submit}>
      ${isWhole(error) && html`<${Failure} error=${error} />`}
      <${SelectField} label="Judge's profile" value=${profile} options=${PROFILES} onChange=${setProfile} problem=${problemOf(error, "profile")} />
      ${evaluation.kind === "custom" && html`<${SelectField} label="Votes" value=${votes} options=${VOTES} onChange=${setVotes} problem=${problemOf(error, "votes")} />
        <${NumberField} label="Pass mark" value=${mark} min=${0} max=${10} step="any" placeholder=${evaluation.pass_rating}
          onChange=${setMark} problem=${problemOf(error, "pass_rating")} />`}
      <${TextArea} label="Criteria" value=${criteria} hint="Empty: as before." onChange=${setCriteria} problem=${problemOf(error, "criteria")} />
      <div class="dialog-actions"><${Button} onClick=${onClose}>Not now<//>
        <${Button} kind="primary" type="submit" isBusy=${isBusy}>Judge again<//></div>
    </form>
  <//>`;
}
