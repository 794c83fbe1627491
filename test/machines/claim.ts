import type { GuestContext } from './guest/context';
import type { Machine } from './machine';

/** A promise of cpusetd, tested inside a machine on a real containerd. Each has a file, listed in claims/index.ts. */
export interface Claim {
  /** A short name: it is the head of a column of the table. */
  readonly name: string;
  /** The machines that test it. */
  readonly when: (machine: Machine) => boolean;
  /**
   * The properties of a machine that it depends on. Its machines differ in them: it is tested once for each
   * combination.
   */
  readonly dependsOn: {
    readonly traits: readonly (keyof Machine)[];
    /** The reason, in sentences. It says too which other test shows the same where no machine is needed. */
    readonly because: string;
  };
  /**
   * The reason that it is not expected to hold yet. It runs all the same, and the table says when it begins to hold.
   */
  readonly expectedLater?: string;
  /** Throws when the claim does not hold. Pods and daemons that it started through the context are ended afterwards. */
  readonly run: (context: GuestContext) => Promise<void>;
}

/** The result of a claim on one machine. */
export interface ClaimOutcome {
  readonly claim: string;
  readonly outcome: 'holds' | 'broken' | 'later' | 'holds-already';
  /** Observations, for the table. */
  readonly saw: readonly string[];
  readonly error?: string;
  readonly durationMs: number;
}
