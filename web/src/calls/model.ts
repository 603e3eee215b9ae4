// Trees of calls: as /call-tree tells them, turned upside down, summed by function, laid beside each other.

export interface Call {
  name: string;
  cat?: string | null;
  count: number;
  /** Microseconds; self: what no child covers. */
  total: number;
  self: number;
  min?: number | null;
  max?: number | null;
  children: Call[];
  /** Of the tree that this one is compared with. */
  other?: { count: number; total: number; self: number };
}
export interface Answer {
  events: number;
  in_tree: number;
  other_phases: number;
  untimed: number;
  partial_overlaps: number;
  threads: number;
  levels: number;
  tree?: Call;
  callers?: Call;
  callees?: Call;
}

export const keyOf = (c: Call): string => JSON.stringify([c.name, c.cat ?? null]);

/** Visits all calls with what is above each; as deep as trees are, without recursion. */
export function walk(root: Call, visit: (call: Call, above: readonly Call[]) => void): void {
  const above: Call[] = [], stack: { call: Call; next: number }[] = [{ call: root, next: 0 }];
  visit(root, above);
  while (stack.length) {
    const top = stack[stack.length - 1] as { call: Call; next: number }, child = top.call.children[top.next++];
    if (!child) {
      stack.pop();
      above.pop();
      continue;
    }
    above.push(top.call);
    visit(child, above);
    stack.push({ call: child, next: 0 });
  }
}

export interface Function {
  key: string;
  name: string;
  cat: string | null;
  count: number;
  /** Of calls that are not within another of the same function. */
  total: number;
  self: number;
  min: number | null;
  max: number | null;
}

/** What of the tree is whose; the root is no function. */
export function functionsOf(root: Call): Function[] {
  const found = new Map<string, Function>();
  walk(root, (call, above) => {
    if (call === root) return;
    const key = keyOf(call), f = found.get(key) ?? { key, name: call.name, cat: call.cat ?? null, count: 0, total: 0, self: 0, min: null, max: null };
    found.set(key, f);
    f.count += call.count;
    f.self += call.self;
    if (!above.some((a) => a !== root && keyOf(a) === key)) f.total += call.total;
    if (call.min != null) f.min = f.min == null ? call.min : Math.min(f.min, call.min);
    if (call.max != null) f.max = f.max == null ? call.max : Math.max(f.max, call.max);
  });
  return [...found.values()].sort((a, b) => b.self - a.self || b.total - a.total || (a.name < b.name ? -1 : 1));
}

const CALLERS_MOST = 32;

/** Whose own time it is, and below that from where it was called: each level sums the time of the functions at the top. */
export function bottomUp(root: Call): Call {
  const turned: Call = { name: root.name, count: 0, total: 0, self: 0, children: [] }, known = new Map<Call, Map<string, Call>>();
  const below = (parent: Call, like: Call): Call => {
    const children = known.get(parent) ?? new Map<string, Call>();
    known.set(parent, children);
    let child = children.get(keyOf(like));
    if (!child) {
      child = { name: like.name, cat: like.cat ?? null, count: 0, total: 0, self: 0, children: [] };
      children.set(keyOf(like), child);
      parent.children.push(child);
    }
    return child;
  };
  walk(root, (call, above) => {
    if (call === root || (!call.self && !call.count)) return;
    let at = turned;
    const way = [call, ...above.slice(1).reverse().slice(0, CALLERS_MOST)];
    for (const step of way) {
      at = below(at, step);
      at.count += call.count;
      at.total += call.self;
    }
    at.self += call.self;
    turned.count += call.count;
    turned.total += call.self;
  });
  walk(turned, (call) => { call.children.sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1)); });
  return turned;
}

/** Both trees in one: what a call has is b's, `other` is a's. */
export function together(a: Call, b: Call): Call {
  const none = { count: 0, total: 0, self: 0 };
  const of = (x: Call | undefined, y: Call | undefined): Call => {
    const like = (y ?? x) as Call, { count, total, self } = y ?? none;
    return { name: like.name, cat: like.cat ?? null, count, total, self, other: x ? { count: x.count, total: x.total, self: x.self } : none, children: [] };
  };
  const root = of(a, b), open: [Call, Call | undefined, Call | undefined][] = [[root, a, b]];
  for (let next = open.pop(); next; next = open.pop()) {
    const [into, x, y] = next, left = new Map((x?.children ?? []).map((c) => [keyOf(c), c]));
    for (const c of y?.children ?? []) {
      const like = left.get(keyOf(c)), made = of(like, c);
      left.delete(keyOf(c));
      into.children.push(made);
      open.push([made, like, c]);
    }
    for (const c of left.values()) {
      const made = of(c, undefined);
      into.children.push(made);
      open.push([made, c, undefined]);
    }
    into.children.sort((p, q) => widthOf(q) - widthOf(p));
  }
  return root;
}

/** The time by which a call is wide: of both trees the longer. */
export const widthOf = (c: Call): number => Math.max(c.total, c.other?.total ?? 0);

/** Which call is meant, by what is above it; and the way to it in a tree, as far as it is there. */
export const wayTo = (path: readonly Call[]): string => (path.length > 1 ? JSON.stringify(path.slice(1).map(keyOf)) : "");
export function pathOf(root: Call, way: string): Call[] {
  const path = [root];
  try {
    for (const key of JSON.parse(way || "[]") as string[]) {
      const next = path[path.length - 1]?.children.find((c) => keyOf(c) === key);
      if (!next) break;
      path.push(next);
    }
  } catch {
    // It was no way.
  }
  return path;
}

export interface Box {
  call: Call;
  path: Call[];
  /** Of the whole width, 0 to 1. */
  x: number;
  width: number;
  depth: number;
}

/** What can be seen when `path`'s last call has all of the width; calls above it are as wide. */
export function layout(root: Call, path: readonly Call[], least: number, levels: number): { boxes: Box[]; hidden: number } {
  const boxes: Box[] = path.slice(0, -1).map((call, depth) => ({ call, path: path.slice(0, depth + 1), x: 0, width: 1, depth }));
  const open: Box[] = [{ call: path[path.length - 1] ?? root, path: [...path], x: 0, width: 1, depth: Math.max(0, path.length - 1) }];
  let hidden = 0;
  for (let box = open.pop(); box; box = open.pop()) {
    boxes.push(box);
    const { call } = box, children = call.children.reduce((n, c) => n + widthOf(c), 0), all = Math.max(widthOf(call), children);
    if (box.depth + 1 >= levels + path.length) { hidden += call.children.length; continue; }
    let x = box.x;
    for (const child of call.children) {
      const width = all > 0 ? (box.width * widthOf(child)) / all : box.width / call.children.length;
      if (width >= least) open.push({ call: child, path: [...box.path, child], x, width, depth: box.depth + 1 });
      else hidden++;
      x += width;
    }
  }
  return { boxes, hidden };
}
