// Labelled inputs. Each has an explanation that is always there, and the API's problem when there is one.
import { useId } from "preact/hooks";
import { html } from "../html.js";

/** The frame of an input: `control(attributes)` draws it. `badge` stands beside the label, as "default: 10". */
export function Field({ label, hint, problem, badge, isWide, control }) {
  const id = useId();
  const about = [hint && `${id}-hint`, problem && `${id}-problem`].filter(Boolean).join(" ");
  const attributes = { id, "aria-describedby": about || null, "aria-invalid": problem ? "true" : null };
  return html`<div class=${`field${isWide ? " wide" : ""}${problem ? " has-problem" : ""}`}>
    <div class="field-head"><label for=${id}>${label}</label>${badge && html`<span class="muted">${badge}</span>`}</div>
    ${control(attributes)}
    ${problem && html`<p class="problem" id=${`${id}-problem`}>${problem}</p>`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

/** One line of text. `onChange` gets the text. */
export function TextField({ value, onChange, type = "text", placeholder, list, required, inputRef, ...frame }) {
  return html`<${Field} ...${frame} control=${(about) =>
    html`<input ...${about} type=${type} value=${value ?? ""} placeholder=${placeholder} list=${list} ref=${inputRef}
      required=${required} autocomplete="off" spellcheck=${false} onInput=${(event) => onChange(event.target.value)} />`} />`;
}

/** Several lines of text. */
export function TextArea({ value, onChange, rows = 4, placeholder, isCode, ...frame }) {
  return html`<${Field} ...${frame} control=${(about) =>
    html`<textarea ...${about} class=${isCode ? "code" : null} rows=${rows} placeholder=${placeholder} value=${value ?? ""}
      spellcheck=${!isCode} onInput=${(event) => onChange(event.target.value)}></textarea>`} />`;
}

/** A number; an empty field is null, and what is no number is handed on as text, for the API to explain. */
export function NumberField({ value, onChange, min, max, step = 1, placeholder, ...frame }) {
  const read = (text) => (text.trim() === "" ? null : Number.isNaN(Number(text)) ? text : Number(text));
  return html`<${Field} ...${frame} control=${(about) =>
    html`<input ...${about} type="number" inputmode="decimal" value=${value ?? ""} min=${min} max=${max} step=${step}
      placeholder=${placeholder} onInput=${(event) => onChange(read(event.target.value))} />`} />`;
}

/** One of `options`, pairs of value and name. */
export function SelectField({ value, onChange, options, ...frame }) {
  return html`<${Field} ...${frame} control=${(about) =>
    html`<select ...${about} value=${value ?? ""} onChange=${(event) => onChange(event.target.value)}>
      ${options.map(([key, name]) => html`<option value=${key} selected=${key === (value ?? "")}>${name}</option>`)}
    </select>`} />`;
}

/** Yes or no. */
export function CheckField({ value, onChange, label, hint, problem, badge, isWide }) {
  const id = useId();
  return html`<div class=${`field check${isWide ? " wide" : ""}`}>
    <input type="checkbox" id=${id} checked=${Boolean(value)} aria-describedby=${hint ? `${id}-hint` : null}
      onChange=${(event) => onChange(event.target.checked)} />
    <div>
      <div class="field-head"><label for=${id}>${label}</label>${badge && html`<span class="muted">${badge}</span>`}</div>
      ${problem && html`<p class="problem">${problem}</p>`}
      ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    </div>
  </div>`;
}
