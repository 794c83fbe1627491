import type { AvoidanceAction } from '../../qos/objects/objects';
import { type Field, MAX_INT, parseObject, type Parsed } from './field';

const DEFAULT_COOL_DOWN_SECONDS = 300;

/**
 * Reads an AvoidanceAction of ensurance.crane.io/v1alpha1. One with neither throttle nor eviction only disables
 * scheduling.
 */
export function parseAvoidanceAction(object: unknown): Parsed<AvoidanceAction> {
  return parseObject('AvoidanceAction', object, (root) => {
    const spec = root.at('spec');
    const throttle = parseThrottle(spec);
    const eviction = spec.at('eviction');
    return {
      name: root.at('metadata').at('name').name('give it a name'),
      // A written 0 is no cool-down, as in Crane.
      coolDownSeconds: spec.at('coolDownSeconds').int(0, MAX_INT, DEFAULT_COOL_DOWN_SECONDS),
      ...(throttle && { throttle }),
      ...(!eviction.isAbsent && { eviction: parseEviction(eviction) }),
    };
  });
}

/**
 * Clients in Go write an empty `cpuThrottle` beside `memoryThrottle`: no throttling is meant. Older CRDs of Crane spell
 * it `Throttle`.
 */
function parseThrottle(spec: Field): AvoidanceAction['throttle'] {
  const throttle = spec.at('throttle').isAbsent ? spec.at('Throttle') : spec.at('throttle');
  const cpu = throttle.at('cpuThrottle');
  const [min, step] = [cpu.at('minCPURatio'), cpu.at('stepCPURatio')];
  if (min.isAbsent && step.isAbsent) return undefined;
  return { minCpuRatio: min.int(0, 100, 0), stepCpuRatio: step.int(0, 100, 0) };
}

function parseEviction(eviction: Field): NonNullable<AvoidanceAction['eviction']> {
  const grace = eviction.at('terminationGracePeriodSeconds');
  return grace.isAbsent ? {} : { graceSeconds: grace.int(0, MAX_INT, 0) };
}
