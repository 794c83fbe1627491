import type { GuestContext } from './guest/context';
import type { Machine } from './machine';

/** Something cpusetd promises, proven inside a machine on a real containerd. One file each, listed in claims/index.ts. */
export interface Claim {
  /** Short: it heads a column of the table. */
  readonly name: string;
  /** The machines where it shows; absent: all. */
  readonly when?: (machine: Machine) => boolean;
  /** Why it is not expected to hold yet. It runs all the same, and the table says when it begins to hold. */
  readonly expectedLater?: string;
  /** Throws where the claim does not hold. Pods and daemons that it started through the context are ended for it. */
  readonly run: (context: GuestContext) => Promise<void>;
}

/** What became of a claim on one machine. */
export interface ClaimOutcome {
  readonly claim: string;
  readonly outcome: 'holds' | 'broken' | 'later' | 'holds-already';
  /** What was seen, for the table. */
  readonly saw: readonly string[];
  readonly error?: string;
  readonly durationMs: number;
}
