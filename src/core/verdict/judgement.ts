import { keyOf, type Assignment } from '../model/assignment';
import { hasCgroup, samePromise, type Container } from '../model/container';
import type { NodeView } from '../model/node-view';
import { judge, type Verdict } from './judge';
import type { Observation, Quota } from './observation';

/** A verdict, and the facts that it follows from. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly observation: Observation;
  readonly matter: Matter;
}

/** All that a verdict depends on beside the state in the kernel. It is the same as long as its parts are the same objects. */
export interface Matter extends Pick<Container, 'placement' | 'because'> {
  readonly promise: Container['promise'];
  readonly waitsSince: Container['waitsSince'];
  readonly avoidsReserved: Container['avoidsReserved'];
  readonly hasCgroup: boolean;
  readonly assignment: Assignment | undefined;
  readonly topology: NodeView['topology'];
  readonly settings: NodeView['settings'];
  /** The shared pool has exclusive CPUs, for want of others. */
  readonly isPoolOverlapping: boolean;
}

/** Collects all that a verdict on the container depends on now. Cheap: nothing is copied, and all have the same fields. */
export function matterOf(view: NodeView, container: Container): Matter {
  const { promise, placement, because, waitsSince, avoidsReserved, podUid, name } = container;
  return {
    promise,
    waitsSince,
    avoidsReserved,
    placement,
    because,
    hasCgroup: hasCgroup(container),
    assignment: view.assignments.get(keyOf({ podUid, containerName: name })),
    topology: view.topology,
    settings: view.settings,
    isPoolOverlapping: view.sharedPool.overlaps(view.exclusive),
  };
}

/**
 * The judgement made of the objects of the last one, where these say the same. Every round judges every container, nearly always with
 * the same outcome, and each object that is kept is one that need not grow old and be collected.
 */
export function reuseParts(last: Judgement | undefined, judgement: Judgement): Judgement {
  if (last === undefined) return judgement;
  const { verdict, observation, matter } = judgement;
  return {
    verdict: sameVerdict(last.verdict, verdict) ? last.verdict : verdict,
    observation: sameSight(last.observation, observation) ? last.observation : observation,
    matter: sameMatter(last.matter, matter) ? last.matter : matter,
  };
}

/** True when the promise, or something else that the last verdict follows from, has changed. */
export function isOutdated(
  view: NodeView,
  container: Container,
  last: { readonly matter: Matter } | undefined,
): boolean {
  return last === undefined || !sameMatter(last.matter, matterOf(view, container));
}

/**
 * The verdict as of now. An observation says nothing about a promise that was made after it, not even when both have the same CPUs.
 * When rules, machine or assignment have changed since the last verdict, it is given anew. Pure.
 */
export function judgeNow(view: NodeView, container: Container, last: Judgement | undefined): Verdict {
  // There was no cgroup to read before.
  if (last === undefined || !last.matter.hasCgroup) return judge(view, container, undefined);
  if (!isOutdated(view, container, last)) return last.verdict;
  const { promise, told } = container;
  if (promise && hasCgroup(container) && last.matter.promise !== promise) {
    const missing = samePromise(told, promise) ? 'not read back yet' : 'not carried out yet';
    return { kind: 'pending', because: `promised ${promise.cpus.toString()} since it was last read: ${missing}` };
  }
  const now = judge(view, container, last.observation);
  // The observation had the likely cause too.
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

function sameVerdict(a: Verdict, b: Verdict): boolean {
  return a.kind === b.kind && a.because === b.because;
}

/** True for the common case: a cgroup that lacks no CPUs, was read whole, and whose threads were not sampled. */
function sameSight(a: Observation, b: Observation): boolean {
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
