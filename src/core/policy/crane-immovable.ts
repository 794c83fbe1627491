import { NO_OPTIONS } from '../model/settings';
import { giveCpus } from './give-cpus';
import { giveScheduledCpus } from './give-scheduled-cpus';
import type { Policy } from './policy';

/**
 * Crane's immovable policy: CPUs that stay the same and that no other pinned container has, but that everyone of the shared
 * pool may use too. Packed, as in Crane; the options of the static policy and the topology manager have no say.
 */
export const immovablePolicy: Policy = (snapshot, request) => {
  const terms = { kind: 'immovable', word: 'fixed', options: NO_OPTIONS, alone: false } as const;
  return request.scheduled
    ? giveScheduledCpus(snapshot, request, terms, request.scheduled)
    : giveCpus(snapshot, request, terms);
};
