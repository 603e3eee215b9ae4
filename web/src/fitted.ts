/** As much of a text as there is room for, at most `most` characters: its begin, or its end, which says most of a path. */
export function fitted(c: CanvasRenderingContext2D, text: string, room: number, keep: "begin" | "end", most = Infinity): string {
  const all = [...text], shown = (n: number) => (n >= all.length ? text : keep === "end" ? `…${all.slice(-n).join("")}` : `${all.slice(0, n).join("")}…`);
  let n = Math.min(all.length, most);
  while (n > 1 && c.measureText(shown(n)).width > room) n--;
  return shown(n);
}
