// The tests of a suite: found by name, added, put into splits, taken out.
import { useState } from "preact/hooks";
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad, useSettled } from "../load.js";
import { problemOf } from "../account/act.js";
import { Button } from "../components/button.js";
import { TextField } from "../components/field.js";
import { Loaded } from "../components/states.js";

const MOST_FOUND = 20;

export const splitsOf = (text) => [...new Set(text.split(",").map((one) => one.trim()).filter(Boolean))];

/** `members` are `{test_id, name, splits}`, the last a text with commas. */
export function Members({ members, onChange, error }) {
  const change = (place, splits) => onChange(members.map((one, at) => (at === place ? { ...one, splits } : one)));
  const without = (place) => onChange(members.filter((_, at) => at !== place));
  return html`
    ${members.length > 0 && html`<ol class="members">${members.map((one, place) => html`<li key=${one.test_id}>
      <a href=${`/tests/${one.test_id}`}>${one.name ?? "a deleted test"}</a>
      <${TextField} label=${html`Splits<span class="unseen"> of ${one.name}</span>`} value=${one.splits} placeholder="smoke, nightly"
        problem=${problemOf(error, `cases.${place}`)} onChange=${(text) => change(place, text)} />
      <${Button} aria-label=${`Take out ${one.name}`} onClick=${() => without(place)}>Take out<//>
    </li>`)}</ol>`}
    ${!members.length && html`<p class="muted">No test yet.</p>`}
    ${error?.problems?.cases && html`<p class="problem" role="alert">${error.problems.cases}</p>`}
    <${Finder} known=${members.map((one) => one.test_id)} onAdd=${(test) => onChange([...members, { test_id: test.id, name: test.name, splits: "" }])} />`;
}

function Finder({ known, onAdd }) {
  const [text, setText] = useState("");
  const search = useSettled(text.trim(), 250);
  const found = useLoad((signal) => get("/agentic-tests", { search, limit: MOST_FOUND }, { signal }), [search]);
  return html`<div class="finder">
    <${TextField} label="Add tests" type="search" value=${text} placeholder="Part of a name" onChange=${setText} />
    <${Loaded} from=${found} lines=${3}>${({ data }) => html`<${Found} tests=${data.filter((one) => !known.includes(one.id))} count=${data.length} search=${search} onAdd=${onAdd} />`}<//>
  </div>`;
}

function Found({ tests, count, search, onAdd }) {
  if (!count && !search) return html`<p class="muted small">There is no test yet: <a href="/tests/new">write the first</a>.</p>`;
  if (!tests.length) return html`<p class="muted small">${search ? "No other test has this in its name." : "Search for more by name."}</p>`;
  return html`<ul class="to-add">${tests.map((test) => html`<li key=${test.id}>
    <${Button} aria-label=${`Add ${test.name}`} onClick=${() => onAdd(test)}>+ ${test.name}<//></li>`)}</ul>`;
}
