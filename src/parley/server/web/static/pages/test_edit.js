// Write a test: a new one, a copy (?from=ID), or a stored one. The API tries every change before it is saved.
import { useEffect, useState } from "preact/hooks";
import { get, patch, post } from "../api.js";
import { html } from "../html.js";
import { useLoad } from "../load.js";
import { holdReader, navigate } from "../router.js";
import { may } from "../session.js";
import { useTitle } from "../title.js";
import { Button } from "../components/button.js";
import { Failure, Loaded } from "../components/states.js";
import { tell } from "../components/toast.js";
import { bodyOf, fieldsOf, readSchema, useTrial } from "../tests/draft.js";
import { TestForm } from "../tests/form.js";

async function readAll(id, signal) {
  const [schema, gateways, stored] = await Promise.all([
    readSchema(signal),
    get("/ai-gateways", { limit: 100 }, { signal }),
    id ? get(`/agentic-tests/${id}`, {}, { signal }) : null,
  ]);
  return { schema, gateways: gateways.data.map((one) => [one.slug, `${one.name}, ${one.model}`]), stored: stored?.data ?? null };
}

export default function Page({ params, query }) {
  const from = params.id ?? query.get("from");
  const found = useLoad((signal) => readAll(from, signal), [from]);
  return html`<${Loaded} from=${found} lines=${10}>
    ${(data) => html`<${Editor} ...${data} isCopy=${!params.id && Boolean(from)} />`}
  <//>`;
}

/** What the form begins with: of a copy, only what differs from the defaults. */
function beginning(stored, schema, isCopy) {
  if (!stored) return {};
  const fields = fieldsOf(stored, schema.properties);
  for (const [name, value] of Object.entries(fields)) {
    const isDefault = JSON.stringify(value) === JSON.stringify(schema.properties[name].default);
    if (value === null || isDefault) delete fields[name];
  }
  return isCopy ? { ...fields, name: `${fields.name} (copy)` } : fields;
}

function Editor({ schema, gateways, stored, isCopy }) {
  const original = isCopy ? null : stored;
  const [start] = useState(() => beginning(stored, schema, isCopy));
  const before = original && { id: original.id, ...start };
  const [draft, setDraft] = useState(start);
  const [touched, setTouched] = useState({});
  const [wantsAll, setWantsAll] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const trial = useTrial(draft, before, schema.properties);
  const isChanged = JSON.stringify(draft) !== JSON.stringify(start);
  const title = original ? `Edit ${original.name}` : isCopy ? "Copy a test" : "New test";
  useTitle(title);
  useEffect(() => holdReader(() => isChanged && !isBusy), [isChanged, isBusy]);

  const change = (name, value) => {
    setDraft((now) => {
      const next = { ...now, [name]: value };
      if (value === undefined) delete next[name];
      return next;
    });
    setTouched((now) => ({ ...now, [name]: true }));
  };
  const shows = (name) => wantsAll || touched[name];
  const save = async (event) => {
    event.preventDefault();
    setWantsAll(true);
    setError(null);
    setBusy(true);
    try {
      const body = bodyOf(draft, before, schema.properties);
      const answer = original ? await patch(`/agentic-tests/${original.id}`, body) : await post("/agentic-tests", body);
      holdReader(() => false);
      tell(answer.message ?? (original ? "Saved." : "The test was made."));
      navigate(`/tests/${answer.data.id}`);
    } catch (fault) {
      setBusy(false);
      if (fault.code !== "invalid_request") setError(fault);
      else requestAnimationFrame(() => document.querySelector("[aria-invalid=true]")?.focus());
    }
  };
  const open = Object.keys(trial.problems).length;
  return html`
    <div class="page-head"><div>
      <p class="crumbs"><a href="/tests">Tests</a>${original && html` / <a href=${`/tests/${original.id}`}>${original.name}</a>`}</p>
      <h1>${title}</h1>
      ${!original && html`<p>A name, a gateway and a goal are enough; everything else has a default.</p>`}
    </div></div>
    <form class="form" novalidate onSubmit=${save}>
      ${!may("tests:write") && html`<p class="note warn">The key of this session may read tests, but not write them (scope tests:write).</p>`}
      <${TestForm} schema=${schema} draft=${draft} change=${change} problems=${trial.problems} gateways=${gateways} shows=${shows} />
      ${(error ?? (wantsAll && trial.error)) && html`<${Failure} error=${error ?? trial.error} title="It was not saved" />`}
      <div class="save-bar">
        <p aria-live="polite"><${Standing} open=${open} trial=${trial} isChanged=${isChanged} wantsAll=${wantsAll} /></p>
        <div class="actions">
          <${Button} href=${original ? `/tests/${original.id}` : "/tests"}>Leave<//>
          <${Button} kind="primary" type="submit" isBusy=${isBusy} disabled=${!may("tests:write") || (original && !isChanged)}>
            ${original ? "Save" : "Make the test"}<//>
        </div>
      </div>
    </form>`;
}

function Standing({ open, trial, isChanged, wantsAll }) {
  if (!isChanged && !wantsAll) return html`<span class="muted">Nothing changed yet.</span>`;
  if (trial.isChecking) return html`<span class="muted">Checking...</span>`;
  if (open) {
    const names = Object.keys(trial.problems).slice(0, 4).join(", ");
    return html`<span class="muted">${open === 1 ? "One field" : `${open} fields`} to look at: ${names}${open > 4 ? ", ..." : ""}</span>`;
  }
  return html`<span class="good-sign">✓ The API would take this.</span>`;
}
