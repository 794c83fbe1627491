import { Event, type ConfigureRequest } from '../../../gen/nri/v1alpha1/nri';

/** Connection ids on the multiplexed socket: who serves what. */
export const PLUGIN_CONNECTION = 1;
export const RUNTIME_CONNECTION = 2;

export const PLUGIN_SERVICE = 'nri.pkg.api.v1alpha1.Plugin';
export const RUNTIME_SERVICE = 'nri.pkg.api.v1alpha1.Runtime';

/** The protocol version we are written against; runtimes since NRI 0.12 log it. */
export const NRI_VERSION = 'v0.12.2';

/**
 * The eleven events of pods and containers that every release of NRI knows. One bit more and releases before 0.10
 * refuse the plugin.
 */
export const EVENT_MASK = maskOf([
  Event.RUN_POD_SANDBOX,
  Event.STOP_POD_SANDBOX,
  Event.REMOVE_POD_SANDBOX,
  Event.CREATE_CONTAINER,
  Event.POST_CREATE_CONTAINER,
  Event.START_CONTAINER,
  Event.POST_START_CONTAINER,
  Event.UPDATE_CONTAINER,
  Event.POST_UPDATE_CONTAINER,
  Event.STOP_CONTAINER,
  Event.REMOVE_CONTAINER,
]);

/** What the runtime said about itself in Configure. */
export interface RuntimeInfo {
  readonly name: string;
  readonly version: string;
  /** Absent before NRI 0.12. */
  readonly nriVersion?: string;
  /** How long the runtime waits for one answer; it drops the plugin that takes longer. */
  readonly requestTimeoutMs: number;
}

/** The default of every runtime; those before NRI 0.7 do not announce it. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 2000;

/** Who called, by its own words, and the time that it grants for a request, in ms. */
export function readRuntimeInfo(request: ConfigureRequest): RuntimeInfo {
  const announcedMs = Number(request.requestTimeout);
  return {
    name: request.runtimeName,
    version: request.runtimeVersion,
    ...(request.NRIVersion !== '' && { nriVersion: request.NRIVersion }),
    requestTimeoutMs: announcedMs > 0 ? announcedMs : DEFAULT_REQUEST_TIMEOUT_MS,
  };
}

function maskOf(events: readonly Event[]): number {
  return events.reduce((mask, event) => mask | (1 << (event - 1)), 0);
}
