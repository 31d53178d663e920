// One gateway, new or stored: its form, its check, its end.
import { useEffect, useState } from "preact/hooks";
import { del, get, patch, post } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { holdReader, navigate } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { isWhole, toFirstProblem, useAct } from "../account/act.js";
import { CheckGateway } from "../account/check.js";
import { AccountPage, ScopeNote } from "../account/frame.js";
import { GatewayForm, bodyOf, draftOf } from "../account/gateway_form.js";
import { Button } from "../components/button.js";
import { Confirm } from "../components/dialog.js";
import { Failure, Loaded } from "../components/states.js";
import { tell } from "../components/toast.js";

const CRUMBS = html`<a href="/account/gateways">Gateways</a>`;

export default function Page({ params }) {
  return params.id ? html`<${Stored} id=${params.id} />` : html`<${New} />`;
}

function New() {
  useTitle("New gateway");
  const made = async (body) => {
    const { data } = await post("/ai-gateways", body);
    tell("The gateway was made. Check that it answers.");
    return () => navigate(`/account/gateways/${data.id}`);
  };
  return html`<${AccountPage} title="New gateway" crumbs=${CRUMBS} lead="A name, an address and an llm are enough.">
    <${Editor} save=${made} label="Make the gateway" />
  <//>`;
}

function Stored({ id }) {
  const found = useLoad((signal) => get(`/ai-gateways/${id}`, {}, { signal }), [id]);
  const saved = async (body) => {
    await patch(`/ai-gateways/${id}`, body);
    tell("Saved.");
    return found.reload;
  };
  return html`<${Loaded} from=${found} lines=${10}>${({ data }) => html`<${Known} gateway=${data} save=${saved} />`}<//>`;
}

function Known({ gateway, save }) {
  useTitle(gateway.name);
  const actions = html`<${CheckGateway} gateway=${gateway} /><${Delete} gateway=${gateway} />`;
  return html`<${AccountPage} title=${gateway.name} crumbs=${CRUMBS} lead=${html`Tests name it <code>${gateway.slug}</code>.`} actions=${actions}>
    <${Editor} key=${gateway.updated_at} gateway=${gateway} save=${save} label="Save" />
  <//>`;
}

/** `save(body)` stores it and gives what comes next. */
function Editor({ gateway = null, save, label }) {
  const [draft, setDraft] = useState(() => draftOf(gateway));
  const [faults, setFaults] = useState({});
  const body = bodyOf(draft, gateway);
  const isChanged = Object.keys(body).length > 0;
  const isFaulty = Object.values(faults).some(Boolean);
  const [isBusy, send, error, forget] = useAct(
    async () => {
      const next = await save(body).catch((fault) => {
        toFirstProblem();
        throw fault;
      });
      holdReader(() => false);
      next();
    },
    { keepsError: true },
  );
  useEffect(() => holdReader(() => isChanged && !isBusy), [isChanged, isBusy]);
  const change = (name, value) => {
    setDraft((now) => ({ ...now, [name]: value }));
    forget(name);
  };
  const submit = (event) => {
    event.preventDefault();
    if (isFaulty) toFirstProblem();
    else send();
  };
  return html`<${ScopeNote} scope="tests:write" act="change gateways" />
    <form class="form" novalidate onSubmit=${submit}>
    <${GatewayForm} gateway=${gateway} draft=${draft} change=${change} error=${error} onFault=${(name, fault) => setFaults((now) => ({ ...now, [name]: fault }))} />
    ${isWhole(error) && html`<${Failure} error=${error} title="It was not saved" />`}
    <div class="save-bar">
      <p class="muted" aria-live="polite">${isFaulty ? "A field is not JSON yet." : error ? "It was not saved: see the fields." : isChanged ? "Not saved yet." : "Nothing changed yet."}</p>
      <div class="actions">
        <${Button} href="/account/gateways">Leave<//>
        <${Button} kind="primary" type="submit" isBusy=${isBusy} disabled=${!may("tests:write") || (gateway && !isChanged)}>${label}<//>
      </div>
    </div>
  </form>`;
}

function Delete({ gateway }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, remove, error] = useAct(
    async () => {
      await del(`/ai-gateways/${gateway.id}`);
      tell(`${gateway.name} was deleted.`);
      navigate("/account/gateways");
    },
    { keepsError: true },
  );
  return html`<${Button} kind="danger" disabled=${!may("tests:write")} onClick=${() => setAsking(true)}>Delete<//>
    ${isAsking && html`<${Confirm} title=${`Delete ${gateway.name}?`} label="Delete the gateway" kind="danger" isBusy=${isBusy} onConfirm=${remove} onClose=${() => setAsking(false)}>
      ${error ? html`<${Refused} error=${error} />` : html`<p>A gateway that tests go to cannot be deleted. Runs that have ended keep what they know of it.</p>`}
    <//>`}`;
}

function Refused({ error }) {
  return html`<div class="note bad" role="alert"><p>${error.message}</p></div>
    ${error.details?.tests && html`<p>Delete these tests first, or give them another gateway:</p>
    <ul>${error.details.tests.map((test) => html`<li><a href=${`/tests/${test.id}`}>${test.name}</a></li>`)}</ul>`}`;
}
