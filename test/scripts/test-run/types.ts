/** The shapes of scripts/test-run. */
export interface NotRun {
  readonly what: string;
  readonly tests: number;
  readonly why: string;
}

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly problems: readonly string[];
  readonly notRun: readonly NotRun[];
}

export interface StepResult extends Counts {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'not run';
  readonly seconds: number;
}

export interface Step {
  readonly name: string;
  readonly command: readonly string[] | ((file: string) => readonly string[]);
  readonly counts?: 'jest' | 'results' | 'itself';
  readonly light?: boolean;
  readonly needs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly limitMinutes?: number;
  readonly graceSeconds?: number;
}
