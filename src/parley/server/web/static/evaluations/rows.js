// A list that is paged by place alone: its beginning, read anew when asked, and what the reader has called up.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api.js";
import { useLoad } from "../load.js";

const PAGE = 50;

/** `{found, rowsOf(data), page, more}`, as `useList` gives them. */
export function useRows(path, query = {}) {
  const read = (signal, offset) => get(path, { limit: PAGE, ...query, offset }, { signal });
  const inputs = [path, query];
  const found = useLoad((signal) => read(signal, 0), inputs);
  const [rest, setRest] = useState(null);
  useEffect(() => setRest(null), [JSON.stringify(inputs)]);
  const more = async () => {
    const next = await read(undefined, PAGE + (rest?.rows.length ?? 0));
    setRest((before) => ({ rows: [...(before?.rows ?? []), ...next.data], page: next.page }));
  };
  const rowsOf = (data) => [...data, ...(rest?.rows ?? [])];
  return { found, rowsOf, page: rest?.page ?? found.data?.page, more };
}
