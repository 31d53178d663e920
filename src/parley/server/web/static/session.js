// Who is signed in, in this browser. Other tabs are told, because they share the cookie.
import { computed, signal } from "@preact/signals";
import { del, forgetAsked, get, post, put } from "./api.js";

/** The browser's sessions; null until they are known. */
export const sessions = signal(null);
/** The one that speaks; null when signed out. */
export const current = computed(() => sessions.value?.find((one) => one.is_current) ?? null);

const others = new BroadcastChannel("parley-session");
others.onmessage = () => location.reload();

/** Read who is signed in. */
export async function loadSessions() {
  sessions.value = (await get("/session")).data;
  if (!current.value) forgetAsked();
}

async function changed(asked) {
  sessions.value = (await asked).data;
  others.postMessage("changed");
}

/** Sign in with a private key. */
export const signIn = (key) => changed(post("/session", { key }));

/** Sign in with the token of a one-time link. */
export const spendLink = (link) => changed(post("/session", { link }));

/** Let another session speak. */
export const switchTo = (id) => changed(put("/session", { id }));

/** End the session that speaks, or all. */
export async function signOut({ everywhere = false } = {}) {
  await del("/session", { everywhere });
  await loadSessions();
  others.postMessage("changed");
}

/** Forget who speaks, once the API has said that nobody does. */
export function endHere() {
  sessions.value = (sessions.value ?? []).filter((one) => !one.is_current);
}

/** Whether the session's key may do this; pages hide nothing, but explain what is switched off. */
export const may = (scope) => current.value?.scopes.includes(scope) ?? false;
