// The gate of one evaluation: asked in any way, and recorded once the answer is meant.
import { get, request } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { useAct } from "../account/act.js";
import { Button } from "../components/button.js";
import { Empty, Failure } from "../components/states.js";
import { tell } from "../components/toast.js";
import { EvaluationsPage, LoadedPage } from "../evaluations/frame.js";
import { GateAnswer } from "../evaluations/gate_answer.js";
import { askedOf, GateForm } from "../evaluations/gate_form.js";

const CALLER = "dashboard";

export default function Page({ params, query }) {
  const found = useLoad((signal) => get(`/evaluations/${params.id}`, {}, { signal }), [params.id]);
  useTitle(found.data && `Gate of ${found.data.data.name}`);
  return html`<${LoadedPage} title="Gate" from=${found} lines=${10}>${({ data }) => html`<${Gate} evaluation=${data} query=${query} />`}<//>`;
}

function Gate({ evaluation, query }) {
  const path = `/evaluations/${evaluation.id}/gate`;
  const asked = askedOf(query);
  const isAsked = Object.keys(asked).length > 0;
  const found = useLoad((signal) => (isAsked ? get(path, asked, { signal }) : Promise.resolve(null)), [path, asked]);
  const [isBusy, record] = useAct(async () => {
    const { data } = await request("POST", path, { query: { ...asked, caller: CALLER } });
    tell(`Recorded: ${data.verdict}.`, { href: "/evaluations/gates", name: "See the gates" });
  });
  const isRefused = found.error?.status === 400;
  const crumbs = html`<a href=${`/evaluations/${evaluation.id}`}>${evaluation.name}</a>`;
  return html`<${EvaluationsPage} title="Gate" crumbs=${crumbs} lead="Whether this evaluation is good enough, as a pipeline would ask.">
    <div class="split">
      <section class="panel" aria-live="polite"><h2>Answer</h2>
        ${found.error && !isRefused && html`<${Failure} error=${found.error} retry=${found.reload} />`}
        ${isRefused && html`<p class="note bad">The gate does not take this: ${found.error.message}</p>`}
        ${!found.error && found.data && html`<${GateAnswer} answer=${found.data.data} isBrief />
          <${Button} isBusy=${isBusy} disabled=${!may("evaluations:write")} onClick=${record}>Record this answer<//>`}
        ${!isAsked && html`<${Empty} title="Nothing is asked yet"><p>Say what has to hold, such as a mean of at least 7.</p><//>`}
      </section>
      <section class="panel"><h2>Asked</h2><${GateForm} query=${query} error=${isRefused ? found.error : null} /></section>
    </div>
  <//>`;
}
