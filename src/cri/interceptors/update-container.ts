import { CpuSet } from '../../core/cpuset';
import type { Container, CpuPromise } from '../../core/model/container';
import { listOthers, type CpuResources, type RuntimeEvent } from '../../core/model/events';
import type { CallContext, Interceptor, RequestVerdict } from '../proxy';
import { appendToUpdate } from '../messages/append-resources';
import type { CallsInFlight } from './calls-in-flight';
import { findContainer } from './find-container';
import { nameOf, type Asked, type DaemonPort } from './daemon-port';
import { readUpdateContainer } from '../messages/read-request';
import { concludeUnread, notReady, passOn, refusalOf, refuse } from './refusal';

interface Update {
  containerId: string;
  /** Absent until it was read, and for a container that is not known. */
  event?: UpdateEvent;
  /** The container before the update; set with `carries`. */
  before: Container | undefined;
  /** Set by the decision. */
  carries: CpuPromise | undefined;
  finish: (() => void) | undefined;
  hasEnded: boolean;
}

type UpdateEvent = Extract<RuntimeEvent, { kind: 'update-container' }>;

/** Maximum time an update waits for the start of its container. */
const PATIENCE_MS = 30_000;

/** UpdateContainerResources: every update gets the promised CPUs, and they replace a cpuset that it has. */
export function interceptUpdateContainer(daemon: DaemonPort, inFlight: CallsInFlight): Interceptor {
  const updates = new WeakMap<CallContext, Update>();

  const decide = async (message: Uint8Array, update: Update, signal: AbortSignal): Promise<RequestVerdict> => {
    const { containerId, resources } = readUpdateContainer(message);
    read(daemon, update, { containerId, resources });
    if (!(await daemon.whenReady(signal))) return refuse(daemon, askedBy(update), signal, notReady);
    if (resources === undefined || (await findContainer(daemon, containerId)) === undefined) return message;
    // While the runtime starts the container, it accepts the update and ignores it.
    await inFlight.endOf(containerId, { signal, timeoutMs: PATIENCE_MS });
    const container = daemon.node.containers.get(containerId);
    if (!container || update.hasEnded) return message;
    read(daemon, update, { containerId, resources });
    if (!update.event) return message;
    const applied = await apply(daemon, update.event, signal);
    if ('refuse' in applied) return applied;
    const { adjust } = applied;
    if (adjust?.cpus === undefined) return message;
    update.containerId = containerId;
    update.before = container;
    update.carries = { cpus: adjust.cpus, mems: adjust.mems ?? CpuSet.empty };
    if (!update.hasEnded) update.finish = inFlight.begin(containerId, update.carries);
    return appendToUpdate(message, adjust);
  };

  return {
    async onRequest(message, call) {
      const update: Update = {
        containerId: '',
        before: undefined,
        carries: undefined,
        finish: undefined,
        hasEnded: false,
      };
      updates.set(call, update);
      try {
        const verdict = await decide(message, update, call.signal);
        if (update.hasEnded) await undo(daemon, update, 'the caller gave it up');
        return verdict;
      } catch (error) {
        daemon.log.error({ ...nameOf(update.event), err: error }, 'deciding about an update failed');
        return refuse(daemon, askedBy(update), call.signal, refusalOf(error));
      }
    },
    async onEnd(end, call) {
      const { origin, status } = end;
      const update = updates.get(call);
      if (!update) {
        concludeUnread(daemon, 'update-container', end);
        return;
      }
      update.hasEnded = true;
      try {
        if (origin === 'runtime' && status.code === 0) await recordUpdate(daemon, update);
        else if (origin === 'runtime') await undo(daemon, update, 'the runtime refused it');
        else await recordFailure(daemon, update); // applied or not, the caller will try again
      } finally {
        update.finish?.();
      }
    },
  };
}

/** Reads the request. A container that is not in the model has no event yet. */
function read(
  { node }: DaemonPort,
  update: Update,
  { containerId, resources }: { readonly containerId: string; readonly resources: CpuResources | undefined },
): void {
  const container = node.containers.get(containerId);
  const pod = container && node.pods.get(container.sandboxId);
  if (pod && resources) update.event = { kind: 'update-container', pod, container, resources, counts: 'when-cleared' };
}

function askedBy({ event }: Update): Asked {
  return { event: 'update-container', ...(event && { request: event }) };
}

/** Decides. When others can't leave the CPUs that the container gets, it keeps those it had. */
async function apply(daemon: DaemonPort, event: UpdateEvent, signal: AbortSignal) {
  const answer = await daemon.handle(event);
  if (answer.kind === 'refuse') return passOn(answer);
  const others = listOthers(event, answer);
  const problem = others.length === 0 ? undefined : await daemon.carryOut(others);
  const asked = { event: event.kind, request: event } as const;
  if (problem === undefined) {
    if (others.length > 0 && !signal.aborted) daemon.conclude({ ...asked, answer });
    return answer;
  }
  await takeBack(daemon, event.container, problem);
  const message = 'the CPUs could not be cleared of other containers; try again';
  return refuse(daemon, asked, signal, { code: 'UNAVAILABLE', message, problem });
}

/** Takes the decision back: the runtime has not applied it. */
async function undo(daemon: DaemonPort, update: Update, because: string): Promise<void> {
  if (update.before) await takeBack(daemon, update.before, because);
  await recordFailure(daemon, update);
}

/** Gives the container the resources back that it had, and so its CPUs. */
async function takeBack(
  daemon: DaemonPort,
  { id, resources }: Pick<Container, 'id' | 'resources'>,
  because: string,
): Promise<void> {
  const container = daemon.node.containers.get(id);
  const pod = container && daemon.node.pods.get(container.sandboxId);
  if (!pod || sameNumbers(container.resources, resources)) return;
  const { cpus: _cpus, mems: _mems, ...before } = resources;
  const event = { kind: 'update-container', pod, container, resources: before, counts: 'never' } as const;
  const answer = await daemon.handle(event);
  const outcome = answer.kind === 'ok' ? 'an update was taken back' : 'an update could not be taken back';
  daemon.log.warn({ ...nameOf(event), because }, outcome);
}

function sameNumbers(a: CpuResources, b: CpuResources): boolean {
  return (['shares', 'quotaUs', 'periodUs', 'memoryLimitBytes'] as const).every((name) => a[name] === b[name]);
}

async function recordUpdate(daemon: DaemonPort, { containerId, carries }: Update): Promise<void> {
  if (!carries) return;
  const answer = await daemon.handle({ kind: 'container-updated', containerId, carriedOut: carries });
  if (answer.kind === 'ok' && answer.updates) await daemon.carryOut([containerId]);
}

/** Records that the content of the runtime's record is unknown now. */
async function recordFailure(daemon: DaemonPort, update: Update): Promise<void> {
  if (!update.carries) return;
  update.carries = undefined;
  await daemon.handle({ kind: 'update-failed', containerId: update.containerId });
}
