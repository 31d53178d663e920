// A test message to a channel, and what became of it.
import { post } from "../api.js";
import { html } from "../html.js";
import { may } from "../session.js";
import { Button } from "../components/button.js";
import { tell } from "../components/toast.js";
import { useAct } from "./act.js";

/** `channel` has an id and a name; e-mail is one whose id is "email". */
export function TryChannel({ channel, onDone = () => {} }) {
  const [isBusy, tryIt] = useAct(async () => {
    try {
      const { data } = await post(`/channels/${channel.id}/test`);
      const failed = [data].flat().find((line) => line.state !== "delivered");
      if (failed) throw new Error(`The test message did not get to ${channel.name}: ${failed.error ?? "it waits for another try"}`);
      tell(`The test message was delivered to ${channel.name}.`);
    } finally {
      onDone();
    }
  });
  return html`<${Button} isBusy=${isBusy} disabled=${!may("account:write")} aria-label=${`Try ${channel.name}`} onClick=${tryIt}>Try<//>`;
}
