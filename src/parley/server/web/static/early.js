// Runs before anything is painted and before modules are there; it is no module, because those run later.

// A chosen theme never flashes in late.
const chosen = localStorage.getItem("parley-theme");
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;

// Who is signed in is asked while the modules are on their way.
globalThis.sessionsAsked = fetch("/api/v1/session", { headers: { "X-Parley-Client": "dashboard" } }).catch(() => null);
