// Trying a gateway: one tiny message, and what it told.
import { useEffect, useState } from "preact/hooks";
import { post } from "../api.js";
import { html } from "../html.js";
import { may } from "../session.js";
import { Badge } from "../components/badge.js";
import { Button } from "../components/button.js";
import { Dialog } from "../components/dialog.js";
import { Failure, Loading } from "../components/states.js";

export function CheckGateway({ gateway, kind }) {
  const [isOpen, setOpen] = useState(false);
  return html`<${Button} kind=${kind} disabled=${!may("tests:write")} aria-label=${`Check ${gateway.name}`} onClick=${() => setOpen(true)}>Check<//>
    ${isOpen && html`<${Trial} gateway=${gateway} onClose=${() => setOpen(false)} />`}`;
}

function Trial({ gateway, onClose }) {
  const [round, setRound] = useState(0);
  const [state, setState] = useState({});
  useEffect(() => {
    const ending = new AbortController();
    setState({});
    post(`/ai-gateways/${gateway.id}/check`, undefined, { signal: ending.signal }).then(
      ({ data }) => setState({ report: data }),
      (error) => error.name === "AbortError" || setState({ error }),
    );
    return () => ending.abort();
  }, [round]);
  const { report, error } = state;
  return html`<${Dialog} title=${`Check of ${gateway.name}`} onClose=${onClose}>
    <div class="dialog-text gateway-check" aria-live="polite">
      ${error ? html`<${Failure} error=${error} title="It could not be checked" />` : report ? html`<${Report} report=${report} />` : html`<${Waiting} />`}
    </div>
    <div class="dialog-actions">
      <${Button} isBusy=${!report && !error} onClick=${() => setRound(round + 1)}>Check again<//>
      <${Button} kind="primary" onClick=${onClose}>Close<//>
    </div>
  <//>`;
}

const Waiting = () => html`<p>One tiny message is on its way; its provider may charge a few tokens.</p><${Loading} lines=${4} label="Checking" />`;

const seconds = (ms) => (ms === null ? "–" : ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);
const yesNo = (value) => (value === null ? "not known" : value ? "yes" : "no");

function Report({ report }) {
  return html`
    <p><${Badge} of=${report.ok ? "success" : "failed"}>${report.ok ? "it answers" : "it does not work"}<//></p>
    ${report.fault && html`<p class="note bad">${report.fault}</p>`}
    <dl class="facts pairs">
      <div><dt>Whole answer</dt><dd>${seconds(report.latency_ms)}</dd></div>
      <div><dt>First piece</dt><dd>${seconds(report.first_piece_ms)}</dd></div>
      <div><dt>Streams</dt><dd>${yesNo(report.streams)}</dd></div>
      <div><dt>Reports usage</dt><dd>${yesNo(report.reports_usage)}</dd></div>
      ${report.model && html`<div><dt>Its llm</dt><dd>${report.model}</dd></div>`}
      ${report.status && html`<div><dt>Status</dt><dd>${report.status}</dd></div>`}
    </dl>
    ${report.notes.map((note) => html`<p class="note">${note}</p>`)}`;
}
