// Numbers for people. The exact value belongs into a title beside it: see <Num>.

/** In the largest unit of which it is one at least, once it is rounded: 999.6 µs are 1 ms. */
function scaled(n: number, steps: readonly (readonly [number, string])[], digits: number): string {
  const [size, unit] = steps.find(([least]) => Math.abs(n) >= least * (1 - 0.5 / 10 ** digits)) ?? (steps.at(-1) as readonly [number, string]);
  return `${trimmed(n / size, digits)} ${unit}`.trim();
}

/** A hyphen is no minus. */
const minus = (text: string): string => text.replace(/^-/, "−");

/** So many significant digits at most, no zeros at the end. */
function trimmed(n: number, digits: number): string {
  if (!Number.isFinite(n)) return "–";
  const whole = Math.abs(n) >= 10 ** (digits - 1);
  return minus(whole ? Math.round(n).toString() : Number(n.toPrecision(digits)).toString());
}

const TIMES = [[86400e6, "d"], [3600e6, "h"], [60e6, "min"], [1e6, "s"], [1e3, "ms"], [1, "µs"], [1e-3, "ns"]] as const;
const SI = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]] as const;
const BYTES = SI.map(([n, u]) => [n, u + "B"] as const);

export type Amount = number | null | undefined;
export type Format = (n: Amount, digits?: number) => string;

/** Two units, rounded to the smaller: 2 min 25 s, 1 h 37 min, 3 d 4 h. */
function twoUnits(us: number): string {
  const seconds = Math.round(us / 1e6), minutes = Math.round(us / 60e6), hours = Math.round(us / 3600e6);
  const both = (n: number, of: number, unit: string, small: string) => `${Math.floor(n / of)} ${unit}${n % of ? ` ${n % of} ${small}` : ""}`;
  return seconds < 3600 ? both(seconds, 60, "min", "s") : minutes < 1440 ? both(minutes, 60, "h", "min") : both(hours, 24, "d", "h");
}

/** Significant digits, and those of the value under the pointer. */
const DIGITS = 3;
export const PRECISE = 4;
/** A duration in microseconds; from a minute on two units, unless more digits are wanted than people read. */
export function time(us: Amount, digits = DIGITS): string {
  if (us == null) return "–";
  if (us === 0) return "0 µs";
  return Math.abs(us) < 60e6 || Math.abs(us) >= 100 * 86400e6 || digits > PRECISE ? scaled(us, TIMES, digits) : (us < 0 ? "−" : "") + twoUnits(Math.abs(us));
}
export const count = (n: Amount, digits = DIGITS): string => (n == null ? "–" : Math.abs(n) < 10000 && Number.isInteger(n) ? exact(n) : scaled(n, SI, digits));
export const bytes = (n: Amount, digits = DIGITS): string => (n == null ? "–" : scaled(n, BYTES, digits));
/** Bytes a second. */
export const rate = (n: Amount, digits = DIGITS): string => (n == null ? "–" : `${bytes(n, digits)}/s`);
/** All digits, with thin spaces between thousands. */
export const exact = (n: Amount): string => {
  if (n == null) return "–";
  const [whole = "", rest] = minus(String(n)).split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (rest ? "." + rest : "");
};
/** So many of what has this name. */
export const many = (n: number, one: string, more = one + "s"): string => `${exact(n)} ${n === 1 ? one : more}`;
/** A change; from ten times on as a factor. */
export const percent = (n: Amount): string => (n == null ? "–" : n >= 1000 ? `×${exact(Math.round(1 + n / 100))}` : `${n > 0 ? "+" : ""}${minus(n.toFixed(1))} %`);

/** How long after something else: seconds up to ten minutes, then hours, minutes, seconds, and days; years are days with fractions. With more
 *  than six digits also what is beyond whole seconds. */
export function after(us: Amount, digits = 6): string {
  if (us == null) return "–";
  if (Math.abs(us) < 1e6) return time(us, digits);
  if (Math.abs(us) < 600e6) return `${trimmed(us / 1e6, digits)} s`;
  if (Math.abs(us) >= 1000 * 86400e6) return time(us, digits);
  const s = Math.floor(Math.abs(us) / 1e6), two = (n: number) => String(n % 60).padStart(2, "0"), days = Math.floor(s / 86400), hours = Math.floor(s / 3600) % 24;
  const part = digits > 6 ? String(Math.floor(Math.abs(us) % 1e6)).padStart(6, "0").replace(/0+$/, "") : "";
  const clock = `${s >= 3600 ? `${hours}:${two(Math.floor(s / 60))}` : Math.floor(s / 60)}:${two(s)}${part && `.${part}`}`;
  return `${us < 0 ? "−" : ""}${days ? `${days} d` : ""}${days && s % 86400 === 0 && !part ? "" : `${days ? " " : ""}${clock}`}`;
}

/** A moment, microseconds since 1970, as local date and time; what is before 1973 is no date but a clock of its own. */
export function clock(us: Amount): string {
  if (us == null) return "–";
  if (us < 1e14 || us > 8.6e21) return time(us, 9);
  const d = new Date(us / 1000), two = (n: number) => String(n).padStart(2, "0");
  const fraction = String(Math.floor(us % 1e6)).padStart(6, "0");
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}.${fraction}`;
}

/** Which clock that is: the browser's, which need not be the one of where the traces come from. */
export function zone(us: number): string {
  if (us < 1e14 || us > 8.6e21) return "";
  const minutes = -new Date(us / 1000).getTimezoneOffset(), two = (n: number) => String(n).padStart(2, "0");
  return minutes ? `UTC${minutes < 0 ? "−" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}` : "UTC";
}

const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Any text as one short line: names come from traces, and may be long, or have controls that turn what stands around them. */
export function label(value: unknown, most = 120): string {
  if (value == null) return "–";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const part = text.length > most ? text.slice(0, most) + "…" : text;
  return part.replace(CONTROLS, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** A value as the query language writes it. */
export function literal(value: unknown): string {
  if (["number", "bigint", "boolean"].includes(typeof value)) return String(value);
  return `"${String(value).replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r")}"`;
}
/** `column == value`, or that it has none. */
export const equals = (column: string, value: unknown): string => (value == null ? `${column} is null` : `${column} == ${literal(value)}`);
export const both = (a: string, b: string): string => (!a.trim() ? b : !b.trim() ? a : `(${a}) and (${b})`);
