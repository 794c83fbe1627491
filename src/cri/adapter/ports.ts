import type { Logger } from 'pino';
import type { ContainerInfo, RuntimeAnswer, RuntimeEvent } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-model';

/** What the adapter asks of the daemon. */
export interface Ports {
  readonly node: NodeView;
  /** The one path of every event: when it resolves, what was decided is on disk and in the kernel. */
  readonly handle: (event: RuntimeEvent) => Promise<RuntimeAnswer>;
  /**
   * Whether calls may be decided: true at once as a rule; waits while the runtime is asked what there is; false when the
   * signal aborts, or it takes too long.
   */
  readonly whenReady: (signal: AbortSignal) => boolean | Promise<boolean>;
  /**
   * Has the runtime write what these containers were promised, and waits for writes under way that are older than that.
   * Resolves with the reason of the first failure; containers that are gone are none.
   */
  readonly carryOut: (containerIds: readonly string[]) => Promise<string | undefined>;
  /** Asks the runtime for all it has, because it has something that we were not told of. */
  readonly synchronize: () => Promise<void>;
  /** What the runtime knows of one container now; undefined when it has none of this id. */
  readonly readContainer: (containerId: string) => Promise<ContainerInfo | undefined>;
  /** As the runtime calls itself. */
  readonly runtimeName: () => string;
  readonly log: Logger;
}
