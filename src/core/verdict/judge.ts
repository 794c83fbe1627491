import { keyOf, type Assignment } from '../model/assignment';
import type { Container } from '../model/container';
import type { NodeView } from '../model/node-model';
import { optionNames, rulesOf, type Settings } from '../model/settings';
import { hasCgroup } from '../plan/plan-moves';
import type { Observation } from './observation';

/**
 * How promise and observation compare:
 * `kept` equal; `pending` on its way; `drifted` someone wrote another cpuset; `violated` the cpuset is as promised but
 * the kernel does not honour it; `held-under-old-rules` kept, but given under rules that are no longer in force;
 * `unknown` could not be read. Where nothing was promised, nothing can be broken: that is `kept`.
 */
export type VerdictKind = 'kept' | 'pending' | 'drifted' | 'violated' | 'held-under-old-rules' | 'unknown';

export interface Verdict {
  readonly kind: VerdictKind;
  readonly because: string;
}

/** Judges one container by what the kernel has for it. Pure. */
export function judge(view: NodeView, container: Container, observation: Observation): Verdict {
  const { promise } = container;
  if (!promise) return { kind: 'kept', because: `left alone: ${container.because}` };
  if (!hasCgroup(container)) return { kind: 'pending', because: 'the container has not started' };
  if (observation.kind === 'gone') return { kind: 'pending', because: 'its cgroup is gone: the container is exiting' };
  if (observation.kind === 'unreadable') return { kind: 'unknown', because: observation.because };

  if (!observation.cpus.equals(promise.cpus)) {
    const has = observation.cpus.isEmpty ? 'no cpuset of its own' : `cpuset.cpus ${observation.cpus.toString()}`;
    return { kind: 'drifted', because: `promised ${promise.cpus.toString()}, the kernel has ${has}` };
  }
  if (!promise.mems.isEmpty && !observation.mems.equals(promise.mems)) {
    return {
      kind: 'drifted',
      because: `promised memory nodes ${promise.mems.toString()}, the kernel has ${observation.mems.toString() || 'none'}`,
    };
  }
  if (!observation.effective.equals(promise.cpus)) {
    return {
      kind: 'violated',
      because:
        `cpuset.cpus is ${promise.cpus.toString()} as promised, but its processes run on ` +
        `${observation.effective.toString() || 'no CPU'}: a parent cgroup is narrower, or CPUs are offline`,
    };
  }
  return judgeStanding(view, container);
}

function judgeStanding(view: NodeView, container: Container): Verdict {
  const { settings, topology } = view;
  if (container.placement !== 'exclusive') {
    if (view.sharedPool.overlaps(view.exclusive)) {
      return {
        kind: 'violated',
        because: 'no CPU outside the exclusive ones is online: the shared pool overlaps them',
      };
    }
    return { kind: 'kept', because: 'in the shared pool' };
  }
  const assignment = view.assignments.get(keyOf({ podUid: container.podUid, containerName: container.name }));
  if (!assignment) return { kind: 'unknown', because: 'its assignment is missing' };
  const offline = assignment.cpus.minus(topology.online);
  if (!offline.isEmpty) return { kind: 'violated', because: `promised CPUs ${offline.toString()} are offline` };
  const held = heldBecause(assignment, settings);
  return held === undefined
    ? { kind: 'kept', because: assignment.because }
    : { kind: 'held-under-old-rules', because: held };
}

/** What in an assignment the rules in force would not allow today; undefined when it conforms. */
export function heldBecause(assignment: Assignment, settings: Settings): string | undefined {
  const now = rulesOf(settings);
  if (assignment.rules.policy !== now.policy) {
    return `given under cpu-manager-policy ${assignment.rules.policy}, which is ${now.policy} now`;
  }
  const reserved = assignment.cpus.intersect(settings.reserved);
  if (!reserved.isEmpty) return `CPUs ${reserved.toString()} are reserved now`;
  const before = assignment.rules.options.join(',');
  const today = optionNames(settings.options).join(',');
  if (before !== today) return `given with the policy options ${before || 'none'}, which are ${today || 'none'} now`;
  return undefined;
}
