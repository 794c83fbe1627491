import { Event, type ConfigureRequest } from '../../gen/nri/v1alpha1/nri';

/** Connection id on which the plugin serves. */
export const PLUGIN_CONNECTION = 1;
/** Connection id on which the runtime serves. */
export const RUNTIME_CONNECTION = 2;

export const PLUGIN_SERVICE = 'nri.pkg.api.v1alpha1.Plugin';
export const RUNTIME_SERVICE = 'nri.pkg.api.v1alpha1.Runtime';

/** The version of the protocol in proto/nri; runtimes since NRI 0.12 log it. */
export const NRI_VERSION = 'v0.12.5';

/**
 * The events that a plugin can subscribe to, by the name of the method that carries them since NRI 0.12; StateChange
 * carries most of them before. Releases of NRI before 0.10 know the first eleven, and refuse a plugin that subscribes
 * to another.
 */
export const EVENT_OF_METHOD = {
  RunPodSandbox: Event.RUN_POD_SANDBOX,
  StopPodSandbox: Event.STOP_POD_SANDBOX,
  RemovePodSandbox: Event.REMOVE_POD_SANDBOX,
  CreateContainer: Event.CREATE_CONTAINER,
  PostCreateContainer: Event.POST_CREATE_CONTAINER,
  StartContainer: Event.START_CONTAINER,
  PostStartContainer: Event.POST_START_CONTAINER,
  UpdateContainer: Event.UPDATE_CONTAINER,
  PostUpdateContainer: Event.POST_UPDATE_CONTAINER,
  StopContainer: Event.STOP_CONTAINER,
  RemoveContainer: Event.REMOVE_CONTAINER,
  UpdatePodSandbox: Event.UPDATE_POD_SANDBOX,
  PostUpdatePodSandbox: Event.POST_UPDATE_POD_SANDBOX,
  ValidateContainerAdjustment: Event.VALIDATE_CONTAINER_ADJUSTMENT,
} as const;

/** The method of an event. */
export type EventMethod = keyof typeof EVENT_OF_METHOD;

/** The runtime, as it describes itself in Configure. */
export interface RuntimeInfo {
  readonly name: string;
  readonly version: string;
  /** Absent before NRI 0.12. */
  readonly nriVersion?: string;
  /** Maximum time of one answer, in ms; the runtime drops a plugin that takes longer. */
  readonly requestTimeoutMs: number;
}

/** The default of every runtime; releases before NRI 0.7 do not announce it. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 2000;

/** Reads the description of the runtime, with the default timeout where it announces none. */
export function readRuntimeInfo(request: ConfigureRequest): RuntimeInfo {
  const announcedMs = Number(request.requestTimeout);
  return {
    name: request.runtimeName,
    version: request.runtimeVersion,
    ...(request.NRIVersion !== '' && { nriVersion: request.NRIVersion }),
    requestTimeoutMs: announcedMs > 0 ? announcedMs : DEFAULT_REQUEST_TIMEOUT_MS,
  };
}

/** Returns the subscription to these events: one bit each, as in ConfigureResponse. */
export function maskOf(methods: readonly EventMethod[]): number {
  return methods.reduce((mask, method) => mask | (1 << (EVENT_OF_METHOD[method] - 1)), 0);
}
