// Where news goes: the account's e-mail addresses and its channels.
import { useState } from "preact/hooks";
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { may } from "../session.js";
import { navigate } from "../router.js";
import { ChannelDialog } from "../account/channel_dialog.js";
import { AccountPage, ScopeNote } from "../account/frame.js";
import { useList } from "../account/list.js";
import { SecretDialog } from "../account/secret.js";
import { TryChannel } from "../account/try_channel.js";
import { Badge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";

export const title = "Channels";

const FORMATS = { slack: "plain text", json: "signed JSON" };

const COLUMNS = [
  { name: "Channel", isMain: true, cell: (one) => html`<a href=${`/account/channels/${one.id}`}>${one.name}</a>` },
  { name: "Address", cell: (one) => html`<span class="address">${one.shown_url}</span>` },
  { name: "Form", cell: (one) => FORMATS[one.format] },
  { name: "News", cell: (one) => html`<${Badge} of=${one.enabled ? "success" : "cancelled"}>${one.enabled ? "on" : "off"}<//>` },
  { name: "Try", isUnnamed: true, isNumber: true, width: "5rem", cell: (one) => html`<${TryChannel} channel=${one} />` },
];

export default function Page() {
  const { found, rowsOf, page, more } = useList("/channels");
  const [isOpen, setOpen] = useState(false);
  const [made, setMade] = useState(null);
  const saved = (channel) => {
    setOpen(false);
    if (channel.secret) setMade(channel);
    else navigate(`/account/channels/${channel.id}`);
  };
  const make = html`<${Button} kind="primary" disabled=${!may("account:write")} onClick=${() => setOpen(true)}>New channel<//>`;
  return html`<${AccountPage} title="Channels" lead="Who hears when a test begins to fail, recovers, or a gate refuses." actions=${make}>
    <${ScopeNote} scope="account:write" act="change or try channels" />
    <${Email} />
    <${Loaded} from=${found} lines=${4}>${({ data }) =>
      data.length
        ? html`<${Table} caption="Channels" columns=${COLUMNS} rows=${rowsOf(data)} /><${Pager} page=${page} more=${more} />`
        : html`<${Empty} title="No channel yet" action=${make}>
            <p>A channel is an address that news is posted to: a chat's incoming webhook, or a program of yours.</p>
          <//>`}<//>
    ${isOpen && html`<${ChannelDialog} onSaved=${saved} onClose=${() => setOpen(false)} />`}
    ${made && html`<${SecretDialog} title=${`The secret of ${made.name}`} text=${made.secret} onClose=${() => navigate(`/account/channels/${made.id}`)}>
      <p>Its messages are signed with it.</p>
    <//>`}
  <//>`;
}

function Email() {
  const found = useLoad((signal) => get("/account", {}, { signal }), []);
  return html`<section class="panel email">
    <div class="section-head"><h2>E-mail</h2><a href="/account/channels/email">What was sent</a></div>
    <${Loaded} from=${found} lines=${1}>${({ data }) => html`<${Addresses} account=${data} />`}<//>
  </section>`;
}

function Addresses({ account }) {
  const addresses = [...new Set([account.owner_email, account.alerts_contact].filter(Boolean))];
  if (!addresses.length) return html`<p>No address yet: <a href="/account">give the account one</a> and alerts go there.</p>`;
  return html`<div class="email-line"><p>${addresses.join(", ")}</p><${TryChannel} channel=${{ id: "email", name: "e-mail" }} /></div>`;
}
