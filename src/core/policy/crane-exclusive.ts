import { giveCpus } from './give-cpus';
import { giveScheduledCpus } from './give-scheduled-cpus';
import type { Policy } from './policy';

/**
 * Crane's exclusive policy: whole CPUs alone, whatever the QoS class of the pod. Where the scheduler chose, the pod's
 * containers share what it chose; else each container gets what the static policy would give it.
 */
export const exclusivePolicy: Policy = (snapshot, request) => {
  const terms = { kind: 'exclusive', word: 'exclusive', options: snapshot.settings.options, alone: true } as const;
  return request.scheduled
    ? giveScheduledCpus(snapshot, request, terms, request.scheduled)
    : giveCpus(snapshot, request, terms);
};
