import type * as nri from '../../gen/nri/v1alpha1/nri';
import type { RuntimeInfo } from './protocol';

/** Facts of a request beside its message. */
export interface RequestContext {
  /** Time that the runtime grants for the answer, in ms; absent where it does not say. */
  readonly timeoutMs?: number;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** A pod. */
export interface PodRequest {
  readonly pod: nri.PodSandbox | undefined;
}

/** A container and its pod. */
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

/** The changes of all plugins to a container that is being created. */
export type ValidationRequest = Omit<nri.ValidateContainerAdjustmentRequest, '_unknownFields'>;

/** Changes to the container that is being created; every part may be left out. */
export type Adjustment = nri.DeepPartial<nri.ContainerAdjustment>;
/** Changes to another container that runs. `ignoreFailure: true` keeps its failure from failing the request. */
export type Update = nri.DeepPartial<nri.ContainerUpdate>;
/** A container to be evicted, and why. */
export type Eviction = nri.DeepPartial<nri.ContainerEviction>;

/** The answer to createContainer. */
export interface CreateAnswer {
  adjust?: Adjustment;
  update?: Update[];
  evict?: Eviction[];
}

/** The answer to updateContainer; changes of the very container are an update with its id. */
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

/** One handler for each event of NRI 0.12. Those that may answer return nothing where nothing is to change. */
export interface NriHandlers {
  /** The runtime has introduced itself and gives the configuration of the plugin. */
  readonly configure?: (request: { readonly config: string; readonly runtime: RuntimeInfo }) => void | Promise<void>;
  /** The list of all pods and containers, at the beginning of each connection. */
  readonly synchronize?: AnsweringHandler<
    { readonly pods: readonly nri.PodSandbox[]; readonly containers: readonly nri.Container[] },
    Update[]
  >;
  /** The runtime announces its end. */
  readonly shutdown?: () => void;

  readonly runPodSandbox?: NotificationHandler<PodRequest>;
  /** Before the resources of a pod change. Since NRI 0.10. */
  readonly updatePodSandbox?: NotificationHandler<PodUpdateRequest>;
  /** Since NRI 0.10. */
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
  /** After all plugins have answered createContainer. Since NRI 0.10. */
  readonly validateContainerAdjustment?: AnsweringHandler<ValidationRequest, Verdict>;
}

/**
 * The name by which an adjustment removes an entry instead of setting it: of an annotation, an environment variable, a mount (by its
 * destination), a device (by its path).
 */
export function markForRemoval(key: string): string {
  return `-${key}`;
}
