import fc from 'fast-check';
import { chooseIdentity } from '../../../src/core/annotations/cpu-identity';
import { choosePolicy } from '../../../src/core/annotations/choose-policy';
import {
  DecisiveAnnotations,
  decisiveAnnotations,
  rememberedAnnotations,
  digestAnnotations,
} from '../../../src/core/annotations/decisive';
import { excludesReserved, type Annotations } from '../../../src/core/annotations/annotations';
import { resultOf } from '../../../src/core/annotations/topology-result';
import { runtimeUidOf } from '../../../src/core/model/pod-spec';
import { POLICY_NAMES } from '../../../src/core/model/policies';

const RESULT = 'topology.crane.io/topology-result';
const resultFor = (nodes: readonly (readonly [number, number])[], more = {}): string =>
  JSON.stringify(
    nodes.map(([node, cpu]) => ({
      name: `zone${node}`,
      type: 'Node',
      resources: { capacity: { cpu: `${cpu}` } },
      ...more,
    })),
  );

const anyContainer = fc.constantFrom('app', 'db', 'a.b', '__proto__');
const anyValue = fc.oneof(
  fc.constantFrom(...POLICY_NAMES, 'true', 'false', '', 'Static', 'on', 'off'),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.constant('x'.repeat(100_000)),
);
const anyResult = fc.oneof(
  fc.array(fc.tuple(fc.nat(400), fc.nat(9))).map((nodes) => resultFor(nodes)),
  fc.constant(`[${' '.repeat(20_000)}]`),
  fc.json(),
);
const anyName = fc.oneof(
  fc.constantFrom(
    'cpusetd.io/policy',
    'topology.crane.io/cpu-policy',
    'topology.crane.io/exclude-reserved-cpus',
    'kubernetes.io/config.mirror',
    'kubernetes.io/config.hash',
    '__proto__',
    'constructor',
    'note',
  ),
  anyContainer.map((name) => `cpusetd.io/policy/container.${name}`),
  anyContainer.map((name) => `cpu-policy.topology.crane.io/container.${name}`),
  fc.constant('cpusetd.io/cpu-identity'),
  anyContainer.map((name) => `cpu-identity.cpusetd.io/container.${name}`),
);
const anyAnnotations: fc.Arbitrary<Annotations> = fc
  .tuple(fc.array(fc.tuple(anyName, anyValue)), fc.option(anyResult, { nil: undefined }))
  .map(([entries, result]) =>
    Object.fromEntries([...entries, ...(result === undefined ? [] : [[RESULT, result] as const])]),
  );

/** All that is derived from the annotations for a container. */
function meaningOf(annotations: Annotations, container: string) {
  const { remarks, ...chosen } = choosePolicy(
    { cpuManagerPolicy: 'static', podPolicies: ['exclusive', 'none'] },
    annotations,
    container,
  );
  return {
    chosen,
    ignored: remarks.map(({ annotation }) => annotation),
    digest: digestAnnotations(annotations, container),
    avoids: excludesReserved(annotations),
    isTold: chooseIdentity({ cpuIdentity: true }, annotations, container).isWanted,
  };
}

function readOneByOne(annotations: Annotations): Annotations {
  const kept = new DecisiveAnnotations();
  for (const [name, value] of Object.entries(annotations)) kept.put(name, value);
  return kept.all;
}

describe('the kept annotations', () => {
  test('mean the same as all annotations, read together or one by one, also in their form on disk', () => {
    fc.assert(
      fc.property(anyAnnotations, anyContainer, (annotations, container) => {
        const meaning = meaningOf(annotations, container);
        expect(meaningOf(readOneByOne(annotations), container)).toEqual(meaning);
        expect(meaningOf(decisiveAnnotations(annotations, [container]), container)).toEqual(meaning);
        const remembered = rememberedAnnotations(annotations);
        expect(meaningOf(remembered, container)).toEqual(meaning);
        expect(rememberedAnnotations(remembered)).toEqual(remembered);
      }),
    );
  });

  test('are short for any text, and no longer in their form on disk', () => {
    fc.assert(
      fc.property(anyAnnotations, anyContainer, (annotations, container) => {
        const kept = decisiveAnnotations(annotations, [container]);
        expect(JSON.stringify(kept).length).toBeLessThan(32 * 1024);
        const lengthOf = (annotations: Annotations): number => Object.values(annotations).join('').length;
        expect(lengthOf(rememberedAnnotations(kept))).toBeLessThanOrEqual(lengthOf(kept) + 1);
      }),
    );
  });

  test('are those for the containers of the pod, for any number of containers', () => {
    const names = Array.from({ length: 3000 }, (_, i) => `c${i}`);
    const annotations = Object.fromEntries(names.map((name) => [`policy.cpusetd.io/container.${name}`, 'none']));
    expect(decisiveAnnotations({ ...annotations, 'policy.cpusetd.io/container.gone': 'none' }, names)).toEqual(
      annotations,
    );
  });

  test('are the same empty object for all pods without decisive annotations', () => {
    const none = readOneByOne({ note: 'x' });
    expect(readOneByOne({ 'cpusetd.io/policy': 'none' })).toEqual({ 'cpusetd.io/policy': 'none' });
    expect(readOneByOne({ other: 'y' })).toBe(none);
    expect(none).toEqual({});
  });

  test('are the first 1024 for containers, and all for the pod, when the containers are not known', () => {
    const many = Array.from({ length: 3000 }, (_, i) => [`policy.cpusetd.io/container.c${i}`, 'none'] as const);
    const kept = readOneByOne(Object.fromEntries([...many, ['topology.crane.io/exclude-reserved-cpus', 'true']]));
    expect(Object.keys(kept)).toHaveLength(1025);
    expect(kept).toMatchObject({ 'policy.cpusetd.io/container.c1023': 'none' });
    expect(excludesReserved(kept)).toBe(true);
  });
});

test('a result on disk has its nodes and CPUs, and nothing else', () => {
  const annotations = { [RESULT]: resultFor([[1, 2], [0, 0], [3, 4]], { costs: [{ name: 'x', value: 1 }] }) }; // prettier-ignore
  const remembered = rememberedAnnotations(annotations);
  expect(remembered[RESULT]).toBe(
    '[{"name":"node1","type":"Node","resources":{"capacity":{"cpu":2}}},{"name":"node3","type":"Node","resources":{"capacity":{"cpu":4}}}]',
  );
  expect(resultOf(remembered)).toMatchObject({ ok: true, result: new Map([[1, 2], [3, 4]]) }); // prettier-ignore
});

test('a mirror has the uid of its static pod, unless the text is longer than a uid', () => {
  const mirrorOf = (hash: string) =>
    decisiveAnnotations({ 'kubernetes.io/config.mirror': hash, 'kubernetes.io/config.hash': hash }, []);
  expect(runtimeUidOf({ uid: 'mirror', annotations: mirrorOf('9d3c') })).toBe('9d3c');
  const forged = mirrorOf('9'.repeat(256 * 1024));
  expect(JSON.stringify(forged).length).toBeLessThan(400);
});
