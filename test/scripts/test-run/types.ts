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
  readonly outcome: 'done' | 'failed' | 'not run';
  readonly seconds: number;
  readonly cpuSeconds?: number;
  readonly log?: string;
}

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  readonly counts?: 'jest' | 'results' | 'itself';
  readonly cpus?: number;
  readonly memoryGiB?: number;
  readonly needs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly quietMinutes?: number;
  readonly graceSeconds?: number;
  readonly printsItself?: boolean;
}
