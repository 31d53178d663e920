// The public REST API, and nothing else. Errors keep the API's own words.

/** A refusal. `message` is the API's sentence, `details` what it lists, `retryAfter` seconds or null. */
export class ApiError extends Error {
  constructor(status, { error, code, details = null }, headers = new Headers()) {
    super(error);
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfter = Number(headers.get("Retry-After")) || null;
    this.requestId = headers.get("X-Request-Id");
  }

  /** The problems of single fields, by field. */
  get problems() {
    const lines = Array.isArray(this.details) ? this.details : [];
    return Object.fromEntries(lines.filter((line) => line.field).map((line) => [line.field, line.problem]));
  }
}

let whenSignedOut = () => {};

/** Say what happens when the session turns out to be over. */
export function onSignedOut(action) {
  whenSignedOut = action;
}

/** `path` under /api/v1 with its parameters; empty ones are left out. */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

/** The answer to what early.js has asked for already, the first time it is wanted; else nothing. */
function askedEarly(method, href) {
  const answer = method === "GET" ? globalThis.asked.get(href) : null;
  globalThis.asked.delete(href);
  return answer;
}

/** Forget what was asked early: somebody else may speak now. */
export const forgetAsked = () => globalThis.asked.clear();

/** Ask the API. Gives `{data, message, page, headers}`; throws `ApiError`, and AbortError when aborted. */
export async function request(method, path, { query, body, headers = {}, signal } = {}) {
  const sent = { "X-Parley-Client": "dashboard", ...headers };
  if (body !== undefined) sent["Content-Type"] ??= "application/json";
  const payload = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const href = address(path, query);
  let answer = await askedEarly(method, href);
  try {
    answer ??= await fetch(href, { method, headers: sent, body: payload, signal });
  } catch (fault) {
    if (fault.name === "AbortError") throw fault;
    throw new ApiError(0, {
      error: "The service does not answer. Check your connection, then try again.",
      code: "unreachable",
    });
  }
  return readAnswer(answer);
}

/** What an answer of the API says; throws `ApiError`. */
async function readAnswer(answer) {
  const isJson = answer.headers.get("Content-Type")?.startsWith("application/json");
  const content = isJson ? await answer.json() : { data: await answer.text() };
  if (answer.ok) return { ...content, headers: answer.headers };
  const said = isJson ? content : { error: `The service answered with ${answer.status}.`, code: "unknown" };
  const error = new ApiError(answer.status, said, answer.headers);
  if (["session_ended", "missing_api_key"].includes(error.code)) whenSignedOut(error);
  throw error;
}

export const get = (path, query, options) => request("GET", path, { query, ...options });
export const post = (path, body, options) => request("POST", path, { body, ...options });
export const put = (path, body, options) => request("PUT", path, { body, ...options });
export const patch = (path, body, options) => request("PATCH", path, { body, ...options });
export const del = (path, query, options) => request("DELETE", path, { query, ...options });
