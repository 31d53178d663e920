// The scripted part of a suite as it is written: cases as YAML or JSON, what they are played against, who judges.
import { ApiError } from "../api.js";
import { html } from "../html.js";
import { problemOf } from "../account/act.js";
import { Button } from "../components/button.js";
import { SelectField, TextArea } from "../components/field.js";

const FIRST_SUITE = `id: my-suite
cases:
  - id: greeting
    steps:
      - message: Hello, who are you?
        expect:
          type: answer
          criteria: [Says what it can help with.]
`;
const FIRST_TARGET = { type: "gateway", gateway: "", toolVisibility: "none" };
const JUDGES = [["service", "the service"], ["app", "the app itself"]];
const PROFILES = ["low", "medium", "high"].map((one) => [one, one]);

const written = (value) => JSON.stringify(value, null, 2);

/** A stored script as the form has it; null without one. */
export const draftOfScript = (script) =>
  script && { suite: written(script.suite), target: written(script.target), judge: script.judge, profile: script.profile };

/** The form as the API takes it. Throws `ApiError` for a target that is no JSON. */
export function bodyOfScript(draft) {
  if (!draft) return null;
  try {
    return { ...draft, target: JSON.parse(draft.target) };
  } catch (fault) {
    const details = [{ field: "script.target", problem: `is not JSON: ${fault.message}` }];
    throw new ApiError(400, { error: "The target cannot be read.", code: "invalid_request", details });
  }
}

export function ScriptEditor({ draft, onChange, error }) {
  const begin = () => onChange({ suite: FIRST_SUITE, target: written(FIRST_TARGET), judge: "service", profile: "low" });
  if (!draft) {
    return html`<p class="muted">Fixed messages whose answers are checked and judged, beside the tests or alone.</p>
      <p class="below-table"><${Button} onClick=${begin}>Add scripted cases<//></p>`;
  }
  const set = (name) => (value) => onChange({ ...draft, [name]: value });
  const problem = (name) => problemOf(error, `script.${name}`);
  return html`<div class="fields">
    <${TextArea} label="Cases" badge="YAML or JSON" isCode isWide rows=${16} value=${draft.suite} problem=${problem("suite")} onChange=${set("suite")} />
    <${TextArea} label="Played against" badge="JSON" isCode isWide rows=${8} value=${draft.target} problem=${problem("target")} onChange=${set("target")}
      hint="A gateway with its declared tools, a registered app, or your own process." />
    <${SelectField} label="Judged by" value=${draft.judge} options=${JUDGES} problem=${problem("judge")} onChange=${set("judge")} />
    <${SelectField} label="Judge's profile" value=${draft.profile} options=${PROFILES} problem=${problem("profile")} onChange=${set("profile")} />
  </div>
  <p class="below-table"><${Button} kind="danger" onClick=${() => onChange(null)}>Take the scripted cases out<//></p>`;
}
