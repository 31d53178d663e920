// One channel, or e-mail: what was sent, and what became of it.
import { useState } from "preact/hooks";
import { del, get, patch } from "../api.js";
import { html } from "../html.js";
import { useEvery, useLoad } from "../load.js";
import { navigate } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { useAct } from "../account/act.js";
import { ChannelDialog } from "../account/channel_dialog.js";
import { AccountPage, ScopeNote } from "../account/frame.js";
import { useList } from "../account/list.js";
import { SecretDialog } from "../account/secret.js";
import { TryChannel } from "../account/try_channel.js";
import { Badge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Confirm } from "../components/dialog.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";
import { tell } from "../components/toast.js";

const CRUMBS = html`<a href="/account/channels">Channels</a>`;
const LOOK_EVERY_S = 10;
const EMAIL = { id: "email", name: "E-mail" };

const NEWS = {
  "test.failing": "a test keeps failing",
  "test.recovered": "a test recovered",
  "behaviour.lost": "behaviour turned bad",
  "behaviour.regained": "behaviour is good again",
  "gate.failed": "a gate refused",
  "channel.test": "test message",
};
const LOOKS = { delivered: "success", failed: "failed", pending: "pending" };

const COLUMNS = [
  { name: "News", isMain: true, cell: (line) => html`<${News} line=${line} />` },
  { name: "State", cell: (line) => html`<${Badge} of=${LOOKS[line.state]}>${line.state}<//>` },
  { name: "Tries", isNumber: true, cell: (line) => line.attempts },
  { name: "Answer", cell: (line) => html`<${Answer} line=${line} />` },
  { name: "Sent", cell: (line) => html`<${Time} at=${line.created_at} isRelative />` },
];

function News({ line }) {
  const words = NEWS[line.kind] ?? line.kind;
  if (line.run_id) return html`<a href=${`/tests/${line.test_id}/runs/${line.run_id}`}>${words}</a>`;
  return line.test_id ? html`<a href=${`/tests/${line.test_id}`}>${words}</a>` : html`<span class="plain">${words}</span>`;
}

function Answer({ line }) {
  return html`${line.status ?? html`<span class="muted">–</span>`}
    ${line.error && html`<div class="small">${line.error}</div>`}
    ${line.email && html`<div class="muted small">${line.email}</div>`}
    ${line.next_attempt_at && html`<div class="muted small">tried again <${Time} at=${line.next_attempt_at} isRelative /></div>`}`;
}

export default function Page({ params }) {
  if (params.id === EMAIL.id) return html`<${Email} />`;
  return html`<${Stored} id=${params.id} />`;
}

function Email() {
  useTitle(EMAIL.name);
  const log = useList("/channels/email/deliveries");
  const actions = html`<${TryChannel} channel=${EMAIL} onDone=${log.found.reload} />`;
  return html`<${AccountPage} title=${EMAIL.name} crumbs=${CRUMBS} lead="What was sent to the account's addresses." actions=${actions}>
    <${Log} log=${log} />
  <//>`;
}

function Stored({ id }) {
  const found = useLoad((signal) => get(`/channels/${id}`, {}, { signal }), [id]);
  const log = useList(`/channels/${id}/deliveries`);
  return html`<${Loaded} from=${found} lines=${8}>${({ data }) => html`<${Known} channel=${data} reload=${found.reload} log=${log} />`}<//>`;
}

function Known({ channel, reload, log }) {
  useTitle(channel.name);
  const actions = html`<${TryChannel} channel=${channel} onDone=${log.found.reload} />
    <${Change} channel=${channel} onDone=${reload} /><${Delete} channel=${channel} />`;
  const lead = html`${channel.format === "json" ? "Signed JSON" : "Plain text"} to <span class="address">${channel.shown_url}</span>${!channel.enabled && "; switched off"}`;
  return html`<${AccountPage} title=${channel.name} crumbs=${CRUMBS} lead=${lead} actions=${actions}>
    <${ScopeNote} scope="account:write" act="change or try channels" />
    <${Log} log=${log} />
  <//>`;
}

function Log({ log: { found, rowsOf, page, more } }) {
  useEvery(LOOK_EVERY_S, found.reload);
  return html`<section>
    <h2 class="log-head">What was sent</h2>
    <${Loaded} from=${found} lines=${5}>${({ data }) =>
      data.length
        ? html`<${Table} caption="Deliveries" columns=${COLUMNS} rows=${rowsOf(data)} /><${Pager} page=${page} more=${more} />`
        : html`<${Empty} title="Nothing was sent yet"><p>News is sent when a test begins to fail or recovers. Try it to see that it gets through.</p><//>`}<//>
  </section>`;
}

function Change({ channel, onDone }) {
  const [isOpen, setOpen] = useState(false);
  const [secret, setSecret] = useState(null);
  const saved = (next) => {
    setOpen(false);
    setSecret(next.secret);
    tell("Saved.");
    onDone();
  };
  const [isRolling, roll] = useAct(async () => saved((await patch(`/channels/${channel.id}`, { roll_secret: true })).data));
  return html`
    ${channel.format === "json" && html`<${Button} isBusy=${isRolling} disabled=${!may("account:write")} onClick=${roll}>New secret<//>`}
    <${Button} disabled=${!may("account:write")} onClick=${() => setOpen(true)}>Change<//>
    ${isOpen && html`<${ChannelDialog} channel=${channel} onSaved=${saved} onClose=${() => setOpen(false)} />`}
    ${secret && html`<${SecretDialog} title="The new secret" text=${secret} onClose=${() => setSecret(null)} />`}`;
}

function Delete({ channel }) {
  const [isAsking, setAsking] = useState(false);
  const [isBusy, remove] = useAct(async () => {
    await del(`/channels/${channel.id}`);
    tell(`${channel.name} was deleted.`);
    navigate("/account/channels");
  });
  return html`<${Button} kind="danger" disabled=${!may("account:write")} onClick=${() => setAsking(true)}>Delete<//>
    ${isAsking && html`<${Confirm} title=${`Delete ${channel.name}?`} label="Delete the channel" kind="danger" isBusy=${isBusy} onConfirm=${remove} onClose=${() => setAsking(false)}>
      <p>Its log goes with it, and what was not delivered yet never is.</p>
    <//>`}`;
}
