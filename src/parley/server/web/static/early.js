// Stands in the page itself and runs before anything is painted; it is no module, because those run later.

// A chosen theme never flashes in late.
const chosen = localStorage.getItem("parley-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;

/** What is asked for while the modules are on their way, by address: api.js takes each answer once. */
globalThis.asked = new Map();

function ask(path, query = {}) {
  const text = new URLSearchParams(query).toString();
  const href = `/api/v1${path}${text && `?${text}`}`;
  const answer = fetch(href, { headers: { "X-Parley-Client": "dashboard" } }).catch(() => null);
  globalThis.asked.set(href, answer);
}

ask("/session");
if (location.pathname === "/") {
  const DAY_MS = 86_400_000;
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  ask("/overview", { days: Number(new URLSearchParams(location.search).get("days")) || 7 });
  ask("/limits");
  ask("/information/balance");
  ask("/information/usage", {
    by: "day",
    time_start: new Date(today - 29 * DAY_MS).toISOString(),
    time_end: new Date(today + DAY_MS).toISOString(),
  });
}
