import { excludesReserved, digestAnnotations } from '../annotations';
import type { CpuRequest } from '../inference';
import { keyOf } from '../model/assignment';
import type { Container, CpuPromise, Placement } from '../model/container';
import type { ContainerInfo, CpuAdjustment, PodInfo, RuntimeAnswer } from '../model/events';
import { asSpecSays } from '../model/find-spec';
import { KINDS } from '../model/pool-view';
import { namesOf } from '../model/names-of';
import type { NodeView } from '../model/node-model';
import { promiseOf } from '../plan/plan-moves';
import type { Draft } from './draft';
import { assign, decideFromPod, decidePlacement, unassign, type PlacementDecision } from './placement';

export type Placed = { readonly kind: 'placed'; readonly container: Container; readonly liftQuota: boolean } | Refused;

type Refused = Extract<RuntimeAnswer, { kind: 'refuse' }>;

/**
 * Decides and writes assignment and events into the draft; the container itself is the caller's to put.
 *
 * `waitedSince`: it has waited for CPUs that are free on the node. `switchedBecause`: it runs, and this is why it is placed anew;
 * for lack of CPUs it is refused, not unpinned, and it is never left where it was without a promise. `fromPod`: what
 * `decideFromPod` has decided, where that is known.
 */
export function placeContainer(
  draft: Draft,
  told: PodInfo,
  container: ContainerInfo,
  {
    waitedSince,
    switchedBecause,
    fromPod,
  }: {
    readonly waitedSince?: string;
    readonly switchedBecause?: string;
    readonly fromPod?: PlacementDecision;
  } = {},
): Placed {
  const { model } = draft;
  const pod = asSpecSays(model, told);
  const live = switchedBecause !== undefined;
  const why = switchedBecause ?? (waitedSince === undefined ? undefined : `it had waited since ${waitedSince}`);
  const reasonFor = (because: string): string => (why === undefined ? because : `${because}; ${why}`);
  const who = namesOf(pod, container);
  const { chosen, request, decision, remarks } =
    fromPod ??
    (why === undefined ? decideFromPod(model, pod, container) : undefined) ??
    decidePlacement(model, pod, container, { leaveIdle: waitedSince !== undefined, ...(live && { mayShare: false }) });
  for (const remark of remarks) draft.report({ kind: 'annotation-ignored', who, ...remark });
  const entitled = request.kind === 'exclusive' ? request.count : 0;
  switch (decision.kind) {
    case 'refuse':
      return { kind: 'refuse', code: decision.code, message: decision.because };
    case 'pin': {
      const key = keyOf({ podUid: pod.uid, containerName: container.name });
      const fresh = !model.assignments.has(key) && !model.holdingsOf(pod.uid).cpus.overlaps(decision.cpus);
      const pin = { requested: entitled, chosen, decision: { ...decision, because: reasonFor(decision.because) } };
      const assignment = assign(draft, pod, container, pin);
      const placed = withPromise(
        model,
        describe(pod, container, {
          placement: KINDS[assignment.kind].placement,
          entitled,
          because: assignment.because,
          freshAssignment: fresh,
        }),
      );
      draft.report({
        kind: live ? 'switched' : 'pinned',
        who,
        policy: chosen.policy,
        cpus: placed.promise?.cpus,
        because: assignment.because,
        steps: decision.steps,
      });
      return { kind: 'placed', liftQuota: assignment.quotaLifted, container: placed };
    }
    case 'share': {
      unassign(draft, pod, container.name);
      const because = reasonFor(decision.because);
      const leftAlone =
        !live &&
        model.settings.cpuManagerPolicy === 'none' &&
        model.exclusive.isEmpty &&
        !excludesReserved(pod.annotations);
      const placed = withPromise(
        model,
        describe(pod, container, {
          placement: leftAlone ? 'left-alone' : 'shared',
          entitled,
          because,
          freshAssignment: false,
        }),
      );
      const cpus = placed.promise?.cpus;
      if (live) draft.report({ kind: 'switched', who, cpus, because });
      else {
        const isExpected = chosen.policy === 'none' || !isSurprising(request);
        draft.report({ kind: leftAlone ? 'left-alone' : 'shares', who, cpus, because, isExpected });
      }
      return { kind: 'placed', liftQuota: false, container: placed };
    }
  }
}

/** A container that has just been described, with what the model promises it. */
export function withPromise(view: NodeView, container: Container): Container {
  const promise = promiseOf(view, container);
  return promise ? { promise, ...container } : container;
}

interface Standing {
  readonly placement: Placement;
  readonly entitled: number;
  readonly because: string;
  readonly promise?: CpuPromise;
  readonly freshAssignment: boolean;
}

/** The container as it is decided, ready to be put into the model. */
export function describe(pod: PodInfo, container: ContainerInfo, standing: Standing): Container {
  const saying = digestAnnotations(pod.annotations, container.name);
  return {
    id: container.id,
    sandboxId: pod.sandboxId,
    podUid: pod.uid,
    name: container.name,
    cgroupsPath: container.cgroupsPath,
    phase: container.phase,
    resources: container.resources,
    ...(container.oomScoreAdj !== undefined && { oomScoreAdj: container.oomScoreAdj }),
    ...(excludesReserved(pod.annotations) && { avoidsReserved: true as const }),
    ...(saying !== '' && { saying }),
    ...standing,
  };
}

/** The promise in the form of an answer. Never an empty list: there it would mean "no change". */
export function adjustmentOf({ cpus, mems }: CpuPromise, liftQuota: boolean): CpuAdjustment {
  return { cpus, ...(!mems.isEmpty && { mems }), ...(liftQuota && { quotaUs: -1 }) };
}

/** A container that shares although it, or its numbers, asked for something else: worth a look. */
function isSurprising(request: CpuRequest): boolean {
  return request.kind === 'exclusive' || (request.kind === 'shared' && request.doubt !== undefined);
}
