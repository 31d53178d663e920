// Markdown as elements, on demand. Only a few forms are known, all else stays text; nothing is loaded or linked.
import { html } from "../html.js";

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(\*[^*\n]+\*|_[^_\n]+_)/;

function inline(text) {
  const parts = [];
  let rest = text;
  for (let found = INLINE.exec(rest); found; found = INLINE.exec(rest)) {
    parts.push(rest.slice(0, found.index));
    const [whole, code, bold] = found;
    if (code) parts.push(html`<code>${whole.slice(1, -1)}</code>`);
    else if (bold) parts.push(html`<strong>${whole.slice(2, -2)}</strong>`);
    else parts.push(html`<em>${whole.slice(1, -1)}</em>`);
    rest = rest.slice(found.index + whole.length);
  }
  return [...parts, rest];
}

const isFence = (line) => /^\s*(```|~~~)/.test(line);
const BULLET = /^\s*[-*+]\s+(.*)$/;
const NUMBER = /^\s*\d+[.)]\s+(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;

/** `[kind, lines]` blocks of a text: code, bullets, numbers, heading or words. */
function blocks(text) {
  const found = [];
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at];
    if (isFence(line)) {
      const end = lines.findIndex((other, index) => index > at && isFence(other));
      const stop = end < 0 ? lines.length : end;
      found.push(["code", lines.slice(at + 1, stop)]);
      at = stop;
      continue;
    }
    const [kind, words] = kindOf(line);
    const last = found.at(-1);
    if (last?.[0] === kind && kind !== "heading" && kind !== "gap") last[1].push(words);
    else found.push([kind, [words]]);
  }
  return found.filter(([kind]) => kind !== "gap");
}

function kindOf(line) {
  for (const [kind, form] of [["heading", HEADING], ["bullets", BULLET], ["numbers", NUMBER]]) {
    const found = form.exec(line);
    if (found) return [kind, found[1]];
  }
  return line.trim() ? ["words", line] : ["gap", ""];
}

const ELEMENTS = {
  code: (lines) => html`<pre class="code">${lines.join("\n")}</pre>`,
  heading: ([line]) => html`<p><strong>${inline(line)}</strong></p>`,
  bullets: (lines) => html`<ul>${lines.map((line) => html`<li>${inline(line)}</li>`)}</ul>`,
  numbers: (lines) => html`<ol>${lines.map((line) => html`<li>${inline(line)}</li>`)}</ol>`,
  words: (lines) => html`<p class="words">${inline(lines.join("\n"))}</p>`,
};

export function Markdown({ text }) {
  return html`<div class="prose">${blocks(text).map(([kind, lines]) => ELEMENTS[kind](lines))}</div>`;
}
