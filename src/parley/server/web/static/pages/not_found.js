// An address that the dashboard does not know.
import { html } from "../html.js";
import { Missing } from "../components/states.js";

export const title = "Nothing here";

export default function Page() {
  return html`<${Missing} />`;
}
