// How an evaluation of a suite is carried out; the same fields for one start and for a suite's defaults.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { problemOf } from "../account/act.js";
import { NumberField, SelectField } from "../components/field.js";

const BUILT_IN = { repetitions: 1, concurrency: 5 };
const NUMBERS = [
  ["repetitions", "Repetitions", { min: 1, max: 20, hint: "Runs of each test" }],
  ["concurrency", "At once", { min: 1, max: 50, hint: "Runs open together, at most" }],
  ["budget_usd", "Budget", { min: 0, step: "any", hint: "US dollars; when they are spent, nothing more starts" }],
  ["seed", "Seed", { min: 0, hint: "Repeats an evaluation as far as the llms do" }],
];

/** What is set, without what is not. */
export const plain = (values) => Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""));

/** `defaults` are shown where nothing is written; `prefix` is where the API's problems lie. */
export function HowToRun({ value, onChange, splits, defaults = {}, error, prefix = "" }) {
  const gateways = useLoad((signal) => get("/ai-gateways", { limit: 100 }, { signal }), []);
  const set = (name) => (one) => onChange({ ...value, [name]: one });
  const names = (gateways.data?.data ?? []).map((one) => [one.slug, `${one.name}, ${one.model}`]);
  const parts = [...new Set([...splits, value.split].filter(Boolean))].map((one) => [one, one]);
  const asBefore = (name, otherwise) => defaults[name] ?? otherwise;
  return html`<div class="fields">
    <${SelectField} label="Split" value=${value.split} options=${[["", asBefore("split", "all cases")], ...parts]}
      problem=${problemOf(error, `${prefix}split`)} onChange=${set("split")} />
    <${SelectField} label="Gateway" value=${value.gateway} options=${[["", asBefore("gateway", "each test's own")], ...names]}
      hint="Tried in place of the tests' own" problem=${problemOf(error, `${prefix}gateway`)} onChange=${set("gateway")} />
    ${NUMBERS.map(([name, label, bounds]) => html`<${NumberField} key=${name} label=${label} value=${value[name]} ...${bounds}
      placeholder=${asBefore(name, BUILT_IN[name])} problem=${problemOf(error, `${prefix}${name}`)} onChange=${set(name)} />`)}
  </div>`;
}
