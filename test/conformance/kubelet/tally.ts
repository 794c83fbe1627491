import type { Kind } from './kinds';

/** Decisions that were compared, by what was decided, and the differences among them by their kind. */
export class Tally {
  readonly compared = new Map<string, number>();
  readonly differences = new Map<Kind, number>();
  /**
   * Differences of no documented kind, each with all that repeats it. At most 20 are kept; `unexplained` counts all.
   */
  readonly examples: string[] = [];
  unexplained = 0;

  get decisions(): number {
    return [...this.compared.values()].reduce((sum, count) => sum + count, 0);
  }

  /** @param difference the kind of a difference, `unknown` for one of no kind; absent = both are the same */
  count(what: string, difference?: Kind | 'unknown', describe: () => unknown = () => ''): void {
    this.compared.set(what, (this.compared.get(what) ?? 0) + 1);
    if (difference === undefined) return;
    if (difference !== 'unknown') {
      this.differences.set(difference, (this.differences.get(difference) ?? 0) + 1);
      return;
    }
    this.unexplained += 1;
    if (this.examples.length < 20) this.examples.push(JSON.stringify({ what, ...(describe() as object) }));
  }
}
