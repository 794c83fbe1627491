import { isWithin, followResult } from './follow-result';
import { giveCpus } from './give-cpus';
import type { Policy } from './policy';
import type { Terms } from './terms';

/**
 * The kubelet's static policy: a container of a Guaranteed pod that asks for whole CPUs gets them alone. The kubelet knows nothing
 * of what a scheduler chose for the pod; here that is followed as far as the policy, its options and the topology manager let it
 * be, and said where it is not.
 */
export const staticPolicy: Policy = (snapshot, request) => {
  const terms: Terms = { kind: 'static', word: 'exclusive', options: snapshot.settings.options, alone: true };
  const { restOfResult: rest } = request;
  if (!rest) return giveCpus(snapshot, request, terms);
  const followed = giveCpus(snapshot, request, terms, (sources) =>
    followResult(snapshot, request, terms, { sources, rest }),
  );
  if (followed.kind === 'pin' && isWithin(snapshot.topology, followed.cpus, rest)) return followed;
  const decision = followed.kind === 'pin' ? followed : giveCpus(snapshot, request, terms);
  if (decision.kind !== 'pin') return decision;
  const why = followed.kind === 'pin' ? 'the container keeps the CPUs that it had before' : followed.because;
  return { ...decision, unfollowed: why };
};
