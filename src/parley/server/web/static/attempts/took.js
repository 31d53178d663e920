// Times of agents and judges: many take less than a second.
import { duration } from "../components/time.js";

/** Milliseconds as people read them; a dash for what is not known. */
export function took(ms) {
  if (ms === null || ms === undefined) return "–";
  return ms < 1000 ? `${ms} ms` : duration(ms / 1000);
}
