// Why an attempt did not pass: the errors, then what its steps missed, each with its place. Pure.

const UNMET = { failed: "was not met", inconclusive: "could not be decided", ungraded: "was not judged", error: "could not be judged" };

/** `[{key, step, look, head, text, note, quotes}]` in the order of weight; `step` counts from 1, null for the whole. */
export function reasonsOf(record) {
  return [...(record.errors ?? []).map(ofError), ...(record.steps ?? []).flatMap(ofStep), ...ofVerification(record.verification)];
}

function ofError(error, place) {
  const { phase, code, message, stepIndex, causes = [], diagnosticId, private: own } = error;
  const notes = [...causes.map((cause) => `Because: ${cause.message} (${cause.code})`), diagnosticId && `Diagnostic id ${diagnosticId}`];
  return {
    key: `error-${place}`,
    step: stepIndex === undefined ? null : stepIndex + 1,
    look: "failed",
    head: `Error in ${phase}, ${code}`,
    text: message,
    note: notes.filter(Boolean).join(" · "),
    own,
    details: error.details,
    quotes: [],
  };
}

function ofStep({ index, checks = [], criteria = [] }) {
  const missed = checks.filter((one) => !one.passed).map((one) => ({
    key: `check-${index}-${one.check}`,
    step: index + 1,
    look: "loss",
    head: `Check ${one.check}`,
    text: one.detail,
    quotes: [],
  }));
  // A criterion that could not be judged has its error above.
  const unmet = criteria.filter((one) => one.status !== "passed" && one.status !== "error").map((one) => ({
    key: `criterion-${index}-${one.id}`,
    step: index + 1,
    look: one.status === "failed" ? "loss" : "incomplete",
    head: `“${one.text}” ${UNMET[one.status]}`,
    text: one.reason,
    quotes: one.quotes ?? [],
  }));
  return [...missed, ...unmet];
}

function ofVerification(found) {
  if (!found || found.passed) return [];
  return [{ key: "verify", step: null, look: "loss", head: "Verification", text: found.reason, details: found.evidence, quotes: [] }];
}
