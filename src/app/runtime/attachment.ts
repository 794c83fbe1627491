import type { Connection } from '../../net/connection-state';
import type { DaemonContext } from '../context';
import type { GapTracker } from '../status/gap-tracker';
import type { Transactor } from '../transaction/transactor';
import type { PauseFinder } from './pause-finder';
import type { RuntimeClient } from './runtime-client';

/** The connection over which the runtime reports its containers and gets their CPUs: NRI or the CRI proxy. */
export interface Attachment {
  /**
   * Serves the runtime until the signal is aborted and no more calls reach us. Rejects when it can't work. Called once.
   */
  run(signal: AbortSignal): Promise<void>;
  /** Makes the runtime describe all its containers anew. */
  resynchronize(): void;
  readonly facts: AttachmentFacts;
  /** Resolves after the first complete synchronization, or when the runtime can't be reached at first. */
  readonly firstContact: Promise<void>;
}

export interface AttachmentFacts {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly nri: Connection;
  readonly cri: Connection;
}

export interface AttachmentParts {
  readonly context: DaemonContext;
  readonly transactor: Transactor;
  readonly client: RuntimeClient;
  readonly pauses: PauseFinder;
  readonly gap: GapTracker;
}
