// Every address of the dashboard and the module that shows it. Modules are loaded when they are first needed.
import { matched } from "./router.js";

const ROUTES = [
  ["/", () => import("./pages/overview.js")],
  ["/sign-in", () => import("./pages/sign_in.js")],
  ["/tests", () => import("./pages/tests.js")],
  ["/tests/new", () => import("./pages/test_edit.js")],
  ["/tests/:id", () => import("./pages/test.js")],
  ["/tests/:id/edit", () => import("./pages/test_edit.js")],
  ["/tests/:id/runs/:run", () => import("./pages/run.js")],
  ["/tests/:id/compare", () => import("./pages/compare.js")],
  ["/account", () => import("./pages/account.js")],
  ["/account/gateways", () => import("./pages/account_gateways.js")],
  ["/account/gateways/new", () => import("./pages/account_gateway.js")],
  ["/account/gateways/:id", () => import("./pages/account_gateway.js")],
  ["/account/keys", () => import("./pages/account_keys.js")],
  ["/account/channels", () => import("./pages/account_channels.js")],
  ["/account/channels/:id", () => import("./pages/account_channel.js")],
  ["/account/usage", () => import("./pages/account_usage.js")],
  ["/account/limits", () => import("./pages/account_limits.js")],
  ["/evaluations", () => import("./pages/evaluations.js")],
  ["/evaluations/gates", () => import("./pages/gates.js")],
  ["/evaluations/suites", () => import("./pages/suites.js")],
  ["/evaluations/suites/new", () => import("./pages/suite_edit.js")],
  ["/evaluations/suites/:id", () => import("./pages/suite.js")],
  ["/evaluations/suites/:id/edit", () => import("./pages/suite_edit.js")],
  ["/evaluations/:id", () => import("./pages/evaluation.js")],
  ["/evaluations/:id/attempts/:attempt", () => import("./pages/evaluation_attempt.js")],
  ["/evaluations/:id/cases/:result", () => import("./pages/evaluation_case.js")],
  ["/evaluations/:id/compare", () => import("./pages/evaluation_compare.js")],
  ["/evaluations/:id/gate", () => import("./pages/evaluation_gate.js")],
];

/** What a path shows: `{load, params}`. */
export function routeOf(path) {
  for (const [pattern, load] of ROUTES) {
    const params = matched(pattern, path);
    if (params) return { pattern, load, params };
  }
  return { pattern: "*", load: () => import("./pages/not_found.js"), params: {} };
}
