// A conversation as people read one, turn by turn.
import { Component } from "preact";
import { useMemo } from "preact/hooks";
import { html } from "../html.js";
import { place } from "../router.js";
import { Badge } from "../components/badge.js";
import { Markdown } from "../components/markdown.js";
import { Money } from "../components/money.js";
import { duration, Time } from "../components/time.js";
import { roughSize, useGradually } from "./gradually.js";
import { byTurn } from "./items.js";

const NAMES = { user: "Simulated user", assistant: "Gateway", judge: "Judge", system: "System", tool: "Tool" };

/** `items` of `items.js`; `start` the messages it began with; `decided` the turn to mark. */
export function Conversation({ items, start, decided, isMarkdown }) {
  const turns = useMemo(() => byTurn(items), [items]);
  const wayOf = useGradually(turns.length, isMarkdown);
  const aim = place.value.hash.slice(1);
  const isAim = ({ turn, items: said }) => aim === `turn-${turn}` || said.some((item) => item.key === aim);
  return html`<div class="conversation">
    ${start.length > 0 && html`<section class="turn" aria-label="Start"><h3 class="turn-head">Start, as defined</h3>
      ${start.map((message, index) => html`<${Given} key=${index} message=${message} />`)}</section>`}
    ${turns.map((one, place) => html`<${Turn} key=${one.turn} turn=${one.turn} said=${one.items} isDeciding=${one.turn === decided}
      way=${isAim(one) ? isMarkdown : wayOf(place)} />`)}
  </div>`;
}

/** One turn; `way` says whether it shows Markdown, undefined that its messages are not drawn yet. */
class Turn extends Component {
  shouldComponentUpdate({ said, way, isDeciding }) {
    const { said: before, way: wayBefore, isDeciding: wasDeciding } = this.props;
    const isSame = said.length === before.length && said.every((item, index) => item === before[index]);
    return !isSame || way !== wayBefore || isDeciding !== wasDeciding;
  }

  render({ turn, said, way, isDeciding }) {
    return html`<section class=${`turn${isDeciding ? " decided" : ""}`} id=${`turn-${turn}`} aria-label=${`Turn ${turn}`} style=${roughSize(said)}>
      <h3 class="turn-head"><a href=${`#turn-${turn}`}>${turn ? `Turn ${turn}` : "Before the first turn"}</a>
        ${isDeciding && html`<span class="badge accent">deciding turn</span>`}</h3>
      ${way !== undefined && said.map((item) => html`<${Message} key=${item.key} item=${item} isMarkdown=${way} />`)}
    </section>`;
  }
}

/** Characters beyond which a message is shown as it is: its many elements would hold the page up. */
const LONGEST_MARKDOWN = 40_000;

/** Drawn anew only when its item is another one: a long conversation stays light while it grows. */
export class Message extends Component {
  shouldComponentUpdate({ item, isMarkdown }) {
    return item !== this.props.item || isMarkdown !== this.props.isMarkdown;
  }

  render({ item, isMarkdown }) {
    if (item.spent) return html`<${Spent} item=${item} />`;
    return html`<article class=${`message ${item.role}${item.isOpen ? " is-open" : ""}`} id=${item.key}
      aria-label=${NAMES[item.role]}>
      <${Head} item=${item} />
      ${item.reasoning && html`<${Folded} name="Reasoning"><p class="words">${item.reasoning}</p><//>`}
      ${item.content && (isMarkdown && item.content.length <= LONGEST_MARKDOWN ? html`<${Markdown} text=${item.content} />` : html`<p class="words">${item.content}</p>`)}
      ${item.refusal && html`<p class="note warn words"><strong>Refused:</strong> ${item.refusal}</p>`}
      ${item.toolCalls.map((call) => html`<${ToolCall} key=${call.id} call=${call} results=${item.toolResults} />`)}
      ${item.opinion && html`<${Opinion} opinion=${item.opinion} />`}
      ${isSilent(item) && html`<p class="muted">Nothing was said.</p>`}
      ${item.isOpen && html`<p class="muted small typing" role="status">${item.role === "judge" ? "judging" : "speaking"}…</p>`}
      <${Notes} item=${item} />
    </article>`;
  }
}

const isSilent = (item) =>
  !item.isOpen && !item.content && !item.refusal && !item.opinion && !item.toolCalls.length && !item.hasLeft;

function Head({ item }) {
  const { usage, tookMs } = item;
  const tokens = usage && `${usage.prompt_tokens} + ${usage.completion_tokens} tokens`;
  return html`<header class="message-head">
    <h4>${NAMES[item.role]}</h4>
    ${item.opinion && html`<span class="score">${item.opinion.score.toFixed(2)}</span>`}
    <span class="small muted">
      <a href=${`#${item.key}`} class="bare" title="Link to this message"><${Time} at=${item.at} /></a>
      ${tookMs !== null && html` · <span title=${item.firstPieceMs === null ? null : `first words after ${duration(item.firstPieceMs / 1000)}`}>${duration(tookMs / 1000)}</span>`}
      ${tokens && html` · <span title=${usage.model}>${tokens}</span>`}
      ${usage?.cost !== undefined && html` · <${Money} usd=${usage.cost} />`}
      ${usage?.estimated && " (estimated)"}
    </span>
  </header>`;
}

function Folded({ name, children }) {
  return html`<details class="folded"><summary>${name}</summary>${children}</details>`;
}

function ToolCall({ call, results }) {
  const result = results.find((one) => one.id === call.id);
  return html`<${Folded} name=${html`Called <code>${call.name}</code>${result ? "" : ", unanswered"}`}>
    <pre class="code words">${pretty(call.arguments)}</pre>
    ${result && html`<p class="small muted">Result</p><pre class="code words">${pretty(result.content)}</pre>`}
  <//>`;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function Opinion({ opinion }) {
  const { reasoning, conversation_delta: delta, loss_streak: streak, required_loss_streak: required, state } = opinion;
  return html`<p class="words">${reasoning}</p>
    <p class="small muted">Conversation ${delta.toFixed(2)}, ${state.replace("_", " ")}${streak ? `, loss streak ${streak} of ${required}` : ""}</p>`;
}

function Notes({ item }) {
  const notes = [...(item.hasLeft ? ["The simulated user left."] : []), ...(item.isTruncated ? ["The answer was cut by its length limit."] : []), ...item.notes];
  return notes.length > 0 && html`<ul class="small muted">${notes.map((note) => html`<li key=${note}>${note}</li>`)}</ul>`;
}

function Spent({ item }) {
  const { reason, code, error, willRetry } = item.spent;
  return html`<p class="spent small" id=${item.key}><${Badge} of="failed">${NAMES[item.role]}: ${reason.replace("_", " ")}<//>
    ${" "}${error || code}${willRetry ? " (tried again)" : ""}
    ${item.usage?.cost !== undefined && html` <span class="muted"><${Money} usd=${item.usage.cost} /></span>`}</p>`;
}

function Given({ message }) {
  const { role, content, tool_calls: calls = [] } = message;
  const text = typeof content === "string" ? content : (content ?? []).map((part) => part.text).join("\n\n");
  return html`<article class=${`message ${role}`} aria-label=${NAMES[role]}>
    <header class="message-head"><h4>${role === "user" ? "User" : NAMES[role]}</h4></header>
    ${text && html`<p class="words">${text}</p>`}
    ${calls.map((call) => html`<${ToolCall} key=${call.id} call=${{ id: call.id, ...call.function }} results=${[]} />`)}
  </article>`;
}
