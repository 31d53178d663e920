// How a run stands, in a word, a sign and a colour; never in a colour alone.
import { html } from "../html.js";

const LOOKS = {
  success: ["good", "✓", "success"],
  loss: ["bad", "✕", "loss"],
  incomplete: ["warn", "–", "incomplete"],
  interrupted: ["bad", "!", "interrupted"],
  failed: ["bad", "!", "failed"],
  cancelled: ["quiet", "○", "cancelled"],
  pending: ["quiet", "…", "waiting"],
  running: ["accent", "▸", "running"],
};

/** What a run is called: its outcome once there is one, else its state. */
export const standing = (run) => (run?.outcome && run.state !== "cancelled" ? run.outcome : run?.state);

/** The badge of an outcome or a state, by its name. */
export function Badge({ of, children }) {
  const [look, sign, name] = LOOKS[of] ?? ["quiet", "", of];
  return html`<span class=${`badge ${look}`}>${sign && html`<span aria-hidden="true">${sign}</span>`}${children ?? name}</span>`;
}

/** The badge of a run. */
export function RunBadge({ run }) {
  return run ? html`<${Badge} of=${standing(run)} />` : html`<span class="muted">no run yet</span>`;
}
