// Of an evaluation that was judged again: verdicts that the other grader turned.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { isOpen } from "./badges.js";
import { rating } from "./figures.js";

const COLUMNS = [
  { name: "Case", isMain: true, cell: (one) => (one.repetition > 1 ? `${one.case_id}, repetition ${one.repetition}` : one.case_id) },
  { name: "Was", cell: (one) => one.was },
  { name: "Is", cell: (one) => one.is },
  { name: "Rating was", isNumber: true, cell: (one) => rating(one.rating_was) },
  { name: "Rating is", isNumber: true, cell: (one) => rating(one.rating_is) },
];

export function Flips({ evaluation }) {
  if (!evaluation.regrade_of || isOpen(evaluation)) return null;
  return html`<${Turned} path=${`/evaluations/${evaluation.id}/flips`} former=${evaluation.regrade_of} />`;
}

function Turned({ path, former }) {
  const found = useLoad((signal) => get(path, {}, { signal }), [path]);
  return html`<section class="panel">
    <h2>What the other grader turned</h2>
    <${Loaded} from=${found} lines=${2}>${({ data }) =>
      data.length
        ? html`<${Table} caption="Turned verdicts" columns=${COLUMNS} rows=${data} keyOf=${(one) => `${one.case_id}/${one.repetition}`} />`
        : html`<p>No verdict: both graders say the same as in <a href=${`/evaluations/${former}`}>the first grading</a>.</p>`}<//>
  </section>`;
}
