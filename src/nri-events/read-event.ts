import type { BinaryReader } from '@bufbuild/protobuf/wire';

import { Event } from '../../gen/nri/v1alpha1/nri';
import * as view from '../../gen/nri/view/view';
import { CpusetdError } from '../core/errors';
import type { RuntimeEvent } from '../core/model/events';
import { EVENT_OF_METHOD, type EventMethod } from '../nri';
import { SkippingReader } from './skipping-reader';
import { toContainerInfo, toCpuResources, toPodInfo } from './to-core';

/** The events that a daemon subscribes to: the eleven of pods and containers that every release of NRI knows. */
export const EVENTS = [
  'RunPodSandbox',
  'StopPodSandbox',
  'RemovePodSandbox',
  'CreateContainer',
  'PostCreateContainer',
  'StartContainer',
  'PostStartContainer',
  'UpdateContainer',
  'PostUpdateContainer',
  'StopContainer',
  'RemoveContainer',
] as const satisfies readonly EventMethod[];

/**
 * All methods that report an event. Runtimes up to NRI 0.11 report most events by StateChange, later ones by a method
 * for each.
 */
export const EVENT_METHODS: readonly string[] = ['StateChange', ...EVENTS];

/**
 * Reads the call of one of EVENT_METHODS; `ignored` is a StateChange of an event that has no use here. Throws
 * CpusetdError INVALID_ARGUMENT for bytes that are no such message.
 */
export function readEvent(method: string, payload: Uint8Array): RuntimeEvent | 'ignored' {
  if (method === 'StateChange') {
    const request = decode(view.StateChangeEvent, payload, method);
    return toRuntimeEvent(request.event, request, method);
  }
  return toRuntimeEvent(
    EVENT_OF_METHOD[method as EventMethod] ?? Event.UNKNOWN,
    decode(view.EventRequest, payload, method),
    method,
  );
}

/** One piece of a Synchronize request. Throws CpusetdError INVALID_ARGUMENT. */
export function readSynchronize(payload: Uint8Array): view.SynchronizeRequest {
  return decode(view.SynchronizeRequest, payload, 'Synchronize');
}

interface Subject {
  readonly pod: view.PodSandbox | undefined;
  readonly container: view.Container | undefined;
  readonly linuxResources?: view.LinuxResources | undefined;
}

function toRuntimeEvent(event: Event, subject: Subject, method: string): RuntimeEvent | 'ignored' {
  const pod = () => toPodInfo(present(subject.pod, 'pod', method));
  const sandboxId = () => present(subject.pod, 'pod', method).id;
  const container = () => present(subject.container, 'container', method);
  const containerId = () => container().id;
  switch (event) {
    case Event.RUN_POD_SANDBOX:
      return { kind: 'pod-started', pod: pod() };
    case Event.STOP_POD_SANDBOX:
      return { kind: 'pod-stopped', sandboxId: sandboxId() };
    case Event.REMOVE_POD_SANDBOX:
      return { kind: 'pod-removed', sandboxId: sandboxId() };
    case Event.CREATE_CONTAINER:
      return { kind: 'create-container', pod: pod(), container: toContainerInfo(container(), 'creating') };
    case Event.POST_CREATE_CONTAINER:
      return { kind: 'container-created', pod: pod(), container: toContainerInfo(container(), 'created') };
    case Event.START_CONTAINER:
      // The state is still "created", but the cgroup exists and is set, which `running` means to the core.
      return { kind: 'container-starting', pod: pod(), container: toContainerInfo(container(), 'running') };
    case Event.POST_START_CONTAINER:
      return { kind: 'container-started', pod: pod(), container: toContainerInfo(container(), 'running') };
    case Event.UPDATE_CONTAINER:
      return {
        kind: 'update-container',
        pod: pod(),
        container: toContainerInfo(container()),
        resources: toCpuResources(subject.linuxResources),
      };
    case Event.POST_UPDATE_CONTAINER:
      return { kind: 'container-updated', containerId: containerId() };
    case Event.STOP_CONTAINER:
      return { kind: 'container-stopped', containerId: containerId() };
    case Event.REMOVE_CONTAINER:
      return { kind: 'container-removed', containerId: containerId() };
    default:
      return 'ignored';
  }
}

function decode<T>(type: { decode(input: BinaryReader): T }, payload: Uint8Array, method: string): T {
  try {
    return type.decode(new SkippingReader(payload));
  } catch (error) {
    throw new CpusetdError('INVALID_ARGUMENT', `${method}: the request is not a message of this method`, {
      cause: error,
    });
  }
}

/** Throws for a part without an id, under which everything is kept. */
function present<T extends { readonly id: string }>(part: T | undefined, name: string, method: string): T {
  if (part === undefined || part.id === '')
    throw new CpusetdError('INVALID_ARGUMENT', `${method}: the request names no ${name}`);
  return part;
}
