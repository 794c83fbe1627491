import type { PodInfo, RuntimeEvent } from '../../core/model/events';
import type { CallContext, CallEnd, Interceptor } from '../proxy';
import type { DaemonPort } from './daemon-port';
import { readId, readRunPodSandbox } from '../messages/read-request';

/** StopContainer, RemoveContainer: an event when the runtime has succeeded, none when it has failed. */
export function observeContainerEnd(daemon: DaemonPort, kind: 'container-stopped' | 'container-removed'): Interceptor {
  return observeSuccess(daemon, (containerId) => [{ kind, containerId }]);
}

/** StopPodSandbox, RemovePodSandbox: CRI demands that the containers in it have ended too. */
export function observePodEnd(daemon: DaemonPort, kind: 'pod-stopped' | 'pod-removed'): Interceptor {
  return observeSuccess(daemon, (sandboxId) => [
    ...[...daemon.node.containers.values()]
      .filter((container) => container.sandboxId === sandboxId && container.phase !== 'creating')
      .map(({ id }) => ({ kind: 'container-stopped', containerId: id }) as const),
    { kind, sandboxId },
  ]);
}

function observeSuccess(daemon: DaemonPort, toEvents: (id: string) => readonly RuntimeEvent[]): Interceptor {
  const ids = new WeakMap<CallContext, string>();
  return {
    onRequest(message, call) {
      try {
        ids.set(call, readId('request', message));
      } catch (error) {
        daemon.log.debug({ path: call.path, err: error }, 'a request passes unread'); // the runtime reports the error
      }
      return message;
    },
    async onEnd(end, call) {
      const id = ids.get(call);
      if (id !== undefined && isSuccess(end)) await Promise.all(toEvents(id).map((event) => daemon.handle(event)));
    },
  };
}

/** RunPodSandbox: the pod is known before its first container is. */
export function observePodStart(daemon: DaemonPort): Interceptor {
  const starts = new WeakMap<CallContext, { toPod: (sandboxId: string) => PodInfo; sandboxId: string }>();
  return {
    onRequest(message, call) {
      try {
        const toPod = readRunPodSandbox(message);
        if (toPod) starts.set(call, { toPod, sandboxId: '' });
      } catch (error) {
        daemon.log.debug({ path: call.path, err: error }, 'a request passes unread');
      }
      return message;
    },
    onResponse(message, call) {
      const start = starts.get(call);
      if (start) start.sandboxId = readId('RunPodSandbox', message);
    },
    async onEnd(end, call) {
      const start = starts.get(call);
      if (!start || start.sandboxId === '' || !isSuccess(end)) return;
      await daemon.handle({ kind: 'pod-started', pod: start.toPod(start.sandboxId) });
    },
  };
}

function isSuccess({ origin, status }: CallEnd): boolean {
  return origin === 'runtime' && status.code === 0;
}
