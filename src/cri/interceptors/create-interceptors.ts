import type { CallContext, Interceptor, Interceptors } from '../proxy';
import { CallsInFlight } from './calls-in-flight';
import { interceptCreateContainer } from './create-container';
import { observeStates, observeListedStates } from './container-exits';
import { observeContainerEnd, observePodEnd, observePodStart } from './lifecycle';
import type { DaemonPort } from './daemon-port';
import { interceptStartContainer } from './start-container';
import { interceptUpdateContainer } from './update-container';

export interface InterceptorSet {
  readonly interceptors: Interceptors;
  /** Paths of methods that stream without an end. */
  readonly endlessPaths: readonly string[];
  /** True while a call about this container is in flight: an update by cpusetd would be lost or overwritten. */
  readonly isBusy: (containerId: string) => boolean;
  /** True while a call that creates a sandbox or creates or starts a container is in flight. */
  readonly isMaking: () => boolean;
}

/**
 * The messages of both are the same in all fields that are read here. Kubelets before 1.26 and old tools use the first
 * where the runtime has it; without it their containers would start unpinned.
 */
const SERVICES = ['runtime.v1alpha2.RuntimeService', 'runtime.v1.RuntimeService'];

/** The interceptors of all methods that are read; every other method passes unread. */
export function createInterceptors(daemon: DaemonPort): InterceptorSet {
  const inFlight = new CallsInFlight(daemon.node);
  const making = new Set<CallContext>();
  const methods: Readonly<Record<string, Interceptor>> = {
    CreateContainer: keepTrack(making, interceptCreateContainer(daemon)),
    StartContainer: keepTrack(making, interceptStartContainer(daemon, inFlight)),
    UpdateContainerResources: interceptUpdateContainer(daemon, inFlight),
    StopContainer: observeContainerEnd(daemon, 'container-stopped'),
    RemoveContainer: observeContainerEnd(daemon, 'container-removed'),
    RunPodSandbox: keepTrack(making, observePodStart(daemon)),
    StopPodSandbox: observePodEnd(daemon, 'pod-stopped'),
    RemovePodSandbox: observePodEnd(daemon, 'pod-removed'),
    ListContainers: observeListedStates(daemon, inFlight),
    StreamContainers: observeStates(daemon, inFlight, 'piece'),
    ContainerStatus: observeStates(daemon, inFlight, 'status'),
    GetContainerEvents: observeStates(daemon, inFlight, 'event'),
  };
  return {
    interceptors: new Map(
      SERVICES.flatMap((service) =>
        Object.entries(methods).map(([method, interceptor]) => [`/${service}/${method}`, interceptor] as const),
      ),
    ),
    endlessPaths: ['/runtime.v1.RuntimeService/GetContainerEvents'],
    isBusy: (containerId) => inFlight.has(containerId),
    isMaking: () => making.size > 0,
  };
}

/** The same interceptor; its calls are in the set from the request to the end. */
function keepTrack(calls: Set<CallContext>, interceptor: Interceptor): Interceptor {
  return {
    ...interceptor,
    onRequest(message, call) {
      calls.add(call);
      return interceptor.onRequest?.(message, call) ?? message;
    },
    onEnd(end, call) {
      calls.delete(call);
      return interceptor.onEnd?.(end, call);
    },
  };
}
