// Slices of a tile: their numbers in typed arrays, since a tile may have 100,000 of them.
import type { Answer } from "./model";

type Name = [string | null, string | null];
interface Columns {
  ids: string[];
  lane: Uint32Array;
  depth: Uint32Array;
  /** Nanoseconds from the origin on. */
  start: Float64Array;
  /** Microseconds. */
  dur: Float64Array;
  /** Where their slot begins. */
  slot: Float64Array;
  step: number;
  colour: Uint16Array;
  name: Uint32Array;
  names: Name[];
  file: Uint32Array;
  files: string[];
  object: Float64Array;
  others: Uint32Array;
}

/** An event; of a tile with many the longest of its depth and column. */
export class Box {
  constructor(private of: Columns, private i: number) {}

  get node(): string {
    return this.of.ids[this.of.lane[this.i] as number] as string;
  }
  get depth(): number {
    return this.of.depth[this.i] as number;
  }
  /** Nanoseconds from the origin on. */
  get start(): number {
    return this.of.start[this.i] as number;
  }
  get end(): number {
    return this.start + Math.round(this.dur * 1000);
  }
  /** What is drawn: with others, its column at least, which these fill with it. */
  get left(): number {
    return this.others ? Math.min(this.start, this.of.slot[this.i] as number) : this.start;
  }
  get right(): number {
    return this.others ? Math.max(this.end, (this.of.slot[this.i] as number) + this.of.step) : this.end;
  }
  /** Microseconds. */
  get dur(): number {
    return this.of.dur[this.i] as number;
  }
  get colour(): number {
    return this.of.colour[this.i] as number;
  }
  get name(): string | null {
    return this.of.names[this.of.name[this.i] as number]?.[0] ?? null;
  }
  get cat(): string | null {
    return this.of.names[this.of.name[this.i] as number]?.[1] ?? null;
  }
  get file(): string {
    return this.of.files[this.of.file[this.i] as number] as string;
  }
  get object(): number {
    return this.of.object[this.i] as number;
  }
  /** Shorter ones that begin in the same columns. */
  get others(): number {
    return this.of.others[this.i] as number;
  }
}
/** Bytes of one, with its place in an array and in that of its row. */
export const BOX_BYTES = 80;

/** Of a tile that begins at `from`, with the numbers of its lanes' ids and colours. */
export function boxesOf(answer: Answer, from: number, step: number, ids: string[], colours: number[]): Box[] {
  const n = answer.lanes.reduce((sum, lane) => sum + (lane.slices ?? []).reduce((all, depth) => all + depth.slot.length, 0), 0);
  const of: Columns = {
    ids, step, names: answer.slice_names ?? [], files: answer.slice_files ?? [], lane: new Uint32Array(n), depth: new Uint32Array(n), start: new Float64Array(n), dur: new Float64Array(n),
    slot: new Float64Array(n), colour: new Uint16Array(n), name: new Uint32Array(n), file: new Uint32Array(n), object: new Float64Array(n), others: new Uint32Array(n),
  };
  let at = 0;
  answer.lanes.forEach((lane, number) => lane.slices?.forEach((told, depth) => {
    const { length } = told.slot;
    of.lane.fill(number, at, at + length);
    of.depth.fill(depth, at, at + length);
    of.dur.set(told.dur, at);
    of.name.set(told.name, at);
    of.file.set(told.file, at);
    of.object.set(told.object, at);
    of.others.set(told.others, at);
    for (let i = 0; i < length; i++, at++) {
      of.start[at] = from + Math.round((told.start[i] as number) * 1000);
      of.slot[at] = from + (told.slot[i] as number) * step;
      of.colour[at] = colours[told.color[i] as number] as number;
    }
  }));
  return Array.from({ length: n }, (_, i) => new Box(of, i));
}
