// A list of the API: its newest page, read anew when asked, and the older ones that the reader has called up.
import { useEffect, useState } from "preact/hooks";
import { get } from "../api.js";
import { useLoad } from "../load.js";

/** `{found, rowsOf(data), page, more}`: `found` is a `useLoad` of the newest page. */
export function useList(path, query = {}) {
  const read = (signal, cursor) => get(path, { limit: 50, ...query, cursor }, { signal });
  const inputs = [path, query];
  const found = useLoad((signal) => read(signal), inputs);
  const [older, setOlder] = useState(null);
  useEffect(() => setOlder(null), [JSON.stringify(inputs)]);
  const more = async (cursor) => {
    const next = await read(undefined, cursor);
    setOlder((before) => ({ rows: [...(before?.rows ?? []), ...next.data], page: next.page }));
  };
  const rowsOf = (data) => [...data, ...(older?.rows ?? []).filter((row) => !data.some((one) => one.id === row.id))];
  return { found, rowsOf, page: older?.page ?? found.data?.page, more };
}
