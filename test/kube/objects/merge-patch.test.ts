import { createMergePatch } from '../../../src/kube/objects/merge-patch';
import { semanticEqual } from '../../../src/kube/objects/semantic-equal';
import { mergePatch } from '../../support/kube/merge-patch';
import { createRandom, type Random } from '../../support/random';

type Json = Record<string, unknown>;

test.each<[string, Json, Json, Json]>([
  ['equal objects need no patch', { a: 1 }, { a: 1 }, {}],
  ['a key of another writer stays', { a: 1, theirs: 2 }, { a: 1 }, {}],
  [
    'a removed key in an object of cpusetd',
    { reserved: { cpu: '2', memory: '1Gi' } },
    { reserved: { cpu: '2' } },
    { reserved: { memory: null } },
  ],
  [
    'a new key in an object of cpusetd',
    { reserved: { cpu: '2' } },
    { reserved: { cpu: '2', pid: '5' } },
    { reserved: { pid: '5' } },
  ],
  ['a quantity in another spelling', { reserved: { cpu: '2000m' } }, { reserved: { cpu: '2' } }, {}],
  ['another quantity', { reserved: { cpu: '2000m' } }, { reserved: { cpu: '3' } }, { reserved: { cpu: '3' } }],
  ['a text that becomes empty', { attributes: { a: '0' } }, { attributes: { a: '' } }, { attributes: { a: '' } }],
  ['a field that is not there yet', {}, { zones: [{ name: 'node0' }] }, { zones: [{ name: 'node0' }] }],
  ['a list is replaced as a whole', { zones: [1, 2] }, { zones: [2] }, { zones: [2] }],
  [
    'a list that means the same',
    { zones: [{ resources: { capacity: { cpu: 2 } } }] },
    { zones: [{ resources: { capacity: { cpu: '2' } } }] },
    {},
  ],
  ['a value of another type', { reserved: 'x' }, { reserved: { cpu: '1' } }, { reserved: { cpu: '1' } }],
  ['fields that are empty on both sides', { attributes: {} }, { attributes: { a: '' } }, {}],
])('%s', (_name, stored, wanted, patch) => {
  expect(createMergePatch(stored, wanted)).toEqual(patch);
});

test('a patched object has the wanted values and the keys of others, and needs no second patch', () => {
  const random = createRandom(11);
  for (let round = 0; round < 3_000; round++) {
    const [stored, wanted] = [randomObject(random, 3), randomObject(random, 3)];
    const patched = mergePatch(stored, createMergePatch(stored, wanted)) as Json;
    for (const [key, value] of Object.entries(wanted))
      expect([key, semanticEqual({ [key]: patched[key] }, { [key]: value })]).toEqual([key, true]);
    for (const [key, value] of Object.entries(stored)) if (!(key in wanted)) expect(patched[key]).toEqual(value);
    expect(createMergePatch(patched, wanted)).toEqual({});
  }
});

function randomObject(random: Random, depth: number): Json {
  const names = ['a', 'b', 'reserved', 'zones'].filter(() => random.chance(0.6));
  return Object.fromEntries(names.map((name) => [name, randomValue(random, depth)]));
}

function randomValue(random: Random, depth: number): unknown {
  if (depth > 0 && random.chance(0.5)) return randomObject(random, depth - 1);
  if (depth > 0 && random.chance(0.3))
    return Array.from({ length: random.int(0, 2) }, () => randomValue(random, depth - 1));
  return random.pick(['', '1', '1000m', '2', 'text']);
}
