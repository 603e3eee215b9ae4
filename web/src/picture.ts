// A chart as a picture that can stand alone: what it shows, the chart, and what its colours are.
import { fitted } from "./fitted";
import { colour, MOST_COLOURS, PLAIN_LINES } from "./theme";

const EDGE = 12, HEAD = 22, LINE = 18, SWATCH = 14, GAP = 16;

export interface Caption {
  title: string;
  /** Which events these are, from when the time counts, what the darkest is. */
  notes: string[];
  /** Names of lines and bars, in the order of their colours. */
  names: string[];
  /** They are lines, some of them dashed. */
  lines: boolean;
}

interface Mark { text: string; tint: string; x: number; row: number; dashed: boolean }

/** The names one behind the other, in as many rows as they need. */
function arranged(c: CanvasRenderingContext2D, { names, lines }: Caption, width: number): Mark[] {
  let x = EDGE, row = 0;
  return names.map((text, i) => {
    const wide = SWATCH + 6 + c.measureText(text).width;
    if (x > EDGE && x + wide > width - EDGE) { x = EDGE; row++; }
    const mark = { text, tint: `s${i % MOST_COLOURS}`, x, row, dashed: lines && i >= PLAIN_LINES };
    x += wide + GAP;
    return mark;
  });
}

export function pictureOf(chart: HTMLCanvasElement, caption: Caption): HTMLCanvasElement {
  const ratio = devicePixelRatio || 1, width = chart.width / ratio, high = chart.height / ratio;
  const picture = document.createElement("canvas"), c = picture.getContext("2d") as CanvasRenderingContext2D, font = "12px system-ui, sans-serif";
  c.font = font;
  const all = arranged(c, caption, width), top = EDGE + HEAD + caption.notes.length * LINE + 4;
  picture.width = chart.width;
  picture.height = Math.ceil((top + high + ((all.at(-1)?.row ?? -1) + 1) * LINE + EDGE) * ratio);
  c.scale(ratio, ratio);
  c.fillStyle = colour("panel");
  c.fillRect(0, 0, width, picture.height);
  c.textBaseline = "middle";
  c.fillStyle = colour("text");
  c.font = `600 15px system-ui, sans-serif`;
  c.fillText(fitted(c, caption.title, width - 2 * EDGE, "begin"), EDGE, EDGE + 8);
  c.font = font;
  c.fillStyle = colour("soft");
  caption.notes.forEach((note, i) => c.fillText(fitted(c, note, width - 2 * EDGE, "begin"), EDGE, EDGE + HEAD + i * LINE + LINE / 2));
  c.drawImage(chart, 0, top, width, high);
  for (const m of all) {
    const y = top + high + m.row * LINE + LINE / 2;
    c.fillStyle = colour(m.tint);
    c.fillRect(m.x, y - 5, m.dashed ? SWATCH / 2 - 1.5 : SWATCH, 10);
    if (m.dashed) c.fillRect(m.x + SWATCH / 2 + 1.5, y - 5, SWATCH / 2 - 1.5, 10);
    c.fillStyle = colour("text");
    c.fillText(m.text, m.x + SWATCH + 6, y);
  }
  return picture;
}
