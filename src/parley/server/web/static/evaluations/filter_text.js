// A filter of the address that is typed: it counts once the reader stops.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";
import { useSettled } from "../load.js";
import { withQuery } from "../router.js";
import { TextField } from "../components/field.js";

const SETTLES_MS = 350;

export function FilterText({ label, name, query, placeholder }) {
  const given = query.get(name) ?? "";
  const [text, setText] = useState(given);
  const settled = useSettled(text, SETTLES_MS);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && settled.trim() !== given) withQuery({ [name]: settled.trim() });
    isFirst.current = false;
  }, [settled]);
  useEffect(() => setText(given), [given]);
  return html`<${TextField} label=${label} type="search" value=${text} placeholder=${placeholder} onChange=${setText} />`;
}
