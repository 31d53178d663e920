// A question that wants an answer first. The browser's own dialog keeps focus and Escape.
import { createPortal } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { html } from "../html.js";
import { Button } from "./button.js";

/** `onClose` is called however it is closed. It stands outside of its opener, so it takes over no look of it. */
export function Dialog({ title, onClose, children, isWide }) {
  const box = useRef();
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    box.current.showModal();
    return () => opener?.focus?.();
  }, []);
  const dialog = html`<dialog ref=${box} class=${isWide ? "wide" : null} aria-labelledby=${id} onClose=${onClose}
    onClick=${(event) => event.target === box.current && box.current.close()}>
    <div class="dialog-body">
      <div class="dialog-head"><h2 id=${id}>${title}</h2>
        <button type="button" class="button quiet square" aria-label="Close" onClick=${() => box.current.close()}>✕</button>
      </div>
      ${children}
    </div>
  </dialog>`;
  return createPortal(dialog, document.body);
}

/** A yes or no. `act` may be asynchronous; the dialog waits for it. */
export function Confirm({ title, children, label, kind = "primary", isBusy, onConfirm, onClose }) {
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div class="dialog-text">${children}</div>
    <div class="dialog-actions">
      <${Button} onClick=${onClose}>Not now<//>
      <${Button} kind=${kind} isBusy=${isBusy} onClick=${onConfirm}>${label}<//>
    </div>
  <//>`;
}
