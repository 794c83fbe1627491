import { samePromise } from '../../core/model/container';
import { namesOf } from '../../core/model/names-of';
import type { CallContext, CallEnd, Interceptor, RequestVerdict } from '../proxy';
import type { CallsInFlight } from './calls-in-flight';
import { findContainer } from './find-container';
import { nameOf, type Asked, type DaemonPort } from './daemon-port';
import { readId } from '../messages/read-request';
import { concludeUnread, notReady, refusalOf, refuse } from './refusal';

interface Start {
  containerId: string;
  /** Set while the call is in flight. */
  finish: (() => void) | undefined;
  hasEnded: boolean;
}

/** Maximum time a start waits for slow calls about other containers. */
const PATIENCE_MS = 10_000;

/**
 * StartContainer: the runtime makes the cgroup from its own record, so the record must have the present promise. The
 * runtime ignores updates of a container that it is starting: a change meanwhile is written before the caller gets the
 * answer.
 */
export function interceptStartContainer(daemon: DaemonPort, inFlight: CallsInFlight): Interceptor {
  const starts = new WeakMap<CallContext, Start>();

  const prepare = async (message: Uint8Array, start: Start, signal: AbortSignal): Promise<RequestVerdict> => {
    start.containerId = readId('StartContainer', message);
    if (!(await daemon.whenReady(signal))) return refuse(daemon, askedBy(daemon, start.containerId), signal, notReady);
    if ((await findContainer(daemon, start.containerId)) === undefined) return message; // the runtime answers with its own error
    if (!(await inFlight.endOfOutdated(start.containerId, { signal, timeoutMs: PATIENCE_MS })) && !signal.aborted)
      daemon.log.warn(
        nameOf(askedBy(daemon, start.containerId).request),
        'another container may still be on its CPUs: the runtime is late',
      );
    const failure = await updateRecord(daemon, start.containerId);
    if (failure !== undefined) {
      const message = `its CPUs could not be set before its start: ${failure}`;
      return refuse(daemon, askedBy(daemon, start.containerId), signal, { code: 'UNAVAILABLE', message });
    }
    // No turn of the event loop since the record was compared: from here on no update is sent.
    if (!start.hasEnded)
      start.finish = inFlight.begin(start.containerId, daemon.node.containers.get(start.containerId)?.promise);
    return message;
  };

  return {
    async onRequest(message, call) {
      const start: Start = { containerId: '', finish: undefined, hasEnded: false };
      starts.set(call, start);
      try {
        return await prepare(message, start, call.signal);
      } catch (error) {
        const asked = askedBy(daemon, start.containerId);
        daemon.log.error({ ...nameOf(asked.request), err: error }, 'preparing a start failed');
        return refuse(daemon, asked, call.signal, refusalOf(error));
      }
    },
    async onEnd(end, call) {
      const start = starts.get(call);
      if (!start) {
        concludeUnread(daemon, 'container-starting', end);
        return;
      }
      start.hasEnded = true;
      try {
        if (start.finish && end.forwarded) await followUp(daemon, start.containerId, end);
      } finally {
        start.finish?.();
      }
    },
  };
}

/** Names the container that is to start, if the model has it. */
function askedBy({ node }: DaemonPort, containerId: string): Asked {
  const container = node.containers.get(containerId);
  const pod = container && node.pods.get(container.sandboxId);
  return { event: 'container-starting', ...(pod && { request: { kind: 'container-starting', pod, container } }) };
}

/**
 * Writes the present promise into the runtime's record, after our older writes about other containers have ended.
 * Returns why the record could not be written. A container that the runtime does not have is no failure: the runtime
 * answers the call itself.
 */
async function updateRecord(daemon: DaemonPort, containerId: string): Promise<string | undefined> {
  const readPromise = () => daemon.node.containers.get(containerId)?.promise;
  for (;;) {
    const promise = readPromise();
    const failure = await daemon.carryOut([containerId]);
    if (failure !== undefined || samePromise(promise, readPromise())) return failure;
  }
}

async function followUp(daemon: DaemonPort, containerId: string, { origin, status }: CallEnd): Promise<void> {
  if (origin === 'runtime' && status.code === 0) return noteRunning(daemon, containerId);
  // It may have started all the same, so the runtime is asked. If it does not answer, a later list shows it.
  let phase;
  try {
    phase = (await daemon.readContainer(containerId))?.phase ?? 'exited';
  } catch (error) {
    daemon.log.debug(
      { ...nameOf(askedBy(daemon, containerId).request), err: error },
      'what became of a start is not known',
    );
    return;
  }
  if (phase === 'running') await noteRunning(daemon, containerId);
  if (phase === 'exited') await daemon.handle({ kind: 'container-stopped', containerId });
}

async function noteRunning(daemon: DaemonPort, containerId: string): Promise<void> {
  const container = daemon.node.containers.get(containerId);
  const pod = container && daemon.node.pods.get(container.sandboxId);
  if (!pod) return;
  const answer = await daemon.handle({ kind: 'container-started', pod, container });
  const late = answer.kind === 'ok' ? (answer.updates ?? []) : [];
  if (late.length === 0) return;
  const failure = await daemon.carryOut(late.map((update) => update.containerId));
  if (failure !== undefined)
    daemon.log.warn({ ...namesOf(pod, container), because: failure }, 'a container could not be moved after its start');
}
