// The form of a gateway, and what of it is sent.
import { html } from "../html.js";
import { CheckField, NumberField, SelectField, TextArea, TextField } from "../components/field.js";
import { withPart } from "../tests/draft.js";
import { JsonField, PairsField } from "../tests/inputs.js";
import { problemOf } from "./act.js";

const FIELDS = [
  "name", "base_url", "model", "system_instruction", "temperature", "top_p", "max_completion_tokens", "stop", "seed",
  "reasoning_effort", "tools", "extra_body", "forward_metadata", "prices", "timeouts",
];
const FORWARDS = [["body", "in the body"], ["headers", "as headers"], ["none", "not at all"]];
const TOOLS_EXAMPLE = `[
  {"type": "function", "function": {"name": "find_order"}}
]`;

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** A value as the form has it: what is empty is not set. */
function set(value) {
  if (value === null || value === "") return undefined;
  if (Array.isArray(value)) return value.length ? value : undefined;
  if (typeof value !== "object") return value;
  const parts = Object.entries(value ?? {}).filter(([, part]) => part !== null);
  return parts.length ? Object.fromEntries(parts) : undefined;
}

/** What the form begins with. */
export const draftOf = (gateway) =>
  gateway ? Object.fromEntries(FIELDS.map((name) => [name, set(gateway[name])]).filter(([, value]) => value !== undefined)) : {};

/** What is sent: of a stored gateway what is no longer as it was, and secrets only if they are written anew. */
export function bodyOf(draft, gateway) {
  const before = draftOf(gateway);
  const changed = FIELDS.filter((name) => !same(draft[name], before[name]));
  const body = Object.fromEntries(changed.map((name) => [name, draft[name] ?? (name in before ? null : undefined)]));
  if (draft.api_key) body.api_key = draft.api_key;
  else if (draft.forgetsKey) body.api_key = null;
  if (draft.headers) body.headers = draft.headers;
  else if (draft.forgetsHeaders) body.headers = null;
  return body;
}

export function GatewayForm({ gateway, draft, change, error, onFault }) {
  const frame = (name, label, rest) => ({
    label,
    value: draft[name],
    problem: problemOf(error, name),
    onChange: (value) => change(name, set(value)),
    ...rest,
  });
  const parts = { draft, change, error };
  const json = (name, label, rest) => html`<${JsonField} ...${frame(name, label, rest)} onFault=${(fault) => onFault(name, fault)} />`;
  return html`
    <section class="panel"><h2>Where it is</h2><div class="fields">
      <${TextField} ...${frame("name", "Name", { badge: "required" })} required />
      <${TextField} ...${frame("base_url", "Address", { badge: "required", hint: "Up to, but without, /chat/completions." })} type="url" placeholder="https://..." required />
      <${TextField} ...${frame("model", "LLM", { badge: "required", hint: "Sent as model." })} required />
      <${Key} gateway=${gateway} frame=${frame} draft=${draft} change=${change} />
    </div></section>
    <${Group} title="Instruction and sampling" about="system instruction, temperature, top p, most tokens, stop, seed, effort"
      names=${["system_instruction", "temperature", "top_p", "max_completion_tokens", "stop", "seed", "reasoning_effort"]} ...${parts}>
      <${TextArea} ...${frame("system_instruction", "System instruction", { isWide: true, hint: "Goes before all messages. The tests' goal is never in it." })} />
      <${NumberField} ...${frame("temperature", "Temperature", { badge: "0 to 2" })} min="0" max="2" step="any" />
      <${NumberField} ...${frame("top_p", "Top p", { badge: "0 to 1" })} min="0" max="1" step="any" />
      <${NumberField} ...${frame("max_completion_tokens", "Most completion tokens")} min="1" />
      <${NumberField} ...${frame("seed", "Seed")} />
      <${TextField} ...${frame("reasoning_effort", "Reasoning effort")} placeholder="low" />
      ${json("stop", "Stop", { rows: 2, placeholder: '["END"]', hint: "Texts that end an answer." })}
    <//>
    <${Group} title="Tools and request" about="tools, headers, extra body, metadata" names=${["tools", "headers", "extra_body", "forward_metadata"]} ...${parts}
      isUsed=${Boolean(gateway?.header_names.length)}>
      ${json("tools", "Tools", { rows: 5, placeholder: TOOLS_EXAMPLE, hint: "OpenAI tool definitions." })}
      <${Headers} gateway=${gateway} frame=${frame} draft=${draft} change=${change} />
      ${json("extra_body", "Extra body", { rows: 3, placeholder: '{"service_tier": "flex"}', hint: "Laid over the request; not model, messages, stream." })}
      <${SelectField} ...${frame("forward_metadata", "A test's metadata goes", { value: draft.forward_metadata ?? "body" })} options=${FORWARDS} />
    <//>
    <${Group} title="Prices" about="US dollars per million tokens" names=${["prices"]} ...${parts} isUsed=${Object.values(draft.prices ?? {}).some(Boolean)}>
      <p class="muted wide">What this gateway's tokens cost, in US dollars per million. At 0 you pay your own provider, and Parley charges nothing for them.</p>
      ${[["input", "Input"], ["cached", "Cached input"], ["output", "Output"]].map((part) => html`<${Part} of="prices" part=${part} ...${parts} placeholder="0" />`)}
    <//>
    <${Group} title="Timeouts" about="seconds" names=${["timeouts"]} ...${parts}>
      ${[["first_token_s", "Until the first token"], ["idle_s", "Between two pieces"], ["inference_s", "Whole answer"]].map((part) =>
        html`<${Part} of="timeouts" part=${part} ...${parts} placeholder="the operator's" badge="seconds" />`)}
    <//>`;
}

/** Fields that few need: closed until one is set or wrong. */
function Group({ title, about, names, draft, error, isUsed, children }) {
  const isOpen = isUsed || names.some((name) => (name !== "prices" && draft[name] !== undefined) || problemOf(error, name));
  return html`<details class="panel" open=${isOpen}>
    <summary><h2>${title}</h2><span class="muted small">${about}</span></summary>
    <div class="fields">${children}</div>
  </details>`;
}

function Part({ of, part: [name, label], draft, change, error, ...rest }) {
  return html`<${NumberField} label=${label} min="0" step="any" value=${draft[of]?.[name]} problem=${problemOf(error, `${of}.${name}`)}
    onChange=${(number) => change(of, withPart(draft[of], name, number))} ...${rest} />`;
}

function Key({ gateway, frame, draft, change }) {
  const isStored = Boolean(gateway?.has_api_key);
  const hint = isStored ? "One is stored. Left empty, it stays." : "Sent as a bearer token. Stored sealed, never shown again.";
  return html`<${TextField} ...${frame("api_key", "API key", { hint, badge: isStored ? null : "optional" })} type="password" />
    ${isStored && !draft.api_key && html`<${CheckField} label="Forget the stored key" value=${draft.forgetsKey} onChange=${(value) => change("forgetsKey", value || undefined)} />`}`;
}

function Headers({ gateway, frame, draft, change }) {
  const stored = gateway?.header_names ?? [];
  const hint = stored.length
    ? `Stored: ${stored.join(", ")}. Their values are not shown. Written here, the new ones replace them all.`
    : "Sent with each call. Values are stored sealed, never shown again.";
  return html`<${PairsField} ...${frame("headers", "Headers", { hint })} adds="Add a header" />
    ${stored.length > 0 && !draft.headers && html`<${CheckField} label="Forget the stored headers" value=${draft.forgetsHeaders}
      onChange=${(value) => change("forgetsHeaders", value || undefined)} />`}`;
}
