import type { Logger } from 'pino';
import type { ContainerInfo, RuntimeAnswer, RuntimeEvent } from '../../core/model/events';
import { namesOf, type Names } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';

/** A call that asks for CPUs, or for a start on them; `request` is absent until it has been read. */
export interface Asked {
  readonly event: 'create-container' | 'update-container' | 'container-starting';
  readonly request?: Extract<RuntimeEvent, { kind: Asked['event'] }>;
}

/** The pod and the container of a request, as far as it was read, under the field names of the log. */
export function nameOf(request: Asked['request']): Partial<Names> {
  return request ? namesOf(request.pod, request.container) : {};
}

/** The part of the daemon that the interceptors need. */
export interface DaemonPort {
  readonly node: NodeView;
  /** Handles every event. When it resolves, the decision is on disk and in the kernel. */
  readonly handle: (event: RuntimeEvent) => Promise<RuntimeAnswer>;
  /**
   * Reports the outcome of a request that the adapter refuses itself, or whose answer was tentative (`counts`). Never
   * throws.
   */
  readonly conclude: (end: Asked & { readonly answer: RuntimeAnswer; readonly problem?: string }) => void;
  /**
   * True when calls may be decided, mostly at once; waits for a synchronization that runs. False when the signal aborts
   * or the synchronization takes too long.
   */
  readonly whenReady: (signal: AbortSignal) => boolean | Promise<boolean>;
  /**
   * Has the runtime write the promises of these containers, and waits for older writes that have not ended. Resolves
   * with the reason of the first failure; a container that is gone is no failure.
   */
  readonly carryOut: (containerIds: readonly string[]) => Promise<string | undefined>;
  /** Lists everything that the runtime has, because it has something that we do not know. */
  readonly synchronize: () => Promise<void>;
  /** Reads one container from the runtime; undefined when it has none of this id. */
  readonly readContainer: (containerId: string) => Promise<ContainerInfo | undefined>;
  /** The name that the runtime reports. */
  readonly runtimeName: () => string;
  readonly log: Logger;
}
