// Two runs side by side: their messages by turn, where their scores part, and figures of each. Pure.
import { byTurn } from "../run/items.js";

/** Scores that differ by less are called alike. */
const ALIKE = 0.2;

/** Both lists of items by turn, every turn of either once: `[{turn, left, right}]`. */
export function aligned(left, right) {
  const sides = [left, right].map((items) => new Map(byTurn(items).map((one) => [one.turn, one.items])));
  const turns = [...new Set([...sides[0].keys(), ...sides[1].keys()])].sort((one, other) => one - other);
  return turns.map((turn) => ({ turn, left: sides[0].get(turn) ?? [], right: sides[1].get(turn) ?? [] }));
}

/** Where the scores of two runs part, as `{turn, text}`; `turn` is null where they do not. Opinions oldest first. */
export function parting(left, right) {
  const others = new Map(right.map((one) => [one.turn, one.score]));
  const both = left.filter((one) => others.has(one.turn)).map((one) => [one.turn, one.score, others.get(one.turn)]);
  if (!both.length) return { turn: null, text: "No turn was judged in both." };
  const found = both.find(([, was, is]) => Math.abs(was - is) >= ALIKE - 1e-9);
  if (!found) return { turn: null, text: `At every turn that was judged in both, their scores lie less than ${ALIKE} apart.` };
  const [turn, was, is] = found;
  return { turn, text: `Their scores part at turn ${turn}: ${was.toFixed(2)} on the left, ${is.toFixed(2)} on the right.` };
}

/** The figures of one run: `{score, turns, tookS, answerMs, firstMs, tokens, cost}`, null where there is none. */
export function figures(run) {
  const answers = run.conversation.filter((item) => item.role === "assistant");
  const seconds = run.started_at && run.finished_at ? (new Date(run.finished_at) - new Date(run.started_at)) / 1000 : null;
  return {
    score: run.score,
    turns: run.result?.turn_number ?? Math.max(0, ...run.conversation.map((item) => item.turn)),
    tookS: seconds,
    answerMs: median(answers.map((item) => item.took_ms)),
    firstMs: median(answers.map((item) => item.first_piece_ms).filter((ms) => ms !== null)),
    tokens: answers.reduce((sum, item) => sum + item.usage.completion_tokens, 0),
    cost: run.cost,
  };
}

/** The lower of the two in the middle of an even number; null without any. */
export function median(values) {
  return values.length ? values.toSorted((one, other) => one - other)[Math.ceil(values.length / 2) - 1] : null;
}
