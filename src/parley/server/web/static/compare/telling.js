// What the comparison of two sets says, in a sentence. Pure.

const percent = (share) => `${Math.round(share * 100)}%`;
const points = (share) => `${share < 0 ? "−" : ""}${Math.abs(Math.round(share * 100))}`;

/** Whether an interval leaves open that nothing has changed. */
export const mayBeChance = ({ low, high }) => low <= 0 && high >= 0;

/** The sentence on successes; `found` is the API's comparison. */
export function telling({ comparable, gap, left, right }) {
  if (!comparable) return null;
  const { success } = gap;
  const [was, is] = [percent(left.success.value), percent(right.success.value)];
  const range = `between ${points(success.low)} and ${points(success.high)} points`;
  if (!Math.round(success.value * 100)) return `Successes stayed at ${is}. The true change lies ${range}.`;
  const way = success.value > 0 ? "rose" : "fell";
  const moved = `Successes ${way} from ${was} to ${is}.`;
  return mayBeChance(success)
    ? `${moved} That may be chance: the true change lies ${range}. More runs would tell.`
    : `${moved} That is more than chance explains: the true change lies ${range}.`;
}

/** Ten counts of scores, from 0 to 1; a score of 1 belongs to the last. */
export function histogram(runs) {
  const counts = Array(10).fill(0);
  for (const { score } of runs) if (score !== null) counts[Math.min(9, Math.floor(score * 10 + 1e-9))] += 1;
  return counts;
}
