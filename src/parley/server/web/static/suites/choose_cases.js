// Which cases of a suite are run; all of them unless some are taken out.
import { html } from "../html.js";
import { CheckField } from "../components/field.js";

/** `chosen` are ids, null for all. */
export function ChooseCases({ cases, chosen, onChange, problem }) {
  const taken = chosen ?? cases.map((one) => one.id);
  const turn = (id) => (isTaken) => {
    const next = cases.map((one) => one.id).filter((one) => (one === id ? isTaken : taken.includes(one)));
    onChange(next.length === cases.length ? null : next);
  };
  return html`<details class="folded" open=${cases.length <= 10}>
    <summary>Cases: ${chosen ? `${chosen.length} of ${cases.length}` : `all ${cases.length}`}</summary>
    <fieldset class="field rows-field"><legend class="unseen">Cases</legend>
      ${problem && html`<p class="problem">${problem}</p>`}
      ${cases.map((one) => html`<${CheckField} key=${one.id} label=${one.name ?? one.id} value=${taken.includes(one.id)} onChange=${turn(one.id)} />`)}
    </fieldset>
  </details>`;
}
