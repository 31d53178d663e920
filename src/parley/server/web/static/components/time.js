// Times in the reader's zone, with UTC on hover.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";

const now = signal(Date.now());
setInterval(() => (now.value = Date.now()), 15_000);

const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const STEPS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

const utc = (moment) => `${moment.toISOString().slice(0, 16).replace("T", " ")} UTC`;

function distance(seconds) {
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ["second", 1];
  return unit === "second" && Math.abs(seconds) < 45 ? "just now" : RELATIVE.format(Math.round(seconds / size), unit);
}

/** A moment. `isRelative` tells how far away it is ("3 min. ago"), up to a week. */
export function Time({ at, isRelative = false }) {
  if (!at) return html`<span class="muted">–</span>`;
  const moment = new Date(at);
  const seconds = (moment - now.value) / 1000;
  const isNear = Math.abs(seconds) < 7 * 86_400;
  const text = isRelative && isNear ? distance(seconds) : FULL.format(moment);
  const full = `${FULL.format(moment)} (${utc(moment)})`;
  return html`<time datetime=${at} title=${full}>${text}</time>`;
}

/** How long something took, from two moments. */
export function Duration({ from, to }) {
  if (!from) return html`<span class="muted">–</span>`;
  const seconds = Math.max(0, ((to ? new Date(to) : now.value) - new Date(from)) / 1000);
  return html`<span>${duration(seconds)}</span>`;
}

export function duration(seconds) {
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The seconds left of a wait, counted down. */
export function Countdown({ seconds }) {
  const [left, setLeft] = useState(seconds);
  useEffect(() => {
    setLeft(seconds);
    const until = Date.now() + seconds * 1000;
    const timer = setInterval(() => setLeft(Math.max(0, Math.ceil((until - Date.now()) / 1000))), 500);
    return () => clearInterval(timer);
  }, [seconds]);
  return left > 0 ? `It can be tried again in ${left} s.` : "It can be tried again now.";
}
