// What was sent to hooks, and what came back.
import { html } from "../html.js";
import { Badge } from "../components/badge.js";
import { Time } from "../components/time.js";

const outcome = (call) => {
  if (!call.called) return ["cancelled", "not called"];
  return call.continued ? ["success", "went on"] : ["failed", "refused"];
};

export function HookAudit({ calls }) {
  if (!calls?.length) return null;
  return html`<section class="panel">
    <h2>Hooks</h2>
    <ol class="lines hook-calls">
      ${calls.map((call, index) => {
        const [look, name] = outcome(call);
        return html`<li key=${index}>
          <span><code>${call.event}</code> <span class="muted small words">${call.url}</span></span>
          <span><${Badge} of=${look}>${name}<//> <span class="small muted">${call.error ?? call.status ?? ""}
            ${call.called && html` <${Time} at=${new Date(call.timestamp).toISOString()} />`}</span></span>
          ${call.body && html`<details class="folded"><summary>Answer</summary><pre class="code words">${call.body}</pre></details>`}
        </li>`;
      })}
    </ol>
  </section>`;
}
