// The form of a test. Meanings, bounds and defaults come from the API's schema, problems from its dry run.
import { html } from "../html.js";
import { CheckField, NumberField, SelectField, TextArea, TextField } from "../components/field.js";
import { CronField } from "./cron.js";
import { wordsOf } from "./definition.js";
import { problemAt, withPart } from "./draft.js";
import { JsonField, OfferedField, PairsField, RowsField } from "./inputs.js";

const HOOK_EVENTS = ["before-test", "before-inference", "after-inference", "context-changed", "after-test"];
const PROFILES = ["low", "medium", "high"];
const START_EXAMPLE = `[
  {"role": "assistant", "content": "Hello, how can I help?"}
]`;
const MOCKS_EXAMPLE = `[
  {"name": "find_order", "match": {"order": "7731"}, "result": "{\\"status\\": \\"delivered\\"}"}
]`;

/** Groups of fields. A group that is closed opens when something in it is set or wrong. */
const GROUPS = [
  ["What is tested", true, ["name", "gateway", "profile"]],
  ["The conversation", true, ["goal", "validation_criteria"]],
  ["Schedule", true, ["cron", "enabled"], "schedule"],
  ["Turns and scores", false, ["max_turns", "minimum_turns", "allow_user_exit", "judge_start_turn", "loss_threshold", "base_threshold"]],
  ["Beginning and background", false, ["start", "resources", "tool_mocks"]],
  ["The simulated user", false, ["user_sampling", "seed"]],
  ["For the gateway", false, ["metadata", "external_user_id", "hooks"]],
  ["Notifications", false, ["failure_notification", "notification_threshold", "recovery_notification", "outcome_notification"]],
];

const LABELS = {
  validation_criteria: "Criteria",
  max_turns: "Most turns",
  minimum_turns: "User may leave from turn",
  allow_user_exit: "The user may leave",
  judge_start_turn: "Judged from turn",
  base_threshold: "Success from",
  loss_threshold: "Loss at or under",
  start: "Messages it starts with",
  tool_mocks: "Answers to open tool calls",
  external_user_id: "User id",
  enabled: "Follow the schedule",
  cron: "Schedule",
  failure_notification: "Tell about failures",
  notification_threshold: "Failures in a row",
  recovery_notification: "Tell about recovery",
  outcome_notification: "Tell when behaviour turns",
};

const labelOf = (name) => LABELS[name] ?? (name[0].toUpperCase() + name.slice(1)).replaceAll("_", " ");

function badgeOf(field, isRequired) {
  if (isRequired) return "required";
  const { default: value, minimum, maximum } = field;
  const bounds = minimum !== undefined && maximum < 1e9 ? `${minimum} to ${maximum}, ` : "";
  if (value === null || value === undefined || (typeof value === "object" && !Object.keys(value).length)) return "optional";
  if (typeof value === "boolean") return `default: ${value ? "yes" : "no"}`;
  return typeof value === "object" ? null : `${bounds}default: ${value}`;
}

/** `shows(name)` says whether the problem of a field may be told yet. */
export function TestForm({ schema, draft, change, problems, gateways, shows }) {
  const set = (name) => (value) => change(name, value);
  const frame = (name) => ({
    label: labelOf(name),
    hint: schema.properties[name].description,
    badge: badgeOf(schema.properties[name], schema.required.includes(name)),
    problem: shows(name) ? problemAt(problems, name) : null,
    value: draft[name],
    onChange: set(name),
  });
  return GROUPS.map(([title, isOpen, names, anchor]) => {
    const fields = html`<div class="fields">${names.map((name) => html`<${Input} key=${name} name=${name} field=${schema.properties[name]}
      frame=${frame(name)} gateways=${gateways} problems=${problems} />`)}</div>`;
    if (isOpen) return html`<section class="panel" key=${title} id=${anchor}><h2>${title}</h2>${fields}</section>`;
    const isUsed = names.some((name) => draft[name] !== undefined || (shows(name) && problemAt(problems, name)));
    return html`<details class="panel" key=${title} open=${isUsed}>
      <summary><h2>${title}</h2><span class="muted small">${names.map(labelOf).join(", ")}</span></summary>${fields}
    </details>`;
  });
}

function Input({ name, field, frame, gateways, problems }) {
  switch (name) {
    case "name":
      return html`<${TextField} ...${frame} required />`;
    case "gateway":
      return html`<${OfferedField} ...${frame} offers=${gateways} required />`;
    case "profile":
      return html`<${SelectField} ...${frame} value=${frame.value ?? field.default} options=${PROFILES.map((one) => [one, one])} />`;
    case "goal":
    case "validation_criteria":
      return html`<${TextArea} ...${frame} isWide rows=${name === "goal" ? 5 : 4} value=${wordsOf(frame.value)}
        onChange=${(text) => frame.onChange(text || undefined)} />`;
    case "cron":
      return html`<${CronField} ...${frame} />`;
    case "start":
      return html`<${JsonField} ...${frame} rows=${6} placeholder=${START_EXAMPLE} />`;
    case "tool_mocks":
      return html`<${JsonField} ...${frame} rows=${5} placeholder=${MOCKS_EXAMPLE} />`;
    case "resources":
      return html`<${RowsField} ...${frame} adds="Add a resource" blank=${{ type: "Text", data: "" }} row=${resourceRow} />`;
    case "hooks":
      return html`<${RowsField} ...${frame} adds="Add a hook" blank=${{ event: "after-test", url: "" }} row=${hookRow} />`;
    case "metadata":
      return html`<${PairsField} ...${frame} adds="Add a pair" />`;
    case "user_sampling":
      return html`<${Sampling} frame=${frame} field=${field} problems=${problems} />`;
    case "external_user_id":
      return html`<${TextField} ...${frame} onChange=${(text) => frame.onChange(text || undefined)} />`;
    case "seed":
      return html`<${NumberField} ...${frame} min="0" onChange=${(number) => frame.onChange(number ?? undefined)} />`;
    default:
      return field.type === "boolean"
        ? html`<${CheckField} ...${frame} value=${frame.value ?? field.default} />`
        : html`<${NumberField} ...${frame} min=${field.minimum} max=${field.maximum} placeholder=${field.default}
            step=${field.type === "integer" ? 1 : "any"} onChange=${(number) => frame.onChange(number ?? undefined)} />`;
  }
}

function Sampling({ frame, field, problems }) {
  const part = (name, label, hint, maximum) => html`<${NumberField} label=${label} hint=${hint} min="0" max=${maximum} step="any"
    badge=${`0 to ${maximum}, default: ${field.default[name]}`} placeholder=${field.default[name]}
    problem=${frame.problem && problems[`user_sampling.${name}`]} value=${frame.value?.[name]}
    onChange=${(number) => frame.onChange(withPart(frame.value, name, number))} />`;
  return html`
    ${part("top_k", "Traits", "Five times this many traits, rounded, shape how the user writes: short, impatient, vague, and the like.", 2)}
    ${part("max_decay", "Change of traits", "Chance of each trait to be drawn anew after a turn.", 1)}`;
}

const resourceRow = (item, put, label) => html`
  <select aria-label=${`${label}, kind`} value=${item.type} onChange=${(event) => put({ ...item, type: event.target.value })}>
    <option value="Text" selected=${item.type === "Text"}>Text</option>
    <option value="RemoteResource" selected=${item.type === "RemoteResource"}>Read from an address</option>
  </select>
  ${item.type === "Text"
    ? html`<textarea aria-label=${`${label}, text`} rows="3" value=${item.data} onInput=${(event) => put({ ...item, data: event.target.value })}></textarea>`
    : html`<input aria-label=${`${label}, address`} placeholder="https://..." value=${item.data}
        onInput=${(event) => put({ ...item, data: event.target.value })} />`}`;

const hookRow = (item, put, label) => html`
  <select aria-label=${`${label}, moment`} value=${item.event} onChange=${(event) => put({ ...item, event: event.target.value })}>
    ${HOOK_EVENTS.map((one) => html`<option value=${one} selected=${one === item.event}>${one}</option>`)}
  </select>
  <input aria-label=${`${label}, address`} placeholder="https://..." value=${item.url}
    onInput=${(event) => put({ ...item, url: event.target.value })} />`;
