// A secret that is shown once.
import { html } from "../html.js";
import { Copy } from "../components/copy.js";
import { Dialog } from "../components/dialog.js";
import { Button } from "../components/button.js";

/** `text` is the secret; it is gone once this is closed. */
export function SecretDialog({ title, text, onClose, children }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="dialog-text">
      <p>Copy it now: it is not shown again, here or anywhere.</p>
      <div class="secret"><code>${text}</code><${Copy} text=${text} /></div>
      ${children}
    </div>
    <div class="dialog-actions"><${Button} kind="primary" onClick=${onClose}>I have kept it<//></div>
  <//>`;
}
