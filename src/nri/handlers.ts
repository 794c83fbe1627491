import type * as nri from '../../gen/nri/v1alpha1/nri';
import type { RuntimeInfo } from './protocol';

/** The facts of a request that are not in its message. */
export interface RequestContext {
  /** Time that the runtime grants for the answer, in ms; absent where it does not say. */
  readonly timeoutMs?: number;
  /** Aborts when the answer is no longer awaited: the deadline has passed, or the connection has ended. */
  readonly signal: AbortSignal;
}

/** A request about a pod. A pod or container that the runtime leaves out is undefined. */
export interface PodRequest {
  readonly pod: nri.PodSandbox | undefined;
}

/** A request about a container, with its pod. */
export interface ContainerRequest extends PodRequest {
  readonly container: nri.Container | undefined;
}

/** New resources of a pod. */
export interface PodUpdateRequest extends PodRequest {
  readonly overheadLinuxResources: nri.LinuxResources | undefined;
  readonly linuxResources: nri.LinuxResources | undefined;
}

/** New resources of a container. */
export interface ContainerUpdateRequest extends ContainerRequest {
  readonly linuxResources: nri.LinuxResources | undefined;
}

/**
 * The changes of all plugins to a container that is being created: `adjust`, `update`, the plugin that owns each
 * change, and the plugins.
 */
export type ValidationRequest = Omit<nri.ValidateContainerAdjustmentRequest, '_unknownFields'>;

/** Changes to the container that is being created; every part may be absent. */
export type Adjustment = nri.DeepPartial<nri.ContainerAdjustment>;
/** Changes to a container that exists. With `ignoreFailure: true` its failure does not fail the request. */
export type Update = nri.DeepPartial<nri.ContainerUpdate>;
/** A container to be evicted, and the reason. */
export type Eviction = nri.DeepPartial<nri.ContainerEviction>;

/** The answer to createContainer. */
export interface CreateAnswer {
  adjust?: Adjustment;
  update?: Update[];
  evict?: Eviction[];
}

/** The answer to updateContainer; changes to this container are an update with its id. */
export interface UpdateAnswer {
  update?: Update[];
  evict?: Eviction[];
}

/** The answer to stopContainer. */
export interface StopAnswer {
  update?: Update[];
}

/** The answer to validateContainerAdjustment. */
export interface Verdict {
  /** True: the container is not created. */
  reject?: boolean;
  reason?: string;
}

/** A handler of an event that takes no answer. */
export type NotificationHandler<Request> = (request: Request, context: RequestContext) => void | Promise<void>;
/** A handler that may answer; it returns nothing where nothing is to change. */
export type AnsweringHandler<Request, Answer> = (
  request: Request,
  context: RequestContext,
  // eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a handler without an answer has no return statement
) => Answer | undefined | void | Promise<Answer | undefined | void>;

/**
 * One handler for each event of NRI 0.12, and the three requests that every plugin gets. The plugin subscribes to the
 * events that have a handler.
 */
export interface NriHandlers {
  /**
   * Called once a connection, first. `config` is the plugin's file in /etc/nri/conf.d, for a plugin that the runtime
   * starts; else empty.
   */
  readonly configure?: (request: { readonly config: string; readonly runtime: RuntimeInfo }) => void | Promise<void>;
  /** Called once a connection with all pods and containers, before any event; answers with updates. */
  readonly synchronize?: AnsweringHandler<
    { readonly pods: readonly nri.PodSandbox[]; readonly containers: readonly nri.Container[] },
    Update[]
  >;
  /** Called when the runtime announces its end; the connection ends afterwards. */
  readonly shutdown?: () => void;

  readonly runPodSandbox?: NotificationHandler<PodRequest>;
  /**
   * Called before the resources of a pod change. Since NRI 0.10; an older runtime refuses a plugin that subscribes to
   * it.
   */
  readonly updatePodSandbox?: NotificationHandler<PodUpdateRequest>;
  /** Since NRI 0.10, as above. */
  readonly postUpdatePodSandbox?: NotificationHandler<PodRequest>;
  readonly stopPodSandbox?: NotificationHandler<PodRequest>;
  readonly removePodSandbox?: NotificationHandler<PodRequest>;

  readonly createContainer?: AnsweringHandler<ContainerRequest, CreateAnswer>;
  readonly postCreateContainer?: NotificationHandler<ContainerRequest>;
  readonly startContainer?: NotificationHandler<ContainerRequest>;
  readonly postStartContainer?: NotificationHandler<ContainerRequest>;
  readonly updateContainer?: AnsweringHandler<ContainerUpdateRequest, UpdateAnswer>;
  readonly postUpdateContainer?: NotificationHandler<ContainerRequest>;
  readonly stopContainer?: AnsweringHandler<ContainerRequest, StopAnswer>;
  readonly removeContainer?: NotificationHandler<ContainerRequest>;
  /** Called after all plugins have answered createContainer. Since NRI 0.10, as above. */
  readonly validateContainerAdjustment?: AnsweringHandler<ValidationRequest, Verdict>;
}

/**
 * Returns the name by which an adjustment removes an entry instead of setting it: the key of an annotation or an
 * environment variable, the destination of a mount, the path of a device.
 */
export function markForRemoval(key: string): string {
  return `-${key}`;
}
