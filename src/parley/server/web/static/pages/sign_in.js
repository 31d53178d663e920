// Sign-in with a private key, or with the one-time link that `parley dev` prints.
import { useEffect, useState } from "preact/hooks";
import { html } from "../html.js";
import { navigate, place } from "../router.js";
import { signIn, spendLink } from "../session.js";
import { Button } from "../components/button.js";
import { TextField } from "../components/field.js";

export const title = "Sign in";

/** Only addresses of the dashboard's own. */
function nextPlace(query) {
  const next = query.get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) && !next.startsWith("/sign-in") ? next : "/";
}

export default function Page({ query }) {
  const [key, setKey] = useState("");
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);

  const enter = async (act) => {
    setBusy(true);
    setError(null);
    try {
      await act();
      navigate(nextPlace(query), { replace: true });
    } catch (fault) {
      setError(fault);
      setBusy(false);
    }
  };
  useEffect(() => {
    const link = /^#link=(.+)$/.exec(place.value.hash)?.[1];
    if (!link) return;
    // The secret leaves the address bar and the history before anything else happens.
    navigate(location.pathname + location.search, { replace: true });
    enter(() => spendLink(link));
  }, []);
  const submit = (event) => {
    event.preventDefault();
    enter(() => signIn(key.trim()));
  };
  return html`<form class="panel sign-in" onSubmit=${submit}>
    <h1>Sign in to Parley</h1>
    <${TextField} label="Private key" type="password" value=${key} onChange=${setKey} placeholder="sk-par-..."
      problem=${error?.message} hint="It is sent once and not kept in this browser; a session of it is. The dashboard
        may do what the key may do." required />
    <div class="actions"><${Button} kind="primary" type="submit" isBusy=${isBusy}>Sign in<//></div>
    <p class="hint">No key at hand? <code>parley dev</code> prints a link that signs you in once. In a hosted service,
      whoever runs it gives you the first key.</p>
  </form>`;
}
