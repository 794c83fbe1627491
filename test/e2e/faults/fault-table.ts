/** Observations by name, as short texts for people. */
export type Facts = Readonly<Record<string, string>>;

interface Row {
  readonly fault: string;
  readonly expected: Facts;
  readonly seen: Facts | string;
}

/** The faults of a run with expected and actual observations, as a table that is printed at the end. */
export class FaultTable {
  private readonly rows: Row[] = [];

  /** Defines a test of one fault: the observations of `act` must equal the expected ones. */
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
