import type { CallContext, Interceptor } from '../proxy';
import type { CallsInFlight } from './calls-in-flight';
import type { DaemonPort } from './daemon-port';
import {
  asksForAll,
  readEventState,
  readListedStates,
  readStatusState,
  type SeenState,
} from '../messages/read-container-states';

/**
 * Finds exits of containers in the answers that the kubelet reads, since no call announces a process that ends by
 * itself. Answers are never delayed; one that can't be read passes unchanged.
 */
export function observeStates(
  daemon: DaemonPort,
  inFlight: CallsInFlight,
  answer: 'status' | 'event' | 'piece',
): Interceptor {
  const readers = { status: readStatusState, event: readEventState, piece: readListedStates };
  return { onPassed: (message) => report(daemon, inFlight, readers[answer](message)) };
}

/** ListContainers: a container that was known before the request and is missing in a complete list is gone. */
export function observeListedStates(daemon: DaemonPort, inFlight: CallsInFlight): Interceptor {
  const knownBefore = new WeakMap<CallContext, readonly string[]>();
  return {
    onRequest(message, call) {
      if (asksForAll(message)) {
        const known = [...daemon.node.containers.values()].filter(({ phase }) => phase !== 'creating');
        knownBefore.set(
          call,
          known.map(({ id }) => id),
        );
      }
      return message;
    },
    onPassed(message, call) {
      const states = readListedStates(message);
      for (const id of knownBefore.get(call) ?? []) if (!states.has(id)) states.set(id, 'removed');
      report(daemon, inFlight, states);
    },
  };
}

function report(daemon: DaemonPort, inFlight: CallsInFlight, states: ReadonlyMap<string, SeenState>): void {
  const { node, handle, log } = daemon;
  for (const [containerId, state] of states) {
    const container = node.containers.get(containerId);
    if (!container) continue;
    const pod = node.pods.get(container.sandboxId);
    const isNews = state === 'running' && container.phase === 'created' && !inFlight.has(containerId);
    const event =
      state === 'exited' || state === 'removed'
        ? ({ kind: state === 'exited' ? 'container-stopped' : 'container-removed', containerId } as const)
        : isNews && pod
          ? ({ kind: 'container-started', pod, container } as const)
          : undefined;
    if (event) handle(event).catch((error: unknown) => log.error({ err: error }, 'an event was not taken in'));
  }
}
