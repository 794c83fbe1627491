import type { Logger } from 'pino';
import type { ContainerInfo, RuntimeAnswer, RuntimeEvent } from '../../core/model/events';
import { namesOf, type Names } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';

/** A call that asks for CPUs, or for a start on them; `request` is absent as long as nobody could read whose it is. */
export interface Asked {
  readonly event: 'create-container' | 'update-container' | 'container-starting';
  readonly request?: Extract<RuntimeEvent, { kind: Asked['event'] }>;
}

/** The pod and the container that a request is about, as far as it was read, by the names that lines of the log have for them. */
export function nameOf(request: Asked['request']): Partial<Names> {
  return request ? namesOf(request.pod, request.container) : {};
}

/** The part of the daemon that the interceptors need. */
export interface DaemonPort {
  readonly node: NodeView;
  /** The one path of every event: when it resolves, what was decided is on disk and in the kernel. */
  readonly handle: (event: RuntimeEvent) => Promise<RuntimeAnswer>;
  /** Tells what came of a request that the adapter refuses itself, or whose answer was tentative (`counts`). Never throws. */
  readonly conclude: (end: Asked & { readonly answer: RuntimeAnswer; readonly problem?: string }) => void;
  /**
   * Resolves with true when calls may be decided, at once as a rule; waits while the runtime is asked what there is; false when the
   * signal aborts, or it takes too long.
   */
  readonly whenReady: (signal: AbortSignal) => boolean | Promise<boolean>;
  /**
   * Has the runtime write what these containers were promised, and waits for writes under way that are older than that.
   * Resolves with the reason of the first failure; containers that are gone are none.
   */
  readonly carryOut: (containerIds: readonly string[]) => Promise<string | undefined>;
  /** Asks the runtime for all it has, because it has something that we do not know. */
  readonly synchronize: () => Promise<void>;
  /** Reads one container from the runtime; undefined when it has none of this id. */
  readonly readContainer: (containerId: string) => Promise<ContainerInfo | undefined>;
  /** The name that the runtime gives itself. */
  readonly runtimeName: () => string;
  readonly log: Logger;
}
