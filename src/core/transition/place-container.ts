import { CpuSet } from '../cpuset';
import type { Container, CpuPromise, Placement } from '../model/container';
import type { ContainerInfo, CpuAdjustment, PodInfo, RuntimeAnswer } from '../model/events';
import type { Draft } from './draft';
import { assign, decidePlacement, unassign } from './placement';

export type Placed =
  | { readonly kind: 'placed'; readonly container: Container; readonly liftQuota: boolean }
  | Extract<RuntimeAnswer, { kind: 'refuse' }>;

/** Decides and writes assignment and notes into the draft; the container itself is the caller's to put. */
export function placeContainer(draft: Draft, pod: PodInfo, container: ContainerInfo): Placed {
  const { model } = draft;
  const facts = {
    podUid: pod.uid,
    pod: `${pod.namespace}/${pod.name}`,
    container: container.name,
    containerId: container.id,
  };
  const { request, decision } = decidePlacement(model, pod, container);
  switch (decision.kind) {
    case 'refuse':
      draft.note('warn', 'refused', { ...facts, code: decision.code, because: decision.because });
      return { kind: 'refuse', code: decision.code, message: decision.because };
    case 'pin': {
      const fresh = !model
        .assignmentsOf(pod.uid)
        .some(({ containerName, cpus }) => containerName === container.name || cpus.overlaps(decision.cpus));
      const count = request.kind === 'exclusive' ? request.count : decision.cpus.size;
      const assignment = assign(draft, pod, container, count, decision);
      draft.note('info', 'pinned', { ...facts, cpus: assignment.cpus.toString(), because: assignment.because });
      return {
        kind: 'placed',
        liftQuota: assignment.quotaLifted,
        container: describe(pod, container, {
          placement: 'exclusive',
          entitled: count,
          because: assignment.because,
          promise: { cpus: assignment.cpus, mems: assignment.mems },
          freshAssignment: fresh,
        }),
      };
    }
    case 'share': {
      unassign(draft, pod, container.name);
      const leftAlone = model.settings.cpuManagerPolicy === 'none' && model.exclusive.isEmpty;
      const promise = { cpus: model.sharedPool, mems: CpuSet.empty };
      draft.note(request.kind === 'exclusive' ? 'warn' : 'debug', leftAlone ? 'left alone' : 'shares', {
        ...facts,
        ...(!leftAlone && { cpus: promise.cpus.toString() }),
        because: decision.because,
      });
      return {
        kind: 'placed',
        liftQuota: false,
        container: describe(pod, container, {
          placement: leftAlone ? 'left-alone' : 'shared',
          entitled: request.kind === 'exclusive' ? request.count : 0,
          because: decision.because,
          ...(!leftAlone && { promise }),
          freshAssignment: false,
        }),
      };
    }
  }
}

interface Standing {
  readonly placement: Placement;
  readonly entitled: number;
  readonly because: string;
  readonly promise?: CpuPromise;
  readonly freshAssignment: boolean;
}

export function describe(pod: PodInfo, container: ContainerInfo, standing: Standing): Container {
  return {
    id: container.id,
    sandboxId: pod.sandboxId,
    podUid: pod.uid,
    name: container.name,
    cgroupsPath: container.cgroupsPath,
    phase: container.phase,
    resources: container.resources,
    ...(container.oomScoreAdj !== undefined && { oomScoreAdj: container.oomScoreAdj }),
    ...standing,
  };
}

/** The promise in the form of an answer. Never an empty list: there it would mean "no change". */
export function adjustmentOf({ cpus, mems }: CpuPromise, liftQuota: boolean): CpuAdjustment {
  return { cpus, ...(!mems.isEmpty && { mems }), ...(liftQuota && { quotaUs: -1 }) };
}
