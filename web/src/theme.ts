// Light, dark, or what the system has.
import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";
const THEMES: Theme[] = ["auto", "light", "dark"];
const KEY = "dftracerd-theme";

function kept(): Theme {
  try {
    const t = localStorage.getItem(KEY) as Theme;
    return THEMES.includes(t) ? t : "auto";
  } catch {
    return "auto";
  }
}

export const theme = signal<Theme>(kept());
const system = matchMedia("(prefers-color-scheme: dark)");
/** What is shown; canvases are drawn anew when it changes. */
export const dark = signal(false);

const apply = () => {
  dark.value = theme.value === "dark" || (theme.value === "auto" && system.matches);
  document.documentElement.dataset["theme"] = dark.value ? "dark" : "light";
};
effect(apply);
system.addEventListener("change", apply);

export function cycleTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // It lasts as long as the page.
  }
}

/** The value of a variable of style.css, as canvases need it. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
