/** Finds any of many texts in another, in one pass: by their first characters. */
export class WordFinder {
  /** By the first characters; the longest first. */
  private readonly byHead = new Map<string, string[]>();

  /** `least`: texts that are shorter are not looked for. */
  constructor(private readonly least: number) {}

  add(text: string): void {
    if (text.length < this.least) return;
    const head = text.slice(0, this.least);
    const known = this.byHead.get(head);
    if (!known) this.byHead.set(head, [text]);
    else if (!known.includes(text)) {
      known.push(text);
      known.sort((a, b) => b.length - a.length);
    }
  }

  /** Replaces each of the texts, the longest where several begin. */
  replace(text: string, by: string): string {
    if (this.byHead.size === 0) return text;
    const parts: string[] = [];
    let from = 0;
    for (let at = 0; at + this.least <= text.length;) {
      const found = this.byHead.get(text.slice(at, at + this.least))?.find((each) => text.startsWith(each, at));
      if (found === undefined) at += 1;
      else {
        parts.push(text.slice(from, at), by);
        at += found.length;
        from = at;
      }
    }
    return from === 0 ? text : parts.join('') + text.slice(from);
  }
}
