// The title of the tab, where a page knows it only once it has read something.
import { useEffect } from "preact/hooks";

/** Name the tab; nothing happens until there is a text. */
export function useTitle(text) {
  useEffect(() => {
    if (text) document.title = `${text} - Parley`;
  }, [text]);
}
