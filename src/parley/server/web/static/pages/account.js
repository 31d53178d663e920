// Account: its place is kept, its content is on the way.
import { html } from "../html.js";
import { Empty } from "../components/states.js";

export const title = "Account";

export default function Page() {
  return html`<div class="page-head"><div><h1>Account</h1></div></div>
    <${Empty} title="Not there yet">This page is being built. The API has it all: see <a href="/docs">its reference</a>.<//>`;
}
