// A button that copies a text and says so.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { Button } from "./button.js";

export function Copy({ text, label = "Copy" }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 2_000);
  };
  return html`<${Button} kind="quiet" onClick=${copy}><span aria-live="polite">${isDone ? "Copied" : label}</span><//>`;
}
