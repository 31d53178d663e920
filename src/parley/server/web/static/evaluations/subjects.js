// What is evaluated: datasets and suites, by the names that the newest evaluations bear.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { withQuery } from "../router.js";
import { SelectField } from "../components/field.js";

const LOOK_BACK = 100;

const keyOf = ({ dataset_id: dataset, suite_id: suite }) => (dataset ? `dataset=${dataset}` : `suite=${suite}`);

/** What the address chooses: `{dataset}`, `{suite}` or nothing. */
export const chosenSubject = (query) => {
  const [dataset, suite] = [query.get("dataset"), query.get("suite")];
  return dataset ? { dataset } : suite ? { suite } : {};
};

/** Pairs of key and name, newest first. */
export function subjectsOf(evaluations) {
  const names = new Map();
  for (const one of evaluations) {
    if (!names.has(keyOf(one))) names.set(keyOf(one), one.name);
  }
  return [...names];
}

/** Chooses a dataset or a suite for the address. */
export function SubjectField({ query, none = "All datasets and suites" }) {
  const found = useLoad((signal) => get("/evaluations", { limit: LOOK_BACK }, { signal }), []);
  const [pair] = Object.entries(chosenSubject(query));
  const value = pair ? pair.join("=") : "";
  const known = subjectsOf(found.data?.data ?? []);
  const options = [["", none], ...known];
  if (value && !known.some(([key]) => key === value)) options.push([value, `The chosen ${pair[0]}`]);
  const choose = (key) => {
    const [kind, id] = key.split("=");
    withQuery({ dataset: null, suite: null, ...(kind && { [kind]: id }) });
  };
  return html`<${SelectField} label="Dataset or suite" value=${value} options=${options} onChange=${choose} />`;
}
