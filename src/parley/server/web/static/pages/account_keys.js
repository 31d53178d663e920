// The account's API keys: made, shown once, revoked.
import { useState } from "preact/hooks";
import { del, post } from "../api.js";
import { html } from "../html.js";
import { current, loadSessions, may } from "../session.js";
import { isWhole, problemOf, useAct } from "../account/act.js";
import { AccountPage, ScopeNote } from "../account/frame.js";
import { useList } from "../account/list.js";
import { SecretDialog } from "../account/secret.js";
import { Badge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Confirm, Dialog } from "../components/dialog.js";
import { CheckField, SelectField, TextField } from "../components/field.js";
import { Pager } from "../components/pager.js";
import { Failure, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { tell } from "../components/toast.js";

export const title = "Keys";

const DAY_MS = 86_400_000;
const LASTS = [["", "for good"], ["30", "30 days"], ["90", "90 days"], ["365", "a year"]];
const KINDS = [["private", "private: does what its scopes allow"], ["public", "public: may only ask who it is"]];
const SCOPES = {
  "tests:read": "read tests, gateways, runs",
  "tests:write": "change tests and gateways",
  "runs:write": "start and cancel runs",
  "evaluations:write": "write evaluations",
  "account:read": "read account, usage, keys, channels",
  "account:write": "change account, keys, channels",
  judge: "ask the judge",
};

/** How a key stands now. */
const standing = (key) => {
  if (key.revoked_at) return ["cancelled", "revoked"];
  return key.expires_at && new Date(key.expires_at) <= Date.now() ? ["cancelled", "expired"] : ["success", "good"];
};
const isOwn = (key) => key.shown === current.value?.key_shown;

const columns = (reload) => [
  { name: "Key", isMain: true, cell: (key) => html`<${Name} of=${key} />` },
  { name: "Standing", cell: (key) => html`<${Badge} of=${standing(key)[0]}>${standing(key)[1]}<//>` },
  { name: "May", cell: (key) => html`<span class="small">${key.kind === "public" ? "ask who it is" : scopesOf(key)}</span>` },
  { name: "Last used", cell: (key) => (key.last_used_at ? html`<${Time} at=${key.last_used_at} isRelative />` : html`<span class="muted">never</span>`) },
  { name: "Ends", cell: (key) => html`<${Ends} of=${key} />` },
  { name: "Revoke", isUnnamed: true, isNumber: true, width: "6.5rem", cell: (key) => !key.revoked_at && html`<${Revoke} of=${key} onDone=${reload} />` },
];

const scopesOf = ({ scopes }) => (scopes.length === Object.keys(SCOPES).length ? "everything" : scopes.join(", "));

const Name = ({ of: key }) => html`${key.name}${isOwn(key) && html`<span class="muted plain"> · this session</span>`}
  <div class="muted small plain"><code>${key.shown}</code></div>`;

function Ends({ of: key }) {
  if (key.revoked_at) return html`<${Time} at=${key.revoked_at} isRelative />`;
  return key.expires_at ? html`<${Time} at=${key.expires_at} isRelative />` : html`<span class="muted">never</span>`;
}

export default function Page() {
  const { found, rowsOf, page, more } = useList("/keys");
  const actions = html`<${NewKey} onDone=${found.reload} />`;
  return html`<${AccountPage} title="Keys" lead="What programs and people call the API with." actions=${actions}>
    <${ScopeNote} scope="account:write" act="make or revoke keys" />
    <${Loaded} from=${found} lines=${5}>${({ data }) => html`
      <${Table} caption="Keys" columns=${columns(found.reload)} rows=${rowsOf(data)} />
      <${Pager} page=${page} more=${more} />`}<//>
  <//>`;
}

function Revoke({ of: key, onDone }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, revoke] = useAct(async () => {
    await del(`/keys/${key.id}`);
    setAsking(false);
    tell(`${key.name} was revoked.`);
    onDone();
    if (isOwn(key)) await loadSessions();
  });
  return html`<${Button} disabled=${!may("account:write")} aria-label=${`Revoke ${key.name}`} onClick=${() => setAsking(true)}>Revoke<//>
    ${isAsking && html`<${Confirm} title=${`Revoke ${key.name}?`} label="Revoke the key" kind="danger" isBusy=${isBusy} onConfirm=${revoke} onClose=${() => setAsking(false)}>
      <p>Within ten seconds it is refused everywhere, and its sessions and open streams end. This cannot be undone.</p>
      ${isOwn(key) && html`<p class="note warn">This session is signed in with it, and ends as well.</p>`}
    <//>`}`;
}

function NewKey({ onDone }) {
  const [isOpen, setOpen] = useState(false);
  const [key, setKey] = useState(null);
  const made = (token) => {
    setOpen(false);
    setKey(token);
    onDone();
  };
  return html`<${Button} kind="primary" disabled=${!may("account:write")} onClick=${() => setOpen(true)}>New key<//>
    ${isOpen && html`<${KeyDialog} onMade=${made} onClose=${() => setOpen(false)} />`}
    ${key && html`<${SecretDialog} title="The new key" text=${key} onClose=${() => setKey(null)} />`}`;
}

function KeyDialog({ onMade, onClose }) {
  const own = current.value?.scopes ?? [];
  const [draft, setDraft] = useState({ name: "", kind: "private", scopes: own, lasts: "" });
  const change = (part) => setDraft((now) => ({ ...now, ...part }));
  const [isBusy, make, error, forget] = useAct(async () => onMade((await post("/keys", bodyOf(draft))).data.key), { keepsError: true });
  const turn = (scope, isOn) => change({ scopes: own.filter((one) => (one === scope ? isOn : draft.scopes.includes(one))) });
  return html`<${Dialog} title="New key" onClose=${onClose}>
    <form class="form" novalidate onSubmit=${(event) => (event.preventDefault(), make())}>
      <${TextField} label="Name" hint="What the key is for, such as pipeline." value=${draft.name} problem=${problemOf(error, "name")} onChange=${(name) => (change({ name }), forget("name"))} required />
      <${SelectField} label="Kind" value=${draft.kind} options=${KINDS} onChange=${(kind) => change({ kind })} />
      <${SelectField} label="Lasts" value=${draft.lasts} options=${LASTS} problem=${problemOf(error, "expires_at")} onChange=${(lasts) => change({ lasts })} />
      ${draft.kind === "private" && html`<fieldset class="field rows-field">
        <legend>What it may do</legend>
        ${problemOf(error, "scopes") && html`<p class="problem">${problemOf(error, "scopes")}</p>`}
        ${own.map((scope) => html`<${CheckField} key=${scope} label=${scope} hint=${SCOPES[scope]} value=${draft.scopes.includes(scope)} onChange=${(isOn) => turn(scope, isOn)} />`)}
      </fieldset>`}
      ${isWhole(error) && html`<${Failure} error=${error} title="It was not made" />`}
      <div class="dialog-actions"><${Button} onClick=${onClose}>Not now<//><${Button} kind="primary" type="submit" isBusy=${isBusy}>Make the key<//></div>
    </form>
  <//>`;
}

function bodyOf({ name, kind, scopes, lasts }) {
  const expires_at = lasts ? new Date(Date.now() + Number(lasts) * DAY_MS).toISOString() : null;
  return { name, kind, expires_at, ...(kind === "private" && { scopes }) };
}
