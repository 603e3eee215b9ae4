// Who shows the page, where the daemon is, what the browser keeps: known before anything is asked, and shared with first.ts.

export type Value = string | number | boolean | null | undefined;
export type Params = Record<string, Value | readonly string[]>;

/** What a program that shows this page in a window of its own says of it. */
export interface Host {
  apiBase?: string;
  file?: string;
  token?: string;
  vscode?: boolean;
  error?: string;
}
/** What first.ts has asked. */
export interface First {
  answer: Promise<Response>;
  control: AbortController;
}
declare global {
  interface Window {
    __DFTRACER__?: Host;
    dftracerFirst?: Map<string, First>;
  }
}
export const host: Host = (typeof window.__DFTRACER__ === "object" && window.__DFTRACER__) || {};
export const base = (host.apiBase ?? "").replace(/\/+$/, "");

export const TOKEN_KEY = "dftracerd-token";
export function keptToken(): string {
  try {
    return host.token ?? sessionStorage.getItem(TOKEN_KEY) ?? "";
  } catch {
    return "";
  }
}

export function encoded(params: Params): string {
  const p = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value == null) continue;
    for (const item of Array.isArray(value) ? value : [value]) p.append(name, String(item));
  }
  return p.toString();
}

/** Path and parameters, below the daemon. */
export function pathOf(path: string, params: Params = {}): string {
  const text = encoded(params);
  return text ? `${path}?${text}` : path;
}

/** An answer that was asked for while the page was read; once. */
export function takeFirst(url: string): First | undefined {
  const found = window.dftracerFirst?.get(url);
  window.dftracerFirst?.delete(url);
  return found;
}

export type Theme = "auto" | "light" | "dark";
export const THEMES: Theme[] = ["auto", "light", "dark"];
export const THEME_KEY = "dftracerd-theme";
export function keptTheme(): Theme {
  try {
    const t = localStorage.getItem(THEME_KEY) as Theme;
    return THEMES.includes(t) ? t : "auto";
  } catch {
    return "auto";
  }
}
export const system = matchMedia("(prefers-color-scheme: dark)");
export const isDark = (t: Theme): boolean => t === "dark" || (t === "auto" && system.matches);
export const colourAs = (isDark: boolean): void => { document.documentElement.dataset["theme"] = isDark ? "dark" : "light"; };
