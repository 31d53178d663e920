// Making or changing a channel.
import { useState } from "preact/hooks";
import { patch, post } from "../api.js";
import { html } from "../html.js";
import { Button } from "../components/button.js";
import { Dialog } from "../components/dialog.js";
import { CheckField, SelectField, TextField } from "../components/field.js";
import { Failure } from "../components/states.js";
import { isWhole, problemOf, useAct } from "./act.js";

const FORMATS = [
  ["slack", "plain text, for Slack and its kin"],
  ["json", "signed JSON, for programs"],
];

/** `onSaved(channel)` gets the channel, with a secret if one was just made. */
export function ChannelDialog({ channel, onSaved, onClose }) {
  const [draft, setDraft] = useState({ name: channel?.name ?? "", url: "", format: channel?.format ?? "slack", enabled: channel?.enabled ?? true });
  const [isBusy, save, error, forget] = useAct(async () => onSaved((await send(channel, draft)).data), { keepsError: true });
  const frame = (name) => ({ value: draft[name], problem: problemOf(error, name), onChange: (value) => (setDraft((now) => ({ ...now, [name]: value })), forget(name)) });
  const hint = channel ? `Now ${channel.shown_url}. Left empty, it stays.` : "Stored sealed: whoever knows a chat's webhook can write there.";
  return html`<${Dialog} title=${channel ? `Change ${channel.name}` : "New channel"} onClose=${onClose}>
    <form class="form" novalidate onSubmit=${(event) => (event.preventDefault(), save())}>
      <${TextField} label="Name" ...${frame("name")} required />
      <${TextField} label="Address" type="url" placeholder="https://..." hint=${hint} ...${frame("url")} required=${!channel} />
      <${SelectField} label="Form" options=${FORMATS} ...${frame("format")} />
      <${CheckField} label="Gets news" hint="Switched off, it can still be tried." ...${frame("enabled")} />
      ${isWhole(error) && html`<${Failure} error=${error} title="It was not saved" />`}
      <div class="dialog-actions">
        <${Button} onClick=${onClose}>Not now<//>
        <${Button} kind="primary" type="submit" isBusy=${isBusy}>${channel ? "Save" : "Make the channel"}<//>
      </div>
    </form>
  <//>`;
}

function send(channel, draft) {
  if (!channel) return post("/channels", draft);
  const body = Object.fromEntries(Object.entries(draft).filter(([name, value]) => value !== (channel[name] ?? "")));
  return patch(`/channels/${channel.id}`, body);
}
