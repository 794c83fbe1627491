import { listOthers, type RuntimeEvent } from '../../core/model/events';
import type { CallContext, CallEnd, Interceptor, RequestVerdict } from '../proxy';
import { appendToCreate } from '../messages/append-resources';
import { nameCgroupsPath } from '../messages/container-cgroups-path';
import { nameOf, type Asked, type DaemonPort } from './daemon-port';
import { readCreateContainer, readId } from '../messages/read-request';
import { concludeUnread, notReady, passOn, refusalOf, refuse } from './refusal';

/** One call of CreateContainer. */
interface Creation {
  /** Id of the container until the runtime gives it one. */
  readonly temporaryId: string;
  /** Absent until it was read. */
  event?: CreateEvent;
  /** The model has it. */
  isPlaced: boolean;
  hasEnded: boolean;
  containerId: string;
}

type CreateEvent = Extract<RuntimeEvent, { kind: 'create-container' }>;

/**
 * CreateContainer: the only call that can set the CPUs before the process runs. Containers that must leave these CPUs
 * have left before the runtime gets the request; a creation that ends without a container is undone at once.
 */
export function interceptCreateContainer(daemon: DaemonPort): Interceptor {
  const creations = new WeakMap<CallContext, Creation>();
  let count = 0;

  const decide = async (message: Uint8Array, creation: Creation, signal: AbortSignal): Promise<RequestVerdict> => {
    const request = readCreateContainer(message);
    if (request !== undefined)
      creation.event = {
        kind: 'create-container',
        pod: request.pod,
        container: { ...request.container, id: creation.temporaryId },
        counts: 'when-cleared',
      };
    if (!(await daemon.whenReady(signal))) return refuse(daemon, askedBy(creation), signal, notReady);
    return creation.event === undefined ? message : place(daemon, { message, event: creation.event, signal }, creation);
  };

  return {
    async onRequest(message, call) {
      const creation: Creation = {
        temporaryId: `creating:${++count}`,
        isPlaced: false,
        hasEnded: false,
        containerId: '',
      };
      creations.set(call, creation);
      let verdict: RequestVerdict;
      try {
        verdict = await decide(message, creation, call.signal);
      } catch (error) {
        daemon.log.error({ ...nameOf(creation.event), err: error }, 'deciding about a creation failed');
        verdict = refuse(daemon, askedBy(creation), call.signal, refusalOf(error));
      }
      // The call has ended during the decision, so the decision is undone here.
      if (creation.hasEnded || 'refuse' in verdict) await undo(daemon, creation);
      return verdict;
    },
    onResponse(message, call) {
      const creation = creations.get(call);
      if (creation) creation.containerId = readId('CreateContainer', message);
    },
    async onEnd(end, call) {
      const creation = creations.get(call);
      if (!creation) {
        concludeUnread(daemon, 'create-container', end);
        return;
      }
      creation.hasEnded = true;
      if (isMade(end, creation)) await name(daemon, creation);
      else await undo(daemon, creation);
    },
  };
}

/** Decides, and has the runtime move other containers off the CPUs where we can't write cgroups. */
async function place(
  daemon: DaemonPort,
  {
    message,
    event,
    signal,
  }: { readonly message: Uint8Array; readonly event: CreateEvent; readonly signal: AbortSignal },
  creation: Creation,
): Promise<RequestVerdict> {
  let answer = await daemon.handle(event);
  if (answer.kind === 'refuse') return passOn(answer);
  creation.isPlaced = true;
  const others = listOthers(event, answer);
  const problem = others.length === 0 ? undefined : await daemon.carryOut(others);
  if (problem !== undefined) {
    await undo(daemon, creation);
    const because = 'its CPUs could not be cleared of other containers';
    if (daemon.node.settings.onInsufficientCpu === 'refuse')
      return refuse(daemon, askedBy(creation), signal, {
        code: 'UNAVAILABLE',
        message: `${because}; try again`,
        problem,
      });
    const { counts: _counts, ...anew } = event;
    answer = await daemon.handle({ ...anew, shareBecause: `${because}: ${problem}; on-insufficient-cpu is share` });
    if (answer.kind === 'refuse') return passOn(answer);
    creation.isPlaced = true;
  } else if (others.length > 0 && !signal.aborted) daemon.conclude({ ...askedBy(creation), answer });
  return appendToCreate(message, answer);
}

function askedBy({ event }: Creation): Asked {
  return { event: 'create-container', ...(event && { request: event }) };
}

function isMade({ origin, status }: CallEnd, { containerId, isPlaced }: Creation): boolean {
  return origin === 'runtime' && status.code === 0 && containerId !== '' && isPlaced;
}

async function name(daemon: DaemonPort, creation: Creation): Promise<void> {
  const { temporaryId, containerId } = creation;
  const cgroupParent = creation.event?.pod.cgroupParent ?? '';
  creation.isPlaced = false;
  const cgroupsPath =
    nameCgroupsPath(daemon.runtimeName(), cgroupParent, containerId) ??
    (await daemon.readContainer(containerId).catch(() => undefined))?.cgroupsPath ??
    '';
  await daemon.handle({ kind: 'container-named', temporaryId, containerId, cgroupsPath });
}

/** Frees the CPUs of a container that will not exist. */
async function undo(daemon: DaemonPort, creation: Creation): Promise<void> {
  if (!creation.isPlaced) return;
  creation.isPlaced = false;
  await daemon.handle({ kind: 'container-stopped', containerId: creation.temporaryId });
}
