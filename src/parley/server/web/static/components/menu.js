// A button that opens a short list of things to do. Arrow keys move, Escape closes.
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../html.js";

/** `kind` is the look of the button. */
export function Menu({ label, title, kind = "quiet", children }) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef();
  const opener = useRef();
  useEffect(() => {
    if (!isOpen) return undefined;
    root.current.querySelector("[role=menuitem]")?.focus();
    const outside = (event) => root.current.contains(event.target) || setOpen(false);
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    opener.current.focus();
  };
  return html`<div class="menu" ref=${root} onKeyDown=${(event) => isOpen && onKey(event, root.current, close)}>
    <button type="button" class=${`button ${kind}`} ref=${opener} aria-haspopup="menu" aria-expanded=${isOpen}
      title=${title} onClick=${() => setOpen(!isOpen)}>
      <span class="menu-label">${label}</span><span aria-hidden="true">▾</span>
    </button>
    ${isOpen && html`<div class="menu-list" role="menu" aria-label=${title ?? label} onClick=${() => setOpen(false)}>
      ${children}
    </div>`}
  </div>`;
}

function onKey(event, root, close) {
  if (event.key === "Escape") return close();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return undefined;
  event.preventDefault();
  const items = [...root.querySelectorAll("[role=menuitem]")];
  const next = items.indexOf(document.activeElement) + step;
  return items[(next + items.length) % items.length]?.focus();
}
