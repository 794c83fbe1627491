import { keyOf, type Assignment } from '../model/assignment';
import { samePromise, type Container } from '../model/container';
import type { NodeView } from '../model/node-model';
import { hasCgroup } from '../plan/plan-moves';
import { judge, type Verdict } from './judge';
import type { Observation } from './observation';

/** A verdict, and what it was given on. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly observation: Observation;
  readonly matter: Matter;
}

/** All that a verdict depends on beside what the kernel has. It is the same as long as its parts are the same objects. */
export interface Matter extends Pick<Container, 'promise' | 'placement' | 'because' | 'waitsSince' | 'avoidsReserved'> {
  readonly hasCgroup: boolean;
  readonly assignment: Assignment | undefined;
  readonly topology: NodeView['topology'];
  readonly settings: NodeView['settings'];
  /** The shared pool has exclusive CPUs, for want of others. */
  readonly isPoolOverlapping: boolean;
}

/** Collects all that a verdict on the container would be given on now. Cheap: nothing is copied. */
export function matterOf(view: NodeView, container: Container): Matter {
  const { promise, placement, because, waitsSince, avoidsReserved, podUid, name } = container;
  return {
    ...(promise && { promise }),
    ...(waitsSince !== undefined && { waitsSince }),
    ...(avoidsReserved && { avoidsReserved }),
    placement,
    because,
    hasCgroup: hasCgroup(container),
    assignment: view.assignments.get(keyOf({ podUid, containerName: name })),
    topology: view.topology,
    settings: view.settings,
    isPoolOverlapping: view.sharedPool.overlaps(view.exclusive),
  };
}

/** The promise, or something else that the last verdict was given on, is not what it was then. */
export function isOutdated(view: NodeView, container: Container, last: Pick<Judgement, 'matter'> | undefined): boolean {
  return last === undefined || !sameMatter(last.matter, matterOf(view, container));
}

/**
 * The verdict as it can be told now. An observation says nothing about a promise that was made after it, not even where both
 * have the same CPUs; where rules, machine or assignment are others than at the last verdict, it is given anew. Pure.
 */
export function judgeNow(view: NodeView, container: Container, last: Judgement | undefined): Verdict {
  // Before there was a cgroup it could not be looked at.
  if (last === undefined || !last.matter.hasCgroup) return judge(view, container, undefined);
  if (!isOutdated(view, container, last)) return last.verdict;
  const { promise, told } = container;
  if (promise && hasCgroup(container) && last.matter.promise !== promise) {
    const missing = samePromise(told, promise) ? 'not read back yet' : 'not carried out yet';
    return { kind: 'pending', because: `promised ${promise.cpus.toString()} since it was last read: ${missing}` };
  }
  const now = judge(view, container, last.observation);
  // The look told the likely cause too.
  return now.kind === 'drifted' && last.verdict.kind === 'drifted' ? last.verdict : now;
}

function sameMatter(a: Matter, b: Matter): boolean {
  return (
    a.promise === b.promise &&
    a.hasCgroup === b.hasCgroup &&
    a.assignment === b.assignment &&
    a.topology === b.topology &&
    a.settings === b.settings &&
    a.isPoolOverlapping === b.isPoolOverlapping &&
    a.placement === b.placement &&
    a.because === b.because &&
    a.waitsSince === b.waitsSince &&
    a.avoidsReserved === b.avoidsReserved
  );
}
