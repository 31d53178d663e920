// Reading for a page: what is on the way, what came, what went wrong.
import { useEffect, useRef, useState } from "preact/hooks";

/**
 * Run `read(signal)` now and whenever `inputs` change; gives `{data, error, isLoading, reload}`.
 * What was read before stays until the new is here, so that nothing jumps. Answers that come too late are dropped.
 */
export function useLoad(read, inputs) {
  const [state, setState] = useState({ data: null, error: null, isLoading: true });
  const [round, setRound] = useState(0);
  const key = JSON.stringify(inputs);
  const shown = useRef(key);
  useEffect(() => {
    const ending = new AbortController();
    const isOther = shown.current !== key;
    shown.current = key;
    setState((before) => ({ data: before.data, error: isOther ? null : before.error, isLoading: true }));
    read(ending.signal).then(
      (data) => ending.signal.aborted || setState({ data, error: null, isLoading: false }),
      (error) => ending.signal.aborted || setState((before) => ({ ...before, error, isLoading: false })),
    );
    return () => ending.abort();
  }, [key, round]);
  return { ...state, reload: () => setRound((before) => before + 1) };
}

/** Run `act` now and then while the page is shown and the tab is in front. */
export function useEvery(seconds, act) {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/** `value` once it has stood still for `ms`. */
export function useSettled(value, ms) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
