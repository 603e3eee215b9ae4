// What the address has of the rows: which are folded or not, other than at first, which is the first on screen, and whether gaps are drawn.
import { effect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { extra, quietly } from "../state";
import type { Stage } from "./stage";

const folded = extra("folded", ""), start = extra("first", ""), gaps = extra("gaps", "");
/** More than these would make an address that nobody can send. */
const MOST = 2000;
const SETTLED_MS = 300;

function idsOf(text: string): string[] {
  try {
    const ids: unknown = JSON.parse(text || "[]");
    return Array.isArray(ids) ? ids.map(String) : [];
  } catch {
    return [];
  }
}

/** Once there are rows: as the address says. Rows that are not there any more are no matter. */
export function arrange(stage: Stage): void {
  for (const id of idsOf(folded.peek())) if (!stage.toggled.has(id)) stage.toggle(id);
  stage.gaps = gaps.peek() !== "";
  const row = stage.rows.find((r) => r.node.id === start.peek());
  if (row) stage.setScroll(row.y);
}

function write(stage: Stage): void {
  const ids = JSON.stringify([...stage.toggled]), first = stage.scroll > 0 ? stage.visible()[0] : undefined;
  quietly(() => {
    folded.value = stage.toggled.size && ids.length <= MOST ? ids : "";
    start.value = first?.node.id ?? "";
    gaps.value = stage.gaps ? "1" : "";
  });
}

/** Into the address, once it stands still. */
export function useArranged(stage: Stage): void {
  useEffect(() => effect(() => {
    if (!stage.arranged.value) return undefined;
    const timer = setTimeout(() => write(stage), SETTLED_MS);
    return () => clearTimeout(timer);
  }), [stage]);
}
