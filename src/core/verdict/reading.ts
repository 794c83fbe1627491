import { hasCgroup, type Container } from '../model/container';
import { GONE_LIMIT_MS, isLost, type Missing, type Observation, type Seen } from './observation';

/**
 * The state of a container in the kernel, or why it is not known: `pending` on its way, `unknown` when that does not
 * end by itself.
 */
export type Reading = Seen | { readonly kind: 'pending' | 'unknown'; readonly because: string };

/** Reads an observation; undefined when the container was not looked at yet. Pure. */
export function readingOf(container: Container, observation: Observation | undefined): Reading {
  if (container.phase === 'creating') return { kind: 'pending', because: 'the runtime is creating the container' };
  if (!hasCgroup(container)) return { kind: 'pending', because: 'the container has not started' };
  if (!observation) return { kind: 'pending', because: 'its cgroup has not been looked at yet' };
  switch (observation.kind) {
    case 'seen':
      return observation;
    case 'gone':
      return readMissing(observation.missing);
    case 'unreadable':
      return { kind: 'unknown', because: observation.because };
  }
}

/** An end takes a moment; what lasts longer is not known to be good. */
function readMissing(missing: Missing | undefined): Reading {
  if (missing === undefined || missing.forMs < GONE_LIMIT_MS)
    return { kind: 'pending', because: 'its cgroup is gone: the container is exiting' };
  const since = `for more than ${GONE_LIMIT_MS / 1000} s`;
  return {
    kind: 'unknown',
    because: isLost(missing)
      ? `${missing.because}; it runs so ${since}`
      : `${missing.because}, and the runtime has not reported its end ${since}`,
  };
}
