// Which turn decided a run, in a sentence.

const places = (score) => score.toFixed(2);

/**
 * `{turn, text}` for a run that has ended; null while it is open. `turn` is null where none decided.
 * `run` is the API's detail, `opinions` its opinions, oldest first.
 */
export function deciding(run, opinions) {
  if (run.state === "pending" || run.state === "running") return null;
  if (run.state === "cancelled") return { turn: null, text: "Somebody cancelled it; nothing was decided." };
  if (run.error) return failed(run.error);
  const tell = SENTENCES[run.result?.reason];
  return tell ? tell(run, opinions, run.definition.fields) : null;
}

function failed({ turn, message }) {
  return { turn: turn || null, text: `It could not be carried out${turn ? ` beyond turn ${turn}` : ""}: ${message}` };
}

const SENTENCES = {
  baseline_reached(run, opinions, fields) {
    const { turn, score } = opinions.at(-1);
    return { turn, text: `Turn ${turn} decided it: a score of ${places(score)} reached the ${fields.base_threshold} of a success.` };
  },
  loss_threshold_persisted(run, opinions, fields) {
    const { turn, loss_streak: streak } = opinions.at(-1);
    const from = opinions.at(-streak).turn;
    const text = `Turn ${turn} decided it: for ${streak} judged turns, from turn ${from} on, score and conversation stayed at ${fields.loss_threshold} or less.`;
    return { turn: from, text };
  },
  simulated_user_ended_conversation(run, opinions) {
    const turn = run.result.turn_number;
    return { turn, text: `The simulated user left at turn ${turn}${best(opinions, " before a success; the best score was")}.` };
  },
  max_turns_reached(run, opinions) {
    const turn = nearest(opinions)?.turn ?? run.result.turn_number;
    return { turn, text: `All ${run.result.turn_number} turns were used${best(opinions, "; the nearest to a success was")}.` };
  },
  validation_hook_interrupted(run) {
    const refusing = run.result.hooks.find((call) => call.called && !call.continued);
    const turn = run.result.turn_number || null;
    return { turn, text: `A hook ended it${turn ? ` at turn ${turn}` : " before it began"}${refusing ? `: ${refusing.event}, ${refusing.error ?? `status ${refusing.status}`}` : ""}.` };
  },
};

function nearest(opinions) {
  return opinions.reduce((top, one) => (top && top.score >= one.score ? top : one), null);
}

function best(opinions, words) {
  const top = nearest(opinions);
  return top ? `${words} ${places(top.score)} at turn ${top.turn}` : "";
}
