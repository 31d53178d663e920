// Compare: two runs of a test side by side, or two sets of them before and after a change.
import { get } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { useTitle } from "../title.js";
import { Loaded } from "../components/states.js";
import { Pair } from "../compare/pair.js";
import { Sets } from "../compare/sets.js";

/** What the address asks for: "runs", "time" or "revision". */
const wayOf = (query) => (query.has("right") ? "runs" : query.get("by") === "time" || query.has("split") ? "time" : "revision");

export default function Page({ params, query }) {
  const test = useLoad((signal) => get(`/agentic-tests/${params.id}`, {}, { signal }), [params.id]);
  useTitle(test.data && `Compare runs of ${test.data.data.name}`);
  return html`<${Loaded} from=${test} lines=${14}>${({ data }) => html`<${Compare} test=${data} query=${query} />`}<//>`;
}

function Compare({ test, query }) {
  const way = wayOf(query);
  return html`
    <div class="page-head"><div>
      <p class="crumbs"><a href="/tests">Tests</a> / <a href=${`/tests/${test.id}`}>${test.name}</a></p>
      <h1>Compare runs of ${test.name}</h1>
    </div></div>
    <${Ways} test=${test} way=${way} />
    ${way === "runs"
      ? html`<${Pair} testId=${test.id} left=${query.get("left")} right=${query.get("right")} />`
      : html`<${Sets} key=${way} testId=${test.id} by=${way} query=${query} />`}`;
}

function Ways({ test, way }) {
  const path = `/tests/${test.id}/compare`;
  const ways = [
    ["revision", "Two revisions", path],
    ["time", "Before and after a moment", `${path}?by=time`],
    ...(test.latest_run || way === "runs" ? [["runs", "Two runs", `${path}?right=${test.latest_run?.id}`]] : []),
  ];
  return html`<nav class="ways" aria-label="What is compared">${ways.map(([name, words, href]) =>
    html`<a key=${name} href=${href} aria-current=${name === way ? "page" : null}>${words}</a>`)}</nav>`;
}
