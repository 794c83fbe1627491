import { parseAvoidanceAction } from '../../../src/kube/qos/parse-avoidance-action';
import { actionOf, asJson, sharedParts, type Json } from './objects';

const read = (spec: Json) => {
  const parsed = parseAvoidanceAction(asJson(actionOf(spec)));
  return parsed.ok ? parsed.value : parsed.because;
};
const base = { name: 'throttle', coolDownSeconds: 300 };

test.each<[string, Json, object]>([
  ['nothing: it only disables scheduling, for 300 s', {}, base],
  ['a cool-down', { coolDownSeconds: 10 }, { ...base, coolDownSeconds: 10 }],
  ['no cool-down', { coolDownSeconds: 0 }, { ...base, coolDownSeconds: 0 }],
  [
    'throttling',
    { throttle: { cpuThrottle: { minCPURatio: 10, stepCPURatio: 20 } } },
    { ...base, throttle: { minCpuRatio: 10, stepCpuRatio: 20 } },
  ],
  [
    'throttling, as older CRDs spell it',
    { Throttle: { cpuThrottle: { minCPURatio: 10, stepCPURatio: 20 } } },
    { ...base, throttle: { minCpuRatio: 10, stepCpuRatio: 20 } },
  ],
  [
    'throttling without a least ratio',
    { throttle: { cpuThrottle: { stepCPURatio: 20 } } },
    { ...base, throttle: { minCpuRatio: 0, stepCpuRatio: 20 } },
  ],
  ['an empty throttle beside forceGC', { throttle: { cpuThrottle: {}, memoryThrottle: { forceGC: true } } }, base],
  ['eviction with the grace of the pod', { eviction: {} }, { ...base, eviction: {} }],
  [
    'eviction with a grace',
    { eviction: { terminationGracePeriodSeconds: 30 } },
    { ...base, eviction: { graceSeconds: 30 } },
  ],
  ['eviction at once', { eviction: { terminationGracePeriodSeconds: 0 } }, { ...base, eviction: { graceSeconds: 0 } }],
  ['nulls are absent', { coolDownSeconds: null, throttle: null, eviction: null }, base],
])('%s', (_name, spec, want) => {
  expect(read(spec)).toEqual(want);
});

test.each<[string, Json, string]>([
  [
    'a negative cool-down',
    { coolDownSeconds: -1 },
    'spec.coolDownSeconds is -1: it has to be a whole number from 0 to 2147483647; leave it out for 300',
  ],
  [
    'a cool-down with a unit',
    { coolDownSeconds: '5m' },
    'spec.coolDownSeconds is "5m": it has to be a whole number from 0 to 2147483647; leave it out for 300',
  ],
  [
    'a huge cool-down',
    { coolDownSeconds: 1e15 },
    'spec.coolDownSeconds is 1000000000000000: it has to be a whole number from 0 to 2147483647; leave it out for 300',
  ],
  [
    'a ratio above 100',
    { throttle: { cpuThrottle: { minCPURatio: 101 } } },
    'spec.throttle.cpuThrottle.minCPURatio is 101: it has to be a whole number from 0 to 100; leave it out for 0',
  ],
  [
    'a step below 0',
    { throttle: { cpuThrottle: { stepCPURatio: -5 } } },
    'spec.throttle.cpuThrottle.stepCPURatio is -5: it has to be a whole number from 0 to 100; leave it out for 0',
  ],
  [
    'an eviction that is no object',
    { eviction: true },
    'spec.eviction is true: it has to be an object; write its fields below it',
  ],
  [
    'a negative grace',
    { eviction: { terminationGracePeriodSeconds: -1 } },
    'spec.eviction.terminationGracePeriodSeconds is -1: it has to be a whole number from 0 to 2147483647; leave it out for 0',
  ],
])('refused with its field, rule and remedy: %s', (_name, spec, because) => {
  expect(read(spec)).toBe(`AvoidanceAction throttle: ${because}`);
});

test('no part of the JSON is kept', () => {
  const object = asJson(actionOf({ throttle: { cpuThrottle: { stepCPURatio: 5 } }, eviction: {} }));
  const parsed = parseAvoidanceAction(object);
  expect(parsed.ok).toBe(true);
  expect(sharedParts(object, parsed)).toEqual([]);
});
