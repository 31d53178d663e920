// What was said, as a list of items of one shape, whether it was kept or is being told right now.
// item: {key, role, turn, at, content, reasoning, refusal, toolCalls, toolResults, opinion, usage, tookMs,
//        firstPieceMs, notes, isTruncated, hasLeft, isOpen, spent}

const BLANK = {
  content: "",
  reasoning: "",
  refusal: "",
  toolCalls: [],
  toolResults: [],
  opinion: null,
  usage: null,
  tookMs: null,
  firstPieceMs: null,
  notes: [],
  isTruncated: false,
  hasLeft: false,
  isOpen: false,
  spent: null,
};

/** The items of a run's detail, in the order they were kept; attempts that came to nothing stand among them. */
export function keptItems({ conversation, attempts }) {
  const lines = [...conversation.map(saidItem), ...attempts.map(spentItem)];
  return lines.sort((left, right) => left.seq - right.seq);
}

function saidItem(line) {
  return {
    ...BLANK,
    key: `m${line.seq}`,
    seq: line.seq,
    role: line.role,
    turn: line.turn,
    at: line.timestamp,
    content: line.role === "judge" ? "" : line.content,
    reasoning: line.reasoning ?? "",
    refusal: line.refusal ?? "",
    toolCalls: line.tool_calls ?? [],
    toolResults: line.tool_results ?? [],
    opinion: line.opinion ?? null,
    usage: line.usage,
    tookMs: line.took_ms,
    firstPieceMs: line.first_piece_ms,
    notes: line.notes,
    isTruncated: line.truncated ?? false,
    hasLeft: line.exited ?? false,
  };
}

function spentItem(line) {
  const { seq, role, turn, timestamp, usage, reason, code, error, attempt, will_retry: willRetry } = line;
  const spent = { reason, code, error, attempt, willRetry };
  return { ...BLANK, key: `m${seq}`, seq, role, turn, at: timestamp, usage, spent };
}

/** Nothing told yet. */
export const SILENCE = { items: [], turn: 0, remaining: null, end: null };

const PARTS = { content: "content", refusal: "refusal", reasoning: "reasoning_content" };

/** `talk` after one event of the stream. Items that an event does not touch stay the same objects. */
export function told(talk, { timestamp, event: { type, data } }) {
  const [, who, what] = type.split(".");
  if (type === "chat.start") return { ...talk, turn: data.turn_number, remaining: data.max_remaining_turns };
  if (type === "chat.validation.end") return { ...talk, end: data };
  if (type === "unhandled_error") return data.will_retry ? withRetry(talk, data, timestamp) : { ...talk, end: data };
  if (type === "usage_updated") return changed(talk, data.role, (item) => ({ usage: added(item.usage, data.usage) }));
  if (who === "judge") return judged(talk, what, data, timestamp);
  return spoke(talk, who === "user_message" ? "user" : "assistant", what, data, timestamp);
}

function spoke(talk, role, what, data, at) {
  if (what === "start_generation") return opened(talk, role, at);
  if (what === "end_generation") return changed(talk, role, () => ({ isOpen: false }));
  if (what === "tool_call") return changed(talk, role, (item) => ({ toolCalls: [...item.toolCalls, data] }));
  if (what === "tool_result") return changed(talk, role, (item) => ({ toolResults: [...item.toolResults, data] }));
  if (what === "end_conversation") return left(talk, at);
  const words = data[PARTS[what]];
  return words === undefined ? talk : changed(talk, role, (item) => ({ [what]: item[what] + words }));
}

function judged(talk, what, data, at) {
  if (what === "turn_analysis_start") return opened(talk, "judge", at);
  if (what === "turn_analysis_result_ready") return changed(talk, "judge", () => ({ opinion: data.result }));
  return changed(talk, "judge", () => ({ isOpen: false }));
}

/** A message begins, or begins anew: then the words of the attempt before are forgotten. */
function opened(talk, role, at) {
  const key = `t${talk.turn}-${role}`;
  const item = { ...BLANK, key, role, turn: talk.turn, at: new Date(at).toISOString(), isOpen: true };
  return { ...talk, items: [...talk.items.filter((one) => one.key !== key), item] };
}

function changed(talk, role, change) {
  const place = talk.items.findLastIndex((item) => item.role === role && !item.spent);
  if (place < 0) return talk;
  const items = talk.items.slice();
  items[place] = { ...items[place], ...change(items[place]) };
  return { ...talk, items };
}

/** The user left; where nothing was said before, the leaving stands by itself. */
function left(talk, at) {
  const spokeNow = talk.items.some((item) => item.role === "user" && item.turn === talk.turn && !item.spent);
  return changed(spokeNow ? talk : opened(talk, "user", at), "user", () => ({ hasLeft: true, isOpen: false }));
}

const ROLE_OF = { user_inference: "user", gateway_inference: "assistant", judge_analysis: "judge" };

function withRetry(talk, { error, code, scope }, at) {
  const spent = { reason: "retried", code, error, willRetry: true };
  const key = `r${talk.items.length}-${at}`;
  const item = { ...BLANK, key, role: ROLE_OF[scope], turn: talk.turn, at: new Date(at).toISOString(), spent };
  return { ...talk, items: [...talk.items, item] };
}

function added(before, usage) {
  if (!before) return usage;
  return Object.fromEntries(Object.entries(usage).map(([name, count]) => [name, count + (before[name] ?? 0)]));
}

/** Items by turn, in order: `[{turn, items}]`. */
export function byTurn(items) {
  const turns = new Map();
  for (const item of items) {
    if (!turns.has(item.turn)) turns.set(item.turn, []);
    turns.get(item.turn).push(item);
  }
  return [...turns].map(([turn, list]) => ({ turn, items: list }));
}

/** The judge's opinions, oldest first. */
export const opinionsOf = (items) =>
  items.filter((item) => item.opinion).map((item) => ({ turn: item.turn, ...item.opinion }));
