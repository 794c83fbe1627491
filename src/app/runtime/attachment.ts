import type { Logger } from 'pino';
import type { HealthState } from '../../admin/health-state';
import type { Connection } from '../../admin/model/status';
import type { NodeView } from '../../core/model/node-model';
import type { Cgroups } from '../../host';
import type { Config } from '../config';
import type { GapTracker } from '../status/gap-tracker';
import type { PauseFinder } from './pause-finder';
import type { RuntimeLink } from './runtime-client';
import type { Transactor } from '../transaction/transactor';

/** How the daemon hangs on the runtime, whichever way that is. */
export interface Attachment {
  /** Has the runtime describe all its containers anew. */
  resynchronize(): void;
  /** Whether a call about the container is under way, in which an update of our own would be lost. */
  isBusy(containerId: string): boolean;
  /** The runtime is making a sandbox or a container, or starting one, as far as its events do not tell. */
  isMaking(): boolean;
  readonly facts: AttachmentFacts;
  /** Resolves when the runtime has told of everything for the first time, or can't be reached at first. */
  readonly firstContact: Promise<void>;
  /** Resolves after the signal was aborted, when nothing of the runtime's reaches us any more; rejects when it can't work. */
  readonly ended: Promise<void>;
}

export interface AttachmentFacts {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly nri: Connection;
  readonly cri: Connection;
}

/** What every way of attaching gets of the daemon. */
export interface AttachmentParts {
  readonly config: Config;
  readonly model: NodeView;
  readonly transactor: Transactor;
  readonly cgroups: Cgroups;
  readonly link: RuntimeLink;
  readonly pauses: PauseFinder;
  readonly gap: GapTracker;
  readonly health: HealthState;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly startedAt: string;
  /** Something changed that status shows. */
  readonly onChange: () => void;
}
