import type { RuntimeAnswer } from '../../core/model/events';
import type { CallContext, CallEnd, Interceptor, RequestVerdict } from '../proxy';
import { appendToCreate } from './append-resources';
import { nameCgroupsPath } from './cgroups-path';
import { errorOf, notReady, toOwnError } from './own-errors';
import type { Ports } from './ports';
import { readCreateContainer, readId, type CreateRequest } from './read-request';

/** One call of CreateContainer. */
interface Creation {
  /** What the container is known by until the runtime has made it. */
  readonly temporaryId: string;
  cgroupParent: string;
  /** The model has it. */
  isPlaced: boolean;
  hasEnded: boolean;
  containerId: string;
}

/**
 * CreateContainer: the one place where the CPUs can be set before the process runs. Whoever has to leave them has left
 * before the runtime sees the request; a creation that ends without a container is undone at once.
 */
export function interceptCreateContainer(ports: Ports): Interceptor {
  const creations = new WeakMap<CallContext, Creation>();
  let count = 0;

  const decide = async (message: Uint8Array, creation: Creation, signal: AbortSignal): Promise<RequestVerdict> => {
    if (!(await ports.whenReady(signal))) return { refuse: notReady };
    const request = readCreateContainer(message);
    if (request === undefined) return message;
    creation.cgroupParent = request.pod.cgroupParent;
    const answer = await place(ports, request, creation);
    if (answer.kind === 'refuse') return { refuse: toOwnError(answer) };
    return answer.adjust === undefined ? message : appendToCreate(message, answer.adjust);
  };

  return {
    async onRequest(message, call) {
      const creation = {
        temporaryId: `creating:${++count}`,
        cgroupParent: '',
        isPlaced: false,
        hasEnded: false,
        containerId: '',
      };
      creations.set(call, creation);
      let verdict: RequestVerdict;
      try {
        verdict = await decide(message, creation, call.signal);
      } catch (error) {
        ports.log.error({ err: error }, 'deciding about a creation failed');
        verdict = { refuse: errorOf(error) };
      }
      // The call has ended while it was decided upon, so nobody else will take it back.
      if (creation.hasEnded || 'refuse' in verdict) await undo(ports, creation);
      return verdict;
    },
    onResponse(message, call) {
      const creation = creations.get(call);
      if (creation) creation.containerId = readId('CreateContainer', message);
    },
    async onEnd(end, call) {
      const creation = creations.get(call);
      if (!creation) return;
      creation.hasEnded = true;
      if (isMade(end, creation)) await name(ports, creation);
      else await undo(ports, creation);
    },
  };
}

/** Decides, and clears the CPUs of others where that is the runtime's to do. */
async function place(ports: Ports, { pod, container }: CreateRequest, creation: Creation): Promise<RuntimeAnswer> {
  const event = {
    kind: 'create-container',
    pod,
    container: { ...container, id: creation.temporaryId },
  } as const;
  const answer = await ports.handle(event);
  if (answer.kind === 'refuse') return answer;
  creation.isPlaced = true;
  const others = answer.updates?.map(({ containerId }) => containerId) ?? [];
  const failure = others.length === 0 ? undefined : await ports.carryOut(others);
  if (failure === undefined) return answer;

  await undo(ports, creation);
  const because = `its CPUs could not be cleared of other containers: ${failure}`;
  ports.log.warn({ container: container.name, podUid: pod.uid, because }, 'a creation was taken back');
  if (ports.node.settings.onInsufficientCpu === 'refuse')
    return {
      kind: 'refuse',
      code: 'UNAVAILABLE',
      message: 'its CPUs could not be cleared of other containers; try again',
    };
  const shared = await ports.handle({ ...event, shareBecause: `${because}; on-insufficient-cpu is share` });
  creation.isPlaced = shared.kind === 'ok';
  return shared;
}

function isMade({ origin, status }: CallEnd, { containerId, isPlaced }: Creation): boolean {
  return origin === 'runtime' && status.code === 0 && containerId !== '' && isPlaced;
}

async function name(ports: Ports, creation: Creation): Promise<void> {
  const { temporaryId, containerId, cgroupParent } = creation;
  creation.isPlaced = false;
  const cgroupsPath =
    nameCgroupsPath(ports.runtimeName(), cgroupParent, containerId) ??
    (await ports.readContainer(containerId).catch(() => undefined))?.cgroupsPath ??
    '';
  await ports.handle({ kind: 'container-named', temporaryId, containerId, cgroupsPath });
}

/** There will be no such container: what was taken for it goes back. */
async function undo(ports: Ports, creation: Creation): Promise<void> {
  if (!creation.isPlaced) return;
  creation.isPlaced = false;
  await ports.handle({ kind: 'container-stopped', containerId: creation.temporaryId });
}
