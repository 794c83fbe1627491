import { CpuSet } from '../cpuset';
import { DEFAULT_PERIOD_US } from '../inference/cri-numbers';
import type { Assignment } from '../model/assignment';
import { keptOfBrought } from '../model/brought';
import type { Container, CpuPromise, PromisedQuota } from '../model/container';
import { cpusOf, isAssigned, KINDS } from '../model/pool-view';
import type { NodeView } from '../model/node-view';
import { optionNames, type Settings } from '../model/settings';
import { planQuotas, type QuotaStep } from './plan-quotas';
import { findDisturbance, type Disturbance } from './disturbance';
import type { Observation, Quota, Seen, UnreadQuota } from './observation';
import { readingOf } from './reading';
import { describeQuota, isLimit, wasLifted } from './throttling';
import { plural } from '../text';
import { describeUnmet } from './unmet-request';
import { describeBarred, barredCpus, type Topology } from '../topology';

/**
 * The outcomes of comparing promise and observation: `kept` equal; `pending` on its way, or waiting for CPUs of its
 * own; `drifted` another program wrote the cpuset; `violated` the cpuset is as promised but the kernel does not honour
 * it; `held-under-old-rules` kept, but decided under rules that are no longer in force; `unknown` could not be read;
 * `left-alone` nothing is promised.
 */
export const VERDICT_KINDS = [
  'kept',
  'pending',
  'drifted',
  'violated',
  'held-under-old-rules',
  'unknown',
  'left-alone',
] as const;

export type VerdictKind = (typeof VERDICT_KINDS)[number];

export interface Verdict {
  readonly kind: VerdictKind;
  readonly because: string;
}

/** Judges one container by its state in the kernel; undefined when that was not read yet. Pure. */
export function judge(view: NodeView, container: Container, observation: Observation | undefined): Verdict {
  const { promise } = container;
  if (!promise) return judgeLeftAlone(view, container, observation);
  const seen = readingOf(container, observation);
  if (seen.kind !== 'seen') return seen;

  const drift = findDrift(promise, seen);
  if (drift !== undefined) return { kind: 'drifted', because: drift };
  const quotas = planQuotas(view, container, seen);
  const breach = findBreach(view, promise, seen, quotas);
  if (breach !== undefined) return { kind: 'violated', because: breach };
  const unread = seen.unread ?? [];
  if (unread.length > 0 && (promise.quota || wasLifted(view, container)))
    return { kind: 'unknown', because: unread.map(describeUnread).join('; ') };
  const standing = judgeRules(view, container);
  const remarks = listRemarks(view, container, seen, quotas);
  return { ...standing, because: [standing.because, ...remarks].join('; ') };
}

/** Nothing is promised to it. It may run on CPUs that others own. */
function judgeLeftAlone(view: NodeView, container: Container, observation: Observation | undefined): Verdict {
  const disturbance = findDisturbance(view, container, observation);
  return { kind: 'left-alone', because: [container.because, ...describeDisturbance(disturbance)].join('; ') };
}

function describeDisturbance(disturbance: Disturbance): string[] {
  switch (disturbance.kind) {
    case 'none':
      return [];
    case 'seen':
      return [`it may run on CPUs ${disturbance.cpus.toString()}, which others own`];
    case 'not-known':
      return [`it is not known if it may run on CPUs that others own: ${disturbance.because}`];
  }
}

/** The difference between the cgroup and what cpusetd wrote there, in words; undefined when there is none. */
function findDrift(promise: CpuPromise, { cpus, mems, active }: Seen): string | undefined {
  // cgroup version 1 takes a CPU that goes offline out of `cpuset.cpus` too: no program wrote that.
  const isKernels = active !== undefined && cpus.equals(promise.cpus.intersect(active));
  if (!cpus.equals(promise.cpus) && !isKernels) {
    const has = cpus.isEmpty ? 'no cpuset of its own' : `cpuset.cpus ${cpus.toString()}`;
    return `promised ${promise.cpus.toString()}, the kernel has ${has}`;
  }
  if (!promise.mems.isEmpty && !mems.equals(promise.mems))
    return `promised memory nodes ${promise.mems.toString()}, the kernel has ${mems.toString() || 'none'}`;
  return undefined;
}

/** The reason why the container does not have what its cgroup says; undefined when it has. */
function findBreach(view: NodeView, promise: CpuPromise, seen: Seen, quotas: readonly QuotaStep[]): string | undefined {
  if (!seen.effective.equals(promise.cpus)) {
    const run = `its processes run on ${seen.effective.toString() || 'no CPU'}: ${explainNarrowing(view, promise, seen)}`;
    const promised = promise.cpus.toString();
    return seen.cpus.equals(promise.cpus)
      ? `cpuset.cpus is ${promised} as promised, but ${run}`
      : `promised ${promised}, but ${run}`;
  }
  if (seen.threads && !seen.threads.outside.isEmpty)
    return `threads of it may run on ${seen.threads.outside.toString()}, outside of its cpuset`;
  const own = quotas.find(({ scope }) => scope === 'container');
  if (!own) return undefined;
  return own.to.quotaUs < 0
    ? `throttled: a CFS quota of ${describeSeen(seen.quota)} applies, which was to be lifted`
    : `its CFS quota is ${describeSeen(seen.quota)}, and ${describePromised(own.to)} was to be set again`;
}

function describeUnread({ scope, because }: UnreadQuota): string {
  return `the CFS quota of ${scope === 'pod' ? 'its pod' : 'the container'} could not be read: ${because}`;
}

function describeSeen(quota: Quota | undefined): string {
  return isLimit(quota) ? describeQuota(quota) : 'none';
}

function describePromised({ quotaUs, periodUs }: PromisedQuota): string {
  return describeQuota({ quotaUs, periodUs: periodUs ?? DEFAULT_PERIOD_US });
}

function explainNarrowing(
  { topology }: NodeView,
  { cpus }: CpuPromise,
  { effective, active = topology.online }: Seen,
): string {
  const missing = cpus.minus(effective);
  const absent = missing.minus(topology.online);
  if (!absent.isEmpty) return explainAbsence(topology, absent);
  const inactive = missing.minus(active);
  if (!inactive.isEmpty)
    return `no cgroup has CPUs ${inactive.toString()}: they are going offline or coming back, or a cpuset partition has them`;
  return missing.isEmpty ? 'they were not moved' : `a parent cgroup is narrower, it lacks CPUs ${missing.toString()}`;
}

/** The reason why this node has not got some CPUs: the kernel's, or a cgroup's. */
function explainAbsence(topology: Topology, absent: CpuSet): string {
  const barred = absent.intersect(barredCpus(topology));
  const offline = absent.minus(barred);
  return [
    ...(offline.isEmpty ? [] : [`CPUs ${offline.toString()} are offline`]),
    ...(barred.isEmpty ? [] : [describeBarred(topology.confinement!, barred)]),
  ].join('; ');
}

/** Facts for the operator although the promise is kept. */
function listRemarks(view: NodeView, container: Container, seen: Seen, quotas: readonly QuotaStep[]): string[] {
  const { quota, podQuota, threads, unread = [] } = seen;
  const remarks = unread.map(describeUnread);
  const ofPod = quotas.find(({ scope }) => scope === 'pod');
  if (ofPod)
    remarks.push(
      ofPod.to.quotaUs < 0
        ? `throttled with the rest of its pod by the CFS quota of ${describeSeen(podQuota)}`
        : `the CFS quota of its pod is ${describeSeen(podQuota)}, and ${describePromised(ofPod.to)} was to be set again`,
    );
  if (container.placement === 'exclusive' && !wasLifted(view, container) && isLimit(quota))
    remarks.push(`its CFS quota of ${describeQuota(quota)} applies: lifting it is off`);
  if (threads && threads.narrower > 0) {
    remarks.push(
      `${threads.narrower} of ${plural(threads.looked, 'thread')} ${threads.narrower === 1 ? 'keeps' : 'keep'} to ${threads.narrowerCpus.toString()} by an affinity of ${threads.narrower === 1 ? 'its' : 'their'} own`,
    );
  }
  const unmet = describeUnmet(view, container);
  if (unmet !== undefined) remarks.push(unmet);
  const isolated = container.promise?.cpus.intersect(view.topology.isolated) ?? CpuSet.empty;
  const hasNoOthers = container.placement === 'exclusive' || container.promise?.cpus.isSubsetOf(isolated) === true;
  if (isolated.size > 1 && hasNoOthers)
    remarks.push(`the kernel isolates CPUs ${isolated.toString()}: threads stay on the one where they start`);
  return remarks;
}

function judgeRules(view: NodeView, container: Container): Verdict {
  const { settings, topology } = view;
  const assignment = isAssigned(container) ? view.assignmentFor(container.podUid, container.name) : undefined;
  if (isAssigned(container) && !assignment) return { kind: 'unknown', because: 'its assignment is missing' };
  if ((!assignment || KINDS[assignment.kind].claim === 'numa-nodes') && view.sharedPool.overlaps(view.exclusive)) {
    return {
      kind: 'violated',
      because: `no CPU outside the exclusive ones is ${topology.confinement ? 'usable' : 'online'}: the shared pool overlaps them`,
    };
  }
  if (container.pause) return { kind: 'kept', because: container.because };
  if (!assignment && container.waitingSince !== undefined) return { kind: 'pending', because: container.because };
  if (!assignment)
    return { kind: 'kept', because: [describeShared(view, container), ...remarkReserved(view, container)].join('; ') };
  const absent = assignment.cpus.minus(topology.online);
  if (!absent.isEmpty) return { kind: 'violated', because: `promised ${explainAbsence(topology, absent)}` };
  if (cpusOf(view, assignment).isEmpty) {
    const nodes = assignment.nodes?.toString() ?? '';
    return { kind: 'violated', because: `nothing is shared on NUMA nodes ${nodes}: it runs in the whole shared pool` };
  }
  const held = explainOldRules(assignment, settings);
  return held === undefined
    ? { kind: 'kept', because: [assignment.because, ...remarkReserved(view, container)].join('; ') }
    : { kind: 'held-under-old-rules', because: held };
}

function describeShared(view: NodeView, { podUid, name }: Container): string {
  const cpus = view.broughtTo(podUid, name)?.cpus;
  return cpus && keptOfBrought(view, cpus)
    ? `kept to CPUs ${cpus.toString()}, which its request brought`
    : 'in the shared pool';
}

/** A container that is to be kept off reserved CPUs may have nowhere else to run. */
function remarkReserved({ settings }: NodeView, { placement, avoidsReserved, promise }: Container): string[] {
  const avoids = placement === 'numa' || avoidsReserved === true;
  const reserved = promise?.cpus.intersect(settings.reserved);
  return avoids && reserved && !reserved.isEmpty
    ? [`it runs on reserved CPUs ${reserved.toString()}, since no others are left for it`]
    : [];
}

/** The part of an assignment that the rules in force would not allow today, in words; undefined when it conforms. */
export function explainOldRules(assignment: Assignment, settings: Settings): string | undefined {
  const { rules, kind, cpus } = assignment;
  if (rules.chosenBy !== undefined) {
    if (!(settings.podPolicies ?? []).includes(rules.policy))
      return `its pod chose the policy ${rules.policy}, which pods may not choose any more`;
  } else if (rules.policy !== settings.cpuManagerPolicy) {
    return `given under cpu-manager-policy ${rules.policy}, which is ${settings.cpuManagerPolicy} now`;
  }
  const reserved = cpus.intersect(settings.reserved);
  if (!reserved.isEmpty) return `CPUs ${reserved.toString()} are reserved now`;
  if (KINDS[kind].claim !== 'exclusive') return undefined; // the options are those of exclusive CPUs
  const before = rules.options.join(',');
  const today = optionNames(settings.options).join(',');
  if (before !== today) return `given with the policy options ${before || 'none'}, which are ${today || 'none'} now`;
  return undefined;
}
