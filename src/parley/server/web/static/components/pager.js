// Older rows of a list, by the API's cursor. Pages keep what they have and add.
import { useState } from "preact/hooks";
import { html } from "../html.js";
import { Button } from "./button.js";
import { tellError } from "./toast.js";

/** `page` is the API's; `more(cursor)` reads and adds. */
export function Pager({ page, more, label = "Show older" }) {
  const [isBusy, setBusy] = useState(false);
  if (!page?.has_more) return null;
  const go = async () => {
    setBusy(true);
    await more(page.next_cursor).catch(tellError);
    setBusy(false);
  };
  return html`<div class="pager"><${Button} isBusy=${isBusy} onClick=${go}>${label}<//></div>`;
}
