// Inputs for fields that hold lists and objects.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";
import { Button } from "../components/button.js";
import { Field, TextArea } from "../components/field.js";

/** A list of rows. `row(item, change, label)` draws one; `blank` is a new one. */
export function RowsField({ label, hint, problem, badge, value, onChange, blank, row, adds }) {
  const rows = value ?? [];
  const put = (next) => onChange(next.length ? next : undefined);
  return html`<fieldset class=${`field wide rows-field${problem ? " has-problem" : ""}`}>
    <legend><span>${label}</span>${badge && html` <span class="muted small">${badge}</span>`}</legend>
    ${hint && html`<p class="hint">${hint}</p>`}
    ${problem && html`<p class="problem">${problem}</p>`}
    <div class="rows">${rows.map((item, place) => html`<div class="row" key=${place}>
      ${row(item, (next) => put(rows.map((one, at) => (at === place ? next : one))), `${label} ${place + 1}`)}
      <${Button} kind="quiet" aria-label=${`Remove ${label} ${place + 1}`} onClick=${() => put(rows.filter((_, at) => at !== place))}>Remove<//>
    </div>`)}</div>
    <div><${Button} onClick=${() => put([...rows, blank])}>${adds}<//></div>
  </fieldset>`;
}

/** Pairs of texts, kept as an object. Names given twice are told before the later one wins. */
export function PairsField({ value, onChange, problem, ...frame }) {
  const [pairs, setPairs] = useState(Object.entries(value ?? {}));
  const names = pairs.map(([name]) => name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  const change = (next) => {
    const given = next ?? [];
    setPairs(given);
    onChange(given.length ? Object.fromEntries(given) : undefined);
  };
  return html`<${RowsField} ...${frame} value=${pairs} onChange=${change} blank=${["", ""]}
    problem=${twice === undefined ? problem : `${twice || "an empty name"} is given twice`}
    row=${([name, text], put, label) => html`
      <input aria-label=${`${label}, name`} placeholder="name" value=${name} onInput=${(event) => put([event.target.value, text])} />
      <input aria-label=${`${label}, value`} placeholder="value" value=${text} onInput=${(event) => put([name, event.target.value])} />`} />`;
}

/**
 * JSON as text, for what is too deep for inputs of its own. What is no JSON is told and not handed on; a form that must
 * not be sent meanwhile hears of it by `onFault(text or null)`.
 */
export function JsonField({ value, onChange, onFault, problem, ...frame }) {
  const written = value === undefined || (Array.isArray(value) && !value.length) ? "" : JSON.stringify(value, null, 2);
  const [text, setText] = useState(written);
  const [fault, setFault] = useState(null);
  useEffect(() => {
    try {
      if (text.trim() && JSON.stringify(JSON.parse(text)) !== JSON.stringify(value)) setText(written);
    } catch {
      // The reader is in the midst of writing.
    }
  }, [written]);
  const told = (next) => {
    setFault(next);
    onFault?.(next);
  };
  const change = (next) => {
    setText(next);
    try {
      onChange(next.trim() ? JSON.parse(next) : undefined);
      told(null);
    } catch (error) {
      told(`is not JSON yet: ${error.message}`);
    }
  };
  return html`<${TextArea} ...${frame} isCode isWide value=${text} onChange=${change} problem=${fault ?? problem} />`;
}

/** A choice among names that are offered, or another one. */
export function OfferedField({ value, onChange, offers, required, ...frame }) {
  const list = `offers-${frame.label.replaceAll(/\W/g, "")}`;
  return html`<${Field} ...${frame} control=${(about) => html`
    <input ...${about} list=${list} value=${value ?? ""} required=${required} autocomplete="off" spellcheck=${false}
      onInput=${(event) => onChange(event.target.value || undefined)} />
    <datalist id=${list}>${offers.map(([key, name]) => html`<option value=${key}>${name}</option>`)}</datalist>`} />`;
}
