// A test as it is being written: what the reader has set, what the API thinks of it, and what will be sent.
import { useEffect, useState } from "preact/hooks";
import { get, patch, post } from "../api.js";
import { useSettled } from "../load.js";

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

let schema = null;

/** The API's JSON Schema of a test: meanings, bounds and defaults, read once. */
export async function readSchema(signal) {
  schema ??= (await get("/agentic-tests/schema", {}, { signal })).data;
  return schema;
}

/** Only the fields that a test can be made from. */
export const fieldsOf = (test, fields) =>
  Object.fromEntries(Object.keys(fields).filter((name) => name in test).map((name) => [name, test[name]]));

/** What has to be sent: all that is set, or, of a stored test, what is no longer as it was. */
export function bodyOf(draft, original, fields) {
  const names = Object.keys(fields).filter((name) => !same(draft[name], original?.[name]));
  return Object.fromEntries(names.map((name) => [name, draft[name] ?? (original ? (fields[name].default ?? null) : undefined)]));
}

/** A part of an object field, such as user_sampling.top_k; an object without parts is not set at all. */
export function withPart(object, name, value) {
  const next = { ...object, [name]: value };
  if (value === null || value === undefined) delete next[name];
  return Object.keys(next).length ? next : undefined;
}

/**
 * Let the API try the draft, without storing it, whenever it has stood still: `{problems, error, isChecking}`.
 * `original` is the stored test with its id, or null.
 */
export function useTrial(draft, original, fields) {
  const body = JSON.stringify(bodyOf(draft, original, fields));
  const settled = useSettled(body, 350);
  const [state, setState] = useState({ problems: {}, error: null, checked: null });
  useEffect(() => {
    const ending = new AbortController();
    const options = { query: { dry_run: true }, signal: ending.signal };
    const asked = original
      ? patch(`/agentic-tests/${original.id}`, JSON.parse(settled), options)
      : post("/agentic-tests", JSON.parse(settled), options);
    asked.then(
      () => setState({ problems: {}, error: null, checked: settled }),
      (error) => {
        if (error.name === "AbortError") return;
        const isAboutFields = error.code === "invalid_request";
        setState({ problems: error.problems ?? {}, error: isAboutFields ? null : error, checked: settled });
      },
    );
    return () => ending.abort();
  }, [settled]);
  return { ...state, isChecking: state.checked !== body };
}

/** The problems at a field and below it, as one text; null if there is none. */
export function problemAt(problems, name) {
  const found = Object.entries(problems).filter(([field]) => field === name || field.startsWith(`${name}.`));
  if (!found.length) return null;
  return found.map(([field, problem]) => (field === name ? problem : `${field.slice(name.length + 1)}: ${problem}`)).join("; ");
}
