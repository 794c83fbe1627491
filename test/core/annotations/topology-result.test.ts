import fc from 'fast-check';
import {
  parseTopologyResult,
  readTopologyResult,
  TOPOLOGY_RESULT,
} from '../../../src/core/annotations/topology-result';
import { buildTopology } from '../../../src/core/topology';

const zone = (name: unknown, cpu: unknown, more: object = {}) => ({
  name,
  type: 'Node',
  resources: { capacity: { cpu, memory: '1Gi' } },
  ...more,
});

function show(text: string): string {
  const parsed = parseTopologyResult(text);
  return parsed.ok ? [...parsed.result].map(([node, cpus]) => `${node}:${cpus}`).join(' ') : parsed.because;
}

test.each`
  name                                       | zones                                                            | want
  ${'one node'}                              | ${[zone('node0', '2')]}                                          | ${'0:2'}
  ${'several nodes in any order'}            | ${[zone('node1', '1'), zone('node0', '2')]}                      | ${'0:2 1:1'}
  ${'any four characters before the number'} | ${[zone('zone12', '2')]}                                         | ${'12:2'}
  ${'milli-CPUs that are whole'}             | ${[zone('node0', '2000m')]}                                      | ${'0:2'}
  ${'a quantity that is a number'}           | ${[zone('node0', 2)]}                                            | ${'0:2'}
  ${'a node without CPUs is left out'}       | ${[zone('node0', '0'), zone('node1', '3'), zone('node2', '0m')]} | ${'1:3'}
  ${'zones of other types are left out'}     | ${[zone('sock0', '9', { type: 'Socket' }), zone('node0', '1')]}  | ${'0:1'}
  ${'zones of other types may be malformed'} | ${[{ name: 'x', type: 'Core' }]}                                 | ${''}
  ${'no zones at all'}                       | ${[]}                                                            | ${''}
`('$name', ({ zones, want }: { zones: unknown; want: string }) => {
  expect(show(JSON.stringify(zones))).toBe(want);
});

test.each`
  name                             | text                                                         | because
  ${'empty'}                       | ${''}                                                        | ${'"" is not JSON'}
  ${'JSON that is cut off'}        | ${'[{"name":"node0"'}                                        | ${'is not JSON'}
  ${'null'}                        | ${'null'}                                                    | ${'is not a list of zones'}
  ${'an object'}                   | ${'{"name":"node0","type":"Node"}'}                          | ${'is not a list of zones'}
  ${'a text'}                      | ${'"node0"'}                                                 | ${'is not a list of zones'}
  ${'zones that are null'}         | ${'[null]'}                                                  | ${'a zone without name or type'}
  ${'zones that are lists'}        | ${'[[]]'}                                                    | ${'a zone without name or type'}
  ${'no type'}                     | ${JSON.stringify([zone('node0', '1', { type: undefined })])} | ${'a zone without name or type'}
  ${'no name'}                     | ${JSON.stringify([zone(undefined, '1')])}                    | ${'a zone without name or type'}
  ${'a name that is a number'}     | ${JSON.stringify([zone(10000, '1')])}                        | ${'a zone without name or type'}
  ${'a name that is too short'}    | ${JSON.stringify([zone('n0', '1')])}                         | ${'"n0" has no node number'}
  ${'a name without a number'}     | ${JSON.stringify([zone('node', '1')])}                       | ${'"node" has no node number'}
  ${'the community’s name'}        | ${JSON.stringify([zone('node-1', '1')])}                     | ${'"node-1" has no node number'}
  ${'a sign'}                      | ${JSON.stringify([zone('node+1', '1')])}                     | ${'has no node number'}
  ${'a number that is too long'}   | ${JSON.stringify([zone(`node${'1'.repeat(400)}`, '1')])}     | ${'has no node number'}
  ${'a hexadecimal number'}        | ${JSON.stringify([zone('node0x1', '1')])}                    | ${'has no node number'}
  ${'a number and more'}           | ${JSON.stringify([zone('node1\n', '1')])}                    | ${'has no node number'}
  ${'no capacity'}                 | ${JSON.stringify([zone('node0', '1', { resources: {} })])}   | ${'does not name a whole number'}
  ${'resources that are null'}     | ${JSON.stringify([zone('node0', '1', { resources: null })])} | ${'does not name a whole number'}
  ${'no cpu'}                      | ${JSON.stringify([zone('node0', undefined)])}                | ${'does not name a whole number'}
  ${'a fraction'}                  | ${JSON.stringify([zone('node0', '1.5')])}                    | ${'does not name a whole number'}
  ${'milli-CPUs not whole'}        | ${JSON.stringify([zone('node0', '1500m')])}                  | ${'does not name a whole number'}
  ${'below zero'}                  | ${JSON.stringify([zone('node0', '-1')])}                     | ${'does not name a whole number'}
  ${'below zero, as a number'}     | ${JSON.stringify([zone('node0', -1)])}                       | ${'does not name a whole number'}
  ${'an exponent'}                 | ${JSON.stringify([zone('node0', '1e3')])}                    | ${'does not name a whole number'}
  ${'more than any machine has'}   | ${JSON.stringify([zone('node0', '100000')])}                 | ${'does not name a whole number'}
  ${'true'}                        | ${JSON.stringify([zone('node0', true)])}                     | ${'does not name a whole number'}
  ${'a list'}                      | ${JSON.stringify([zone('node0', ['1'])])}                    | ${'does not name a whole number'}
  ${'a node twice'}                | ${JSON.stringify([zone('node0', '1'), zone('node00', '1')])} | ${'node 0 is named twice'}
  ${'too many zones'}              | ${JSON.stringify(Array.from({ length: 257 }, () => 0))}      | ${'more than 256 zones'}
  ${'too long'}                    | ${JSON.stringify([zone('node0', '1')]) + ' '.repeat(16_384)} | ${'longer than 16384 characters'}
  ${'nested too deep'}             | ${'['.repeat(10_000)}                                        | ${'nested deeper than 16'}
  ${'nested too deep, and closed'} | ${'['.repeat(8_000) + ']'.repeat(8_000)}                     | ${'nested deeper than 16'}
`('a result is ignored: $name', ({ text, because }: { text: string; because: string }) => {
  const parsed = parseTopologyResult(text);
  expect(parsed).toEqual({ ok: false, because: expect.stringContaining(because) });
  expect(parsed.ok || parsed.because.length).toBeLessThan(250);
});

test('any text gives whole CPUs of nodes or a reason, and never throws', () => {
  const text = fc.oneof(
    fc.json(),
    fc.string(),
    fc.json().map((json) => `[{"type":"Node","name":"node1","resources":${json}}]`),
  );
  fc.assert(
    fc.property(text, (given) => {
      const parsed = parseTopologyResult(given);
      if (parsed.ok) for (const [node, cpus] of parsed.result) expect([node >= 0, cpus > 0]).toEqual([true, true]);
    }),
    { seed: 20_261_121, numRuns: 2_000 },
  );
});

describe('a well-formed result', () => {
  const topology = buildTopology({
    cpus: Array.from({ length: 8 }, (_, id) => ({ id, core: id, socket: 0, numaNode: id >> 2, uncoreCache: 0 })),
  });
  const read = (zones: object[], podCpus: number | undefined, count = 2) => {
    const pod = { annotations: { [TOPOLOGY_RESULT]: JSON.stringify(zones) } };
    const podMilliCpu = podCpus === undefined ? undefined : podCpus * 1000;
    const { result, remarks } = readTopologyResult(topology, pod, { count, container: { name: 'db' }, podMilliCpu });
    return result ? [...result].join(' ') : remarks.map(({ because }) => because).join('; ');
  };

  test.each`
    name                                                                   | zones                                       | podCpus      | count | want
    ${'as much as the container asks for'}                                 | ${[zone('node0', '2')]}                     | ${0}         | ${2}  | ${'0,2'}
    ${'as much as the pod asks for'}                                       | ${[zone('node0', '2'), zone('node1', '1')]} | ${3}         | ${2}  | ${'0,2 1,1'}
    ${'as much as the pod asks for, rounded down'}                         | ${[zone('node0', '3')]}                     | ${3.2}       | ${2}  | ${'0,3'}
    ${'a pod with more CPUs than shares can express'}                      | ${[zone('node0', '300')]}                   | ${undefined} | ${2}  | ${'0,300'}
    ${'a result without zones'}                                            | ${[]}                                       | ${2}         | ${2}  | ${''}
    ${'not: more than the pod asks for'}                                   | ${[zone('node0', '4')]}                     | ${3}         | ${2}  | ${'it names 4 in all, but the pod asks for 3 CPUs; CPUs are chosen here instead'}
    ${'not: more than the container asks for, without the sum of the pod'} | ${[zone('node0', '4')]}                     | ${0}         | ${2}  | ${'it names 4 in all, but the pod asks for 2 CPUs; CPUs are chosen here instead'}
    ${'not: fewer than the container asks for'}                            | ${[zone('node0', '1')]}                     | ${3}         | ${2}  | ${'it names 1 in all, but container db alone asks for 2 CPUs; CPUs are chosen here instead'}
    ${'not: a node that the machine does not have'}                        | ${[zone('node2', '2')]}                     | ${2}         | ${2}  | ${'this machine has no NUMA node 2; CPUs are chosen here instead'}
  `(
    '$name',
    ({
      zones,
      podCpus,
      count,
      want,
    }: {
      zones: object[];
      podCpus: number | undefined;
      count: number;
      want: string;
    }) => {
      expect(read(zones, podCpus, count)).toBe(want);
    },
  );
});
