// Which value has which colour: the same in all tiles, and in the legend.
import { colour } from "../theme";
import { idOf, type Key } from "./model";

const NAMED = 8;
const MOST = 4096;

export class Palette {
  private numbers = new Map<string, number>();
  readonly values: Key[] = [];
  private css: string[] = [];
  private rgb: [number, number, number][] = [];

  /** In the order in which they come: those with most time first. */
  number(value: Key): number {
    const id = idOf([value]), known = this.numbers.get(id);
    if (known !== undefined) return known;
    const n = this.values.length < MOST ? this.values.push(value) - 1 : this.values.length % MOST;
    this.numbers.set(id, n);
    return n;
  }

  /** After a change of theme. */
  forget(): void {
    this.css = [];
    this.rgb = [];
  }

  text(n: number): string {
    return (this.css[n] ??= n < NAMED ? colour(`s${n}`) || "#888" : `hsl(${Math.round((n * 137.508) % 360)} 45% ${document.documentElement.dataset["theme"] === "dark" ? 64 : 46}%)`);
  }

  /** Red, green, blue. */
  parts(n: number): [number, number, number] {
    return (this.rgb[n] ??= this.read(n));
  }

  private read(n: number): [number, number, number] {
    const g = (Palette.pot ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true })) as CanvasRenderingContext2D;
    g.fillStyle = this.text(n);
    g.fillRect(0, 0, 1, 1);
    const d = g.getImageData(0, 0, 1, 1).data;
    return [d[0] as number, d[1] as number, d[2] as number];
  }
  private static pot: CanvasRenderingContext2D | null = null;
}
