/** What was looked at, and what was found there: short words, for people. */
export type Facts = Readonly<Record<string, string>>;

interface Row {
  readonly fault: string;
  readonly expected: Facts;
  readonly seen: Facts | string;
}

/** The faults of a run, what was expected of each and what was seen: printed at the end. */
export class FaultTable {
  private readonly rows: Row[] = [];

  /** A test of one fault: what `act` finds must be what is expected, fact by fact. */
  row(fault: string, expected: Facts, act: () => Promise<Facts>): void {
    test(fault, async () => {
      try {
        const seen = await act();
        this.rows.push({ fault, expected, seen });
        expect(seen).toEqual(expected);
      } catch (error) {
        if (!this.rows.some((row) => row.fault === fault))
          this.rows.push({ fault, expected, seen: `failed: ${(error as Error).message.split('\n')[0]!}` });
        throw error;
      }
    });
  }

  toString(): string {
    const lines = this.rows.map(({ fault, expected, seen }) =>
      [fault, words(expected), words(seen) === words(expected) ? 'as expected' : words(seen)].join(' | '),
    );
    return ['| fault | expected | seen |', '|---|---|---|', ...lines.map((line) => `| ${line} |`)].join('\n');
  }
}

const words = (facts: Facts | string): string =>
  typeof facts === 'string'
    ? facts
    : Object.entries(facts)
        .map(([what, found]) => `${what}: ${found}`)
        .sort()
        .join('; ');
