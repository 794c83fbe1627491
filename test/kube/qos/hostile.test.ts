import { parseAvoidanceAction } from '../../../src/kube/qos/parse-avoidance-action';
import { parseNodeQos } from '../../../src/kube/qos/parse-node-qos';
import { parseQosPod } from '../../../src/kube/pods/parse-qos-pod';
import { parsePodQos } from '../../../src/kube/qos/parse-pod-qos';
import { createRandom, type Random } from '../../support/random';
import { randomText, unsafeIn } from '../../support/unsafe-text';
import { actionOf, asJson, nodeQosOf, podOf, podQosOf, ruleOf, sharedParts, type Json } from './objects';

const expression = { key: 'app', operator: 'In', values: ['a', 'b'] };
const selector = { matchLabels: { app: 'web' }, matchExpressions: [expression] };
const resources = {
  requests: { cpu: '1', 'gocrane.io/cpu': '2' },
  limits: { memory: '1Gi', 'gocrane.io/memory': '1Gi' },
};

/** Each is read as it is; each of their parts is then replaced by anything. */
const KINDS = [
  {
    parse: parseNodeQos,
    good: nodeQosOf({ selector, rules: [ruleOf({ strategy: 'None' }, { selector }), ruleOf({ name: 'b' })] }),
  },
  {
    parse: parsePodQos,
    good: podQosOf({
      labelSelector: selector,
      scopeSelector: { matchExpressions: [{ scopeName: 'Priority', operator: 'In', values: ['1-2'] }] },
      allowedActions: ['throttle'],
    }),
  },
  {
    parse: parseAvoidanceAction,
    good: actionOf({
      coolDownSeconds: 1,
      throttle: { cpuThrottle: { stepCPURatio: 1 } },
      eviction: { terminationGracePeriodSeconds: 1 },
    }),
  },
  {
    parse: parseQosPod,
    good: podOf({
      metadata: { labels: { app: 'web' }, annotations: { 'kubernetes.io/config.mirror': 'x' } },
      spec: {
        priority: 1,
        containers: [{ name: 'app', resources }],
        initContainers: [{ name: 'init', restartPolicy: 'Always' }, { name: 'setup' }],
        ephemeralContainers: [{ name: 'debugger' }],
      },
    }),
  },
];

function anything(random: Random): unknown {
  const scalars = [null, true, 0, -1, 1.5, 2 ** 31, 1e300, -1e300, '', '-', '1e99', '99999999999999999999', '0x10'];
  const trees = [
    [],
    {},
    [null],
    [[]],
    { __proto__: null, a: 1 },
    Array(2_000).fill('x'),
    JSON.parse('{"__proto__": {"x": 1}}'),
  ];
  return random.pick([
    ...scalars,
    ...trees,
    randomText(random, random.int(1, 50)),
    randomText(random, 3).repeat(20_000),
  ]);
}

/** A copy in which parts are replaced, removed or renamed. */
function spoil(value: unknown, random: Random): unknown {
  if (random.chance(0.06)) return anything(random);
  if (Array.isArray(value)) return value.map((item) => spoil(item, random));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value as Json)
    .filter(() => !random.chance(0.03))
    .map(
      ([key, part]) =>
        [random.chance(0.03) ? random.pick(['__proto__', 'constructor', 'x']) : key, spoil(part, random)] as const,
    );
  return Object.fromEntries(entries);
}

test.each(KINDS)('$good.kind is read when nothing is wrong', ({ parse, good }) => {
  expect(parse(asJson(good))).toMatchObject({ ok: true });
});

test.each(KINDS.map((kind, i) => ({ ...kind, seed: i + 1 })))(
  'any JSON is read or refused with a short safe line, and none of it is kept, seed $seed',
  ({ parse, good, seed }) => {
    const random = createRandom(seed);
    const counts = { read: 0, refused: 0 };
    for (let i = 0; i < 1_500; i++) {
      const json = asJson(spoil(good, random));
      const parsed = parse(json);
      counts[parsed.ok ? 'read' : 'refused']++;
      if (!parsed.ok) {
        expect(parsed.because).toMatch(/^.+: \S.* (is|has) .+: it has too? .+; .+$/);
        expect(parsed.because.length).toBeLessThan(800);
        expect(unsafeIn(parsed.because)).toBeUndefined();
      }
      expect(sharedParts(json, parsed)).toEqual([]);
    }
    expect(counts.read).toBeGreaterThan(50);
    expect(counts.refused).toBeGreaterThan(300);
    expect(Object.keys(Object.prototype)).toEqual([]);
  },
);
