// The account's gateways: the systems under test.
import { html } from "../html.js";
import { CheckGateway } from "../account/check.js";
import { AccountPage, ScopeNote } from "../account/frame.js";
import { useList } from "../account/list.js";
import { Button } from "../components/button.js";
import { Pager } from "../components/pager.js";
import { Empty, Loaded } from "../components/states.js";
import { Table } from "../components/table.js";
import { Time } from "../components/time.js";

export const title = "Gateways";

const COLUMNS = [
  { name: "Gateway", isMain: true, cell: (one) => html`<${Name} gateway=${one} />` },
  { name: "Address", cell: (one) => html`<span class="address">${one.base_url}</span><div class="muted small">${one.model}</div>` },
  { name: "Key", cell: (one) => (one.has_api_key ? "stored" : html`<span class="muted">none</span>`) },
  { name: "Changed", cell: (one) => html`<${Time} at=${one.updated_at} isRelative />` },
  { name: "Check", isUnnamed: true, isNumber: true, width: "6rem", cell: (one) => html`<${CheckGateway} gateway=${one} />` },
];

const Name = ({ gateway }) => html`<a href=${`/account/gateways/${gateway.id}`}>${gateway.name}</a>
  <div class="muted small plain">${gateway.slug}</div>`;

export default function Page() {
  const { found, rowsOf, page, more } = useList("/ai-gateways");
  const make = html`<${Button} kind="primary" href="/account/gateways/new">New gateway<//>`;
  return html`<${AccountPage} title="Gateways" lead="The agents under test, as OpenAI-compatible addresses." actions=${make}>
    <${ScopeNote} scope="tests:write" act="change or check gateways" />
    <${Loaded} from=${found} lines=${5}>${({ data }) =>
      data.length
        ? html`<${Table} caption="Gateways" columns=${COLUMNS} rows=${rowsOf(data)} /><${Pager} page=${page} more=${more} />`
        : html`<${Empty} title="No gateway yet" action=${make}>
            <p>A gateway is the agent that your tests talk to: any address that speaks OpenAI's chat completions. Its key and
              headers are stored sealed, and never shown again.</p>
          <//>`}<//>
  <//>`;
}
