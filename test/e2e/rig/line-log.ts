import { patienceMs, within } from '../../support/wait-until';

/** Lines that arrive over time. All are kept, and a reader can wait for one. */
export class LineLog<Line> {
  private readonly kept: Line[] = [];
  private readonly listeners = new Set<() => void>();
  private ended: string | undefined;

  get lines(): readonly Line[] {
    return this.kept;
  }

  push(line: Line): void {
    this.kept.push(line);
    this.announce();
  }

  /** Ends the log: no more lines come, and all waits fail with the error `why`. */
  end(why: string): void {
    this.ended = why;
    this.announce();
  }

  /** Lines come again after an end. */
  resume(): void {
    this.ended = undefined;
  }

  /** Waits for the first line, from position `from` on, that the predicate accepts; also one that is already there. */
  async waitFor(
    what: string,
    accepts: (line: Line) => boolean,
    { deadlineMs = patienceMs, from = 0 } = {},
  ): Promise<Line> {
    const followed = this.follow(from);
    const find = async (): Promise<Line> => {
      for await (const line of followed) if (accepts(line)) return line;
      throw new Error(`${what}: ${this.ended ?? 'ended'}`);
    };
    try {
      return await within(what, find(), deadlineMs);
    } catch (error) {
      const last = this.kept.slice(-15).map((line) => JSON.stringify(line));
      throw new Error([(error as Error).message, 'last lines:', ...last].join('\n  '), { cause: error });
    }
  }

  /** All lines from a position on, then those to come, until the end. */
  async *follow(from = 0): AsyncGenerator<Line, void> {
    for (let next = from; ; next++) {
      while (next >= this.kept.length) {
        if (this.ended !== undefined) return;
        await new Promise<void>((resolve) => this.listeners.add(resolve));
      }
      yield this.kept[next] as Line;
    }
  }

  private announce(): void {
    for (const wake of this.listeners) wake();
    this.listeners.clear();
  }
}
