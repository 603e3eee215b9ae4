// Light, dark, or what the system has.
import { effect, signal } from "@preact/signals";
import { colourAs, isDark, keptTheme, system, THEME_KEY, THEMES, type Theme } from "./host";

export const theme = signal<Theme>(keptTheme());
/** What is shown; canvases are drawn anew when it changes. */
export const dark = signal(false);

const apply = () => {
  dark.value = isDark(theme.value);
  colourAs(dark.value);
};
effect(apply);
system.addEventListener("change", apply);

export function cycleTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] as Theme;
  try {
    localStorage.setItem(THEME_KEY, theme.value);
  } catch {
    // It lasts as long as the page.
  }
}

/** --s0 to --s11: one line each. Who cannot tell so many apart has the dashes of those after the first PLAIN_LINES. */
export const MOST_COLOURS = 12, PLAIN_LINES = 6;

/** The value of a variable of style.css, as canvases need it. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
