import type { Assignment } from '../model/assignment';
import { hasCgroup, samePromise, type Container } from '../model/container';
import type { NodeView } from '../model/node-view';
import { judge, type Verdict } from './judge';
import type { Observation, Quota } from './observation';

/** A verdict, and the facts that it follows from. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly observation: Observation;
  readonly basis: VerdictBasis;
}

/**
 * All that a verdict depends on beside the state in the kernel. It is the same as long as its parts are the same
 * objects.
 */
export interface VerdictBasis extends Pick<Container, 'placement' | 'because'> {
  readonly promise: Container['promise'];
  readonly waitingSince: Container['waitingSince'];
  readonly avoidsReserved: Container['avoidsReserved'];
  readonly hasCgroup: boolean;
  readonly assignment: Assignment | undefined;
  readonly topology: NodeView['topology'];
  readonly settings: NodeView['settings'];
  /** The shared pool has exclusive CPUs, for want of others. */
  readonly isPoolOverlapping: boolean;
}

/**
 * Collects all that a verdict on the container depends on now. Cheap: nothing is copied, and all have the same fields.
 */
export function basisOf(view: NodeView, container: Container): VerdictBasis {
  const { promise, placement, because, waitingSince, avoidsReserved, podUid, name } = container;
  return {
    promise,
    waitingSince,
    avoidsReserved,
    placement,
    because,
    hasCgroup: hasCgroup(container),
    assignment: view.assignmentFor(podUid, name),
    topology: view.topology,
    settings: view.settings,
    isPoolOverlapping: view.sharedPool.overlaps(view.exclusive),
  };
}

/**
 * The judgement made of the objects of the last one, where these say the same. Every round judges every container,
 * nearly always with the same outcome, and each object that is kept is one that need not grow old and be collected.
 */
export function reuseParts(last: Judgement | undefined, judgement: Judgement): Judgement {
  if (last === undefined) return judgement;
  const { verdict, observation, basis } = judgement;
  return {
    verdict: sameVerdict(last.verdict, verdict) ? last.verdict : verdict,
    observation: sameObservation(last.observation, observation) ? last.observation : observation,
    basis: sameBasis(last.basis, basis) ? last.basis : basis,
  };
}

/** True when the promise, or something else that the last verdict follows from, has changed. */
export function isOutdated(
  view: NodeView,
  container: Container,
  last: { readonly basis: VerdictBasis } | undefined,
): boolean {
  return last === undefined || !sameBasis(last.basis, basisOf(view, container));
}

/**
 * The verdict as of now. An observation says nothing about a promise that was made after it, not even when both have
 * the same CPUs. When rules, machine or assignment have changed since the last verdict, it is given anew. Pure.
 */
export function judgeNow(view: NodeView, container: Container, last: Judgement | undefined): Verdict {
  // There was no cgroup to read before.
  if (last === undefined || !last.basis.hasCgroup) return judge(view, container, undefined);
  if (!isOutdated(view, container, last)) return last.verdict;
  const { promise, applied } = container;
  if (promise && hasCgroup(container) && last.basis.promise !== promise) {
    const missing = samePromise(applied, promise) ? 'not read back yet' : 'not carried out yet';
    return { kind: 'pending', because: `promised ${promise.cpus.toString()} since it was last read: ${missing}` };
  }
  const now = judge(view, container, last.observation);
  // The observation had the likely cause too.
  return now.kind === 'drifted' && last.verdict.kind === 'drifted' ? last.verdict : now;
}

function sameBasis(a: VerdictBasis, b: VerdictBasis): boolean {
  return (
    a.promise === b.promise &&
    a.hasCgroup === b.hasCgroup &&
    a.assignment === b.assignment &&
    a.topology === b.topology &&
    a.settings === b.settings &&
    a.isPoolOverlapping === b.isPoolOverlapping &&
    a.placement === b.placement &&
    a.because === b.because &&
    a.waitingSince === b.waitingSince &&
    a.avoidsReserved === b.avoidsReserved
  );
}

function sameVerdict(a: Verdict, b: Verdict): boolean {
  return a.kind === b.kind && a.because === b.because;
}

/** True for the common case: a cgroup that lacks no CPUs, was read whole, and whose threads were not sampled. */
function sameObservation(a: Observation, b: Observation): boolean {
  if (a.kind !== 'seen' || b.kind !== 'seen') return false;
  if (a.active || b.active || a.unread || b.unread) return false;
  return (
    a.cpus.equals(b.cpus) &&
    a.effective.equals(b.effective) &&
    a.mems.equals(b.mems) &&
    a.threads === b.threads &&
    sameQuota(a.quota, b.quota) &&
    sameQuota(a.podQuota, b.podQuota)
  );
}

function sameQuota(a: Quota | undefined, b: Quota | undefined): boolean {
  return a?.quotaUs === b?.quotaUs && a?.periodUs === b?.periodUs;
}
