// What surrounds every page: navigation, the account that speaks, light or dark.
import { signal } from "@preact/signals";
import { html } from "./html.js";
import { navigate } from "./router.js";
import { current, sessions, signOut, switchTo } from "./session.js";
import { Menu } from "./components/menu.js";
import { tellError } from "./components/toast.js";

const SECTIONS = [
  ["/", "Overview"],
  ["/tests", "Tests"],
  ["/evaluations", "Evaluations"],
  ["/account", "Account"],
];

const isWithin = (path, section) => (section === "/" ? path === "/" : path === section || path.startsWith(`${section}/`));

export function Shell({ path, children }) {
  if (!current.value) return html`<main id="main" class="lone">${children}</main>`;
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="bar">
      <a class="brand" href="/"><${Mark} />Parley</a>
      <nav aria-label="Sections">
        ${SECTIONS.map(
          ([href, name]) =>
            html`<a href=${href} aria-current=${isWithin(path, href) ? "page" : null}>${name}</a>`,
        )}
      </nav>
      <div class="bar-end"><${ThemeSwitch} /><${Accounts} /></div>
    </header>
    <main id="main" tabindex="-1">${children}</main>
  `;
}

function Mark() {
  return html`<svg class="mark" viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
    <path
      fill="var(--accent)"
      d="M6 4h20a3 3 0 0 1 3 3v13a3 3 0 0 1-3 3H15l-7 6v-6H6a3 3 0 0 1-3-3V7a3 3 0 0 1 3-3z"
    />
    <path
      fill="none"
      stroke="var(--surface)"
      stroke-width="2.6"
      stroke-linecap="round"
      stroke-linejoin="round"
      d="m9.500 14.500 4 4 9-9"
    />
  </svg>`;
}

const theme = signal(document.documentElement.dataset.theme ?? "auto");
const NEXT_THEME = { auto: "light", light: "dark", dark: "auto" };
const THEME_SIGN = { auto: "◐", light: "☀", dark: "☾" };
const THEME_NAME = { auto: "as the system", light: "light", dark: "dark" };

function turnTheme() {
  theme.value = NEXT_THEME[theme.value];
  if (theme.value === "auto") {
    delete document.documentElement.dataset.theme;
    localStorage.removeItem("parley-theme");
  } else {
    document.documentElement.dataset.theme = theme.value;
    localStorage.setItem("parley-theme", theme.value);
  }
}

function ThemeSwitch() {
  const says = `Colours: ${THEME_NAME[theme.value]}`;
  return html`<button type="button" class="button quiet square" aria-label=${says} title=${says} onClick=${turnTheme}>
    <span aria-hidden="true">${THEME_SIGN[theme.value]}</span>
  </button>`;
}

async function change(act) {
  try {
    await act();
    navigate("/");
  } catch (error) {
    tellError(error);
  }
}

function Accounts() {
  const others = sessions.value.filter((one) => !one.is_current);
  const { account_name: name, plan, key_name: keyName, key_shown: keyShown } = current.value;
  return html`<${Menu} label=${name} title="Account">
    <p class="menu-about"><strong>${name}</strong><span>${plan} plan</span><span>${keyName}, ${keyShown}</span></p>
    ${others.map(
      (one) =>
        html`<button type="button" role="menuitem" onClick=${() => change(() => switchTo(one.id))}>
          Switch to ${one.account_name} <span class="muted">${one.key_name}</span>
        </button>`,
    )}
    <a role="menuitem" href="/sign-in">Add an account</a>
    <button type="button" role="menuitem" onClick=${() => change(signOut)}>Sign out</button>
    ${others.length > 0 &&
    html`<button type="button" role="menuitem" onClick=${() => change(() => signOut({ everywhere: true }))}>
      Sign out of all
    </button>`}
  <//>`;
}
