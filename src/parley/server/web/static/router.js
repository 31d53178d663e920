// Where the reader is: the address bar is the only state that pages share.
import { signal } from "@preact/signals";

const read = () => ({ path: location.pathname, query: new URLSearchParams(location.search), hash: location.hash });

/** The address, as `{path, query, hash}`. */
export const place = signal(read());

let holds = () => false;

/** While `isHeld()`, ask before the reader leaves what is not saved. Gives a way to let go again. */
export function holdReader(isHeld) {
  holds = isHeld;
  return () => {
    if (holds === isHeld) holds = () => false;
  };
}

const mayLeave = () => !holds() || confirm("Leave without saving what you wrote?");

/** Go to an address of the dashboard. `replace` leaves no step for Back. */
export function navigate(href, { replace = false } = {}) {
  const before = location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", href);
  place.value = read();
  if (!replace && location.pathname !== before) scrollTo(0, 0);
}

/** The same page with other parameters in its address; empty ones are left out. */
export function withQuery(changes, { replace = true } = {}) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === undefined || value === "") query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), { replace });
}

/** The values that `pattern` (such as "/tests/:id") takes from a path; null if it does not fit. */
export function matched(pattern, path) {
  const wanted = pattern.split("/");
  const given = path.replace(/(.)\/$/, "$1").split("/");
  const rest = wanted.at(-1) === "*";
  if (rest ? given.length < wanted.length - 1 : given.length !== wanted.length) return null;
  const values = {};
  for (const [index, step] of wanted.entries()) {
    if (step === "*") values.rest = given.slice(index).join("/");
    else if (step.startsWith(":")) values[step.slice(1)] = decoded(given[index]);
    else if (step !== given[index]) return null;
  }
  return values;
}

function decoded(step) {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

function followsLink(event) {
  const link = event.target.closest?.("a[href]");
  const plain = event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
  if (!link || !plain || event.defaultPrevented || link.target || link.hasAttribute("download")) return null;
  const { origin, pathname } = new URL(link.href);
  const isOurs = origin === location.origin && !/^\/(api|docs|static|openapi\.json)\b/.test(pathname);
  return isOurs && !link.getAttribute("href").startsWith("#") ? link : null;
}

/** Follow links within the page, and Back and Forward. Pages write plain `<a href>`. */
export function startRouter() {
  addEventListener("beforeunload", (event) => holds() && event.preventDefault());
  addEventListener("popstate", () => (place.value = read()));
  document.addEventListener("click", (event) => {
    const link = followsLink(event);
    if (!link) return;
    event.preventDefault();
    if (mayLeave()) navigate(link.href);
  });
}
