// Tests from a YAML file: read, tried without storing anything, shown, and only then made.
import { useState } from "preact/hooks";
import { post } from "../api.js";
import { html } from "../html.js";
import { may } from "../session.js";
import { Button } from "../components/button.js";
import { Dialog } from "../components/dialog.js";
import { Field, TextArea } from "../components/field.js";
import { Failure } from "../components/states.js";
import { tell } from "../components/toast.js";

const EXAMPLE = `defaults:
  gateway: my-agent:0000
tests:
  - name: A return is free
    goal: You want to send your boots back and know what it costs.`;

const tried = (fields) =>
  post("/agentic-tests", fields, { query: { dry_run: true } }).then(
    () => ({ fields, error: null }),
    (error) => ({ fields, error }),
  );

async function readFile(text) {
  const { data } = await post("/agentic-tests/file", text, { headers: { "Content-Type": "application/yaml" } });
  const found = [];
  // One after the other: a file may hold a hundred, and the account's other requests want their turn.
  for (const fields of data.tests) found.push(await tried(fields));
  return found;
}

/** The button and its dialog. `onDone` is called once tests were made. */
export function ImportTests({ onDone }) {
  const [isOpen, setOpen] = useState(false);
  return html`<${Button} onClick=${() => setOpen(true)} disabled=${!may("tests:write")}>Import<//>
    ${isOpen && html`<${ImportDialog} onDone=${onDone} onClose=${() => setOpen(false)} />`}`;
}

function ImportDialog({ onDone, onClose }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const good = (found ?? []).filter((one) => !one.error);
  const change = (next) => {
    setText(next);
    setFound(null);
    setError(null);
  };
  const busily = async (act) => {
    setBusy(true);
    setError(null);
    await act().catch(setError);
    setBusy(false);
  };
  const look = () => busily(async () => setFound(await readFile(text)));
  const make = () =>
    busily(async () => {
      for (const { fields } of good) await post("/agentic-tests", fields);
      tell(good.length === 1 ? "One test was made." : `${good.length} tests were made.`);
      onDone();
      onClose();
    });
  return html`<${Dialog} title="Import tests" onClose=${onClose} isWide>
    <${Field} label="A file" control=${(about) =>
      html`<input ...${about} type="file" accept=".yaml,.yml,.json,text/yaml,application/yaml"
        onChange=${async (event) => change((await event.target.files[0]?.text()) ?? "")} />`} />
    <${TextArea} label="Or its text" rows=${10} isCode value=${text} onChange=${change} placeholder=${EXAMPLE}
      hint="YAML with a list tests, as Export writes it and parley tests push takes it. Every test in it is made anew."
      problem=${error?.code === "invalid_request" ? error.message : null} />
    ${error && error.code !== "invalid_request" && html`<${Failure} error=${error} />`}
    ${found && html`<ul class="found">${found.map((one, place) => html`<${Found} key=${place} ...${one} />`)}</ul>`}
    <div class="dialog-actions">
      <${Button} onClick=${onClose}>Not now<//>
      ${found
        ? html`<${Button} kind="primary" isBusy=${isBusy} disabled=${!good.length} onClick=${make}>
            ${good.length === found.length ? "" : "Leave the others out, "}${`make ${good.length} ${good.length === 1 ? "test" : "tests"}`}<//>`
        : html`<${Button} kind="primary" isBusy=${isBusy} disabled=${!text.trim()} onClick=${look}>Look at it<//>`}
    </div>
  <//>`;
}

function Found({ fields, error }) {
  const name = typeof fields.name === "string" ? fields.name : "a test without a name";
  const problems = Array.isArray(error?.details) ? error.details : [];
  return html`<li>
    <span class=${error ? "bad-sign" : "good-sign"} aria-hidden="true">${error ? "✕" : "✓"}</span>
    <div>${name} ${error ? html`<span class="unseen">cannot be made:</span>` : html`<span class="muted">fits</span>`}
      ${problems.map((one) => html`<p class="problem">${one.field || "the body"}: ${one.problem}</p>`)}
      ${error && !problems.length && html`<p class="problem">${error.message}</p>`}</div>
  </li>`;
}
