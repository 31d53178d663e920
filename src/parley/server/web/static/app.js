// The dashboard's beginning: who is signed in, where they are, and the module that shows it.
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { onSignedOut } from "./api.js";
import { html } from "./html.js";
import { navigate, place, startRouter } from "./router.js";
import { routeOf } from "./routes.js";
import { current, endHere, loadSessions } from "./session.js";
import { Shell } from "./shell.js";
import { Failure } from "./components/states.js";
import { Toasts } from "./components/toast.js";

/** The page that is shown: `{route, Page, params, error}`; the one before stays while the next is loaded. */
const shown = signal(null);

const isSignIn = (path) => path === "/sign-in";

function toSignIn() {
  const { path } = place.value;
  if (isSignIn(path)) return;
  const next = path === "/" ? "" : `?next=${encodeURIComponent(path + location.search)}`;
  navigate(`/sign-in${next}`, { replace: true });
}

/** A tab of an earlier release finds no more pages; once it reloads, it is of this one. */
function reloadsForRelease() {
  const last = Number(sessionStorage.getItem("parley-reloaded") ?? 0);
  if (Date.now() - last < 30_000) return false;
  sessionStorage.setItem("parley-reloaded", String(Date.now()));
  location.reload();
  return true;
}

async function show(path) {
  const route = routeOf(path);
  let next;
  try {
    const module = await route.load();
    next = { route, Page: module.default, title: module.title };
  } catch (error) {
    if (error instanceof TypeError && reloadsForRelease()) return;
    next = { route, error };
  }
  if (place.value.path !== path) return;
  const isOther = shown.value && shown.value.route.pattern !== route.pattern;
  if (next.title) document.title = `${next.title} - Parley`;
  shown.value = next;
  if (isOther) requestAnimationFrame(focusHeading);
}

let headingToCome = null;

/** Whoever reads by ear or keyboard goes on where the new page begins, unless they moved on before it was there. */
function focusHeading() {
  headingToCome?.disconnect();
  if (focusedHeading()) return;
  const before = document.activeElement;
  headingToCome = new MutationObserver(() => {
    const hasMoved = ![before, document.body].includes(document.activeElement);
    if (hasMoved || focusedHeading()) headingToCome.disconnect();
  });
  headingToCome.observe(document.getElementById("main"), { childList: true, subtree: true });
}

function focusedHeading() {
  const heading = document.querySelector("main h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
  return Boolean(heading);
}

function App() {
  const { Page, route, error } = shown.value ?? {};
  if (!route) return null;
  const content = error
    ? html`<${Failure} error=${error} retry=${() => location.reload()} />`
    : html`<${Page} key=${JSON.stringify([current.value?.id, route.params])} params=${route.params}
        query=${place.value.query} />`;
  return html`<${Shell} path=${place.value.path}>${content}<//><${Toasts} />`;
}

async function start() {
  startRouter();
  const root = document.getElementById("app");
  const first = routeOf(place.value.path).load().catch(() => null);
  try {
    await loadSessions();
  } catch (error) {
    render(html`<main class="lone"><${Failure} error=${error} retry=${() => location.reload()} /></main>`, root);
    return;
  }
  onSignedOut(() => {
    endHere();
    toSignIn();
  });
  await first;
  effect(() => {
    if (!current.value && !isSignIn(place.value.path)) toSignIn();
    else show(place.value.path);
  });
  render(html`<${App} />`, root);
}

start();
