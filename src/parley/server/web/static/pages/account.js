// Account: who it is, what it has left, and the key that signs calls of hooks.
import { useState } from "preact/hooks";
import { get, post, put } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { loadSessions, may } from "../session.js";
import { isWhole, problemOf, toFirstProblem, useAct } from "../account/act.js";
import { AccountPage, ScopeNote } from "../account/frame.js";
import { SecretDialog } from "../account/secret.js";
import { Badge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Copy } from "../components/copy.js";
import { Confirm } from "../components/dialog.js";
import { TextField } from "../components/field.js";
import { Money } from "../components/money.js";
import { Failure, Loaded } from "../components/states.js";
import { Time } from "../components/time.js";
import { tell } from "../components/toast.js";

export const title = "Account";

export default function Page() {
  const account = useLoad((signal) => get("/account", {}, { signal }), []);
  return html`<${AccountPage} title="Account" lead="Who this is, and where alerts go.">
    <div class="split">
      <div class="stack">
        <section class="panel">
          <h2>Particulars</h2>
          <${Loaded} from=${account} lines=${5}>${({ data }) => html`<${Particulars} account=${data} />`}<//>
        </section>
        <${HookKey} />
      </div>
      <div class="stack">
        <section class="panel"><h2>Plan</h2><${Loaded} from=${account} lines=${3}>${({ data }) => html`<${Plan} account=${data} />`}<//></section>
        <${Balance} />
      </div>
    </div>
  <//>`;
}

function Particulars({ account }) {
  const { name, owner_email, alerts_contact } = account;
  const [draft, setDraft] = useState({ name, owner_email, alerts_contact });
  const [isBusy, save, error, forget] = useAct(
    async () => {
      const fields = Object.fromEntries(Object.entries(draft).map(([field, text]) => [field, text?.trim() || null]));
      const saved = (await put("/account", { ...fields, name: draft.name }).catch((fault) => {
        toFirstProblem();
        throw fault;
      })).data;
      setDraft({ name: saved.name, owner_email: saved.owner_email, alerts_contact: saved.alerts_contact });
      tell("Saved.");
      await loadSessions();
    },
    { keepsError: true },
  );
  const frame = (field) => ({
    value: draft[field],
    problem: problemOf(error, field),
    onChange: (text) => {
      setDraft((now) => ({ ...now, [field]: text }));
      forget(field);
    },
  });
  return html`<form class="form" novalidate onSubmit=${(event) => (event.preventDefault(), save())}>
    <${ScopeNote} scope="account:write" act="change the account" />
    <div class="fields">
      <${TextField} label="Name" badge="required" ...${frame("name")} required />
      <${TextField} label="Owner's e-mail" type="email" hint="Alerts go there." ...${frame("owner_email")} />
      <${TextField} label="Contact of alerts" type="email" hint="Gets alerts too; a mailing list, say." ...${frame("alerts_contact")} />
    </div>
    ${isWhole(error) && html`<${Failure} error=${error} title="It was not saved" />`}
    <div class="actions"><${Button} kind="primary" type="submit" isBusy=${isBusy} disabled=${!may("account:write")}>Save<//></div>
  </form>`;
}

function Plan({ account }) {
  return html`<dl class="facts pairs">
    <div><dt>Plan</dt><dd>${account.plan} · <a href="/account/limits">limits</a></dd></div>
    <div><dt>Standing</dt><dd><${Badge} of=${account.status === "active" ? "success" : "failed"}>${account.status}<//></dd></div>
    <div><dt>Since</dt><dd><${Time} at=${account.created_at} /></dd></div>
    <div><dt>Id</dt><dd><code class="small">${account.id}</code> <${Copy} text=${account.id} label="Copy id" /></dd></div>
  </dl>`;
}

function Balance() {
  const found = useLoad((signal) => get("/information/balance", {}, { signal }), []);
  return html`<section class="panel">
    <div class="section-head"><h2>Balance</h2><a href="/account/usage">Usage</a></div>
    <${Loaded} from=${found} lines=${2}>${({ data }) => html`
      <p class="sum"><${Money} usd=${data.balance} /></p>
      <p class="muted small">${balanceWords(data)}</p>`}<//>
  </section>`;
}

function balanceWords({ balance, metered }) {
  if (!metered) return "This plan is not metered: usage is shown, not charged.";
  if (balance <= 0) return "New runs are refused until your operator adds credit.";
  return "A run starts while this is above zero. Credit is added by your operator.";
}

function HookKey() {
  const found = useLoad((signal) => get("/account/hook-key", {}, { signal }), []);
  const [isAsking, setAsking] = useState(false);
  const [key, setKey] = useState(null);
  const [isBusy, roll] = useAct(async () => {
    setKey((await post("/account/hook-key/roll")).data.key);
    setAsking(false);
    found.reload();
  });
  const kept = () => setKey(null);
  return html`<section class="panel">
    <h2>Hook key</h2>
    <p class="muted">Signs the calls to your hooks, so that a receiver knows them as yours.</p>
    <${Loaded} from=${found} lines=${2}>${({ data }) => html`
      <p class="hook-key">${data.rolled_at ? html`Made <${Time} at=${data.rolled_at} />.` : "There is none yet: calls go out unsigned."}</p>
      <${Button} isBusy=${isBusy} disabled=${!may("account:write")} onClick=${() => (data.rolled_at ? setAsking(true) : roll())}>
        ${data.rolled_at ? "Roll the key" : "Make a key"}<//>`}<//>
    ${isAsking && html`<${Confirm} title="Roll the hook key?" label="Roll the key" isBusy=${isBusy} onConfirm=${roll} onClose=${() => setAsking(false)}>
      <p>Runs that begin from now on sign with the new key; those under way go on with the old one. Receivers need the new key at once.</p>
    <//>`}
    ${key && html`<${SecretDialog} title="The new hook key" text=${key} onClose=${kept} />`}
  </section>`;
}
