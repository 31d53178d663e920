// One thing at a time that a person asks the API for.
import { useRef, useState } from "preact/hooks";
import { tellError } from "../components/toast.js";

/** A refusal without what it says of one field; null if that was all. */
function without(error, name) {
  if (!problemOf(error, name)) return error;
  const details = error.details.filter(({ field }) => field !== name && !field?.startsWith(`${name}.`));
  return details.length ? Object.create(error, { details: { value: details } }) : null;
}

/**
 * `[isBusy, run, error, forget]`: `run()` does `act(...)` unless it is under way already. What went wrong is told as
 * news, and, if `keepsError`, kept for the page instead; problems of fields then stand in `error.problems`, until
 * `forget(name)` says that the field is being mended.
 */
export function useAct(act, { keepsError = false } = {}) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const isUnderWay = useRef(false);
  const run = async (...given) => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    setBusy(true);
    setError(null);
    try {
      await act(...given);
    } catch (fault) {
      if (keepsError) setError(fault);
      else tellError(fault);
    } finally {
      isUnderWay.current = false;
      setBusy(false);
    }
  };
  const forget = (name) => setError((now) => without(now, name));
  return [isBusy, run, error, forget];
}

/** The problem of one field, and of what lies below it. */
export function problemOf(error, name) {
  const found = Object.entries(error?.problems ?? {}).filter(([field]) => field === name || field.startsWith(`${name}.`));
  if (!found.length) return null;
  return found.map(([field, problem]) => (field === name ? problem : `${field.slice(name.length + 1)}: ${problem}`)).join("; ");
}

/** Whether a refusal names no field, so that it has to be told as a whole. */
export const isWhole = (error) => Boolean(error) && !Object.keys(error.problems).length;

/** Lead the reader to the first field that has a problem. */
export const toFirstProblem = () =>
  requestAnimationFrame(() => document.querySelector("[aria-invalid=true]")?.focus());
