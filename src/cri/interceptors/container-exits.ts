import type { CallContext, Interceptor } from '../proxy';
import type { CallsUnderWay } from './calls-in-flight';
import type { Ports } from './daemon-port';
import {
  asksForAll,
  readEventState,
  readListedStates,
  readStatusState,
  type SeenState,
} from '../messages/read-container-states';

/**
 * Nobody asks the runtime for the end of a process that ends by itself: it shows in what the kubelet reads. So its answers
 * are read along. They are never held up, and what can't be read passes.
 */
export function readAlong(ports: Ports, underWay: CallsUnderWay, answer: 'status' | 'event' | 'piece'): Interceptor {
  const readers = { status: readStatusState, event: readEventState, piece: readListedStates };
  return { onPassed: (message) => tell(ports, underWay, readers[answer](message)) };
}

/** ListContainers: who was known before it was asked for, and is missing in a complete list, is gone. */
export function readListAlong(ports: Ports, underWay: CallsUnderWay): Interceptor {
  const knownBefore = new WeakMap<CallContext, readonly string[]>();
  return {
    onRequest(message, call) {
      if (asksForAll(message)) {
        const known = [...ports.node.containers.values()].filter(({ phase }) => phase !== 'creating');
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
      tell(ports, underWay, states);
    },
  };
}

function tell(ports: Ports, underWay: CallsUnderWay, states: ReadonlyMap<string, SeenState>): void {
  const { node, handle, log } = ports;
  for (const [containerId, state] of states) {
    const container = node.containers.get(containerId);
    if (!container) continue;
    const pod = node.pods.get(container.sandboxId);
    const isNews = state === 'running' && container.phase === 'created' && !underWay.has(containerId);
    const event =
      state === 'exited' || state === 'removed'
        ? ({ kind: state === 'exited' ? 'container-stopped' : 'container-removed', containerId } as const)
        : isNews && pod
          ? ({ kind: 'container-started', pod, container } as const)
          : undefined;
    if (event) handle(event).catch((error: unknown) => log.error({ err: error }, 'an event was not taken in'));
  }
}
