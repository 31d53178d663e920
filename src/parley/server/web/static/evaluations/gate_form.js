// What the gate is asked, as the address has it: so that a question can be sent to somebody else.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { withQuery } from "../router.js";
import { isWhole, problemOf } from "../account/act.js";
import { Button } from "../components/button.js";
import { CheckField, NumberField, SelectField } from "../components/field.js";

const NUMBERS = [
  ["failUnder", "Mean at least", { min: 0, max: 10, step: "any", hint: "0 to 10" }],
  ["minPassRate", "Pass rate at least", { min: 0, max: 1, step: "any", hint: "0 to 1" }],
  ["maxRegressedCases", "Regressed cases at most", { min: 0, step: 1 }],
  ["minCoverage", "Coverage at least", { min: 0, max: 1, step: "any", hint: "0 to 1; 1 unless given" }],
  ["significance", "Significance level", { min: 0.001, max: 0.5, step: "any", hint: "Fails if the fall is no chance; 0.001 to 0.5" }],
];
const BASELINES = [["", "the latest"], ["latest-passing", "the latest that passed"], ["pinned", "the pinned one"]];
const NAMES = [...NUMBERS.map(([name]) => name), "noRegression", "tolerance", "baseline"];

/** The gate's parameters that the address holds. */
export const askedOf = (query) => Object.fromEntries(NAMES.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));

/** `error` is the refusal of the last answer; its problems stand at their fields. */
export function GateForm({ query, error, label = "Ask" }) {
  const [given, setGiven] = useState(askedOf(query));
  const set = (name) => (value) => setGiven((before) => ({ ...before, [name]: value }));
  const submit = (event) => {
    event.preventDefault();
    const tolerance = given.noRegression ? given.tolerance : null;
    withQuery({ ...Object.fromEntries(NAMES.map((name) => [name, given[name] ?? null])), tolerance }, { replace: false });
  };
  const baselines = BASELINES.some(([key]) => key === (given.baseline ?? "")) ? BASELINES : [...BASELINES, [given.baseline, given.baseline]];
  return html`<form class="gate-form" onSubmit=${submit} noValidate>
    ${isWhole(error) && html`<p class="problem" role="alert">${error.message}</p>`}
    <div class="fields">
      ${NUMBERS.map(([name, words, bounds]) => html`<${NumberField} key=${name} label=${words} value=${given[name]} ...${bounds}
        problem=${problemOf(error, name)} onChange=${set(name)} />`)}
      <${CheckField} label="No regression of the mean" value=${["true", "1"].includes(given.noRegression)} problem=${problemOf(error, "noRegression")}
        onChange=${(isOn) => set("noRegression")(isOn ? "true" : null)} />
      <${NumberField} label="Tolerated fall" value=${given.tolerance} min=${0} step="any" placeholder="0.5" hint="Of the mean; with no regression"
        problem=${problemOf(error, "tolerance")} onChange=${set("tolerance")} />
      <${SelectField} label="Baseline" value=${given.baseline} options=${baselines} problem=${problemOf(error, "baseline")} onChange=${set("baseline")} />
    </div>
    <div class="actions"><${Button} type="submit" kind="primary">${label}<//></div>
  </form>`;
}
