import { readKubeletConfig } from '../../../src/kube/kubelet/kubelet-config';
import { reservedByCrane, reservedByKubelet } from '../../../src/kube/kubelet/reserved-memory';

const KIND = { kind: 'KubeletConfiguration' };
const NOTHING = { cpuManagerPolicy: 'none', reservedMilliCpu: 0 } as const;
const [MIB, GIB] = [2 ** 20, 2 ** 30];

test.each<[string, unknown, object]>([
  ['nothing reserved', KIND, NOTHING],
  ['a list', { ...KIND, reservedSystemCPUs: ' 0-1,8 ' }, { ...NOTHING, reservedSystemCpus: '0-1,8' }],
  [
    'both reservations together, resource by resource',
    {
      ...KIND,
      kubeReserved: { cpu: '500m', memory: '1Gi', pid: '100' },
      systemReserved: { cpu: 1, memory: '512Mi', 'ephemeral-storage': '2Gi' },
    },
    {
      ...NOTHING,
      reservedMilliCpu: 1500,
      reserved: { memory: 1.5 * GIB, 'ephemeral-storage': 2 * GIB, pid: 100 },
    },
  ],
  ['static', { ...KIND, cpuManagerPolicy: 'static' }, { ...NOTHING, cpuManagerPolicy: 'static' }],
  [
    'managers of memory and of NUMA nodes',
    { ...KIND, memoryManagerPolicy: 'Static', topologyManagerPolicy: 'restricted' },
    { ...NOTHING, memoryManagerPolicy: 'Static', topologyManagerPolicy: 'restricted' },
  ],
  ['the same, off', { ...KIND, memoryManagerPolicy: 'None', topologyManagerPolicy: 'none' }, NOTHING],
  ['the same, as no kubelet has them', { ...KIND, memoryManagerPolicy: 'static', topologyManagerPolicy: 1 }, NOTHING],
  [
    'where its pods are',
    { ...KIND, cgroupRoot: '/system', cgroupDriver: 'systemd', cgroupsPerQOS: false },
    { ...NOTHING, cgroupRoot: '/system', cgroupDriver: 'systemd', cgroupsPerQos: false },
  ],
  ['a driver that no kubelet has', { ...KIND, cgroupRoot: '', cgroupDriver: 'x', cgroupsPerQOS: true }, NOTHING],
  ['the answer of configz', { kubeletconfig: { reservedSystemCPUs: '0' } }, { ...NOTHING, reservedSystemCpus: '0' }],
  [
    'the memory manager’s reservation',
    {
      ...KIND,
      reservedMemory: [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '1Gi' } },
        { numaNode: 1, limits: { memory: '100Mi' } },
        { numaNode: 2, limits: { 'hugepages-1Gi': '1Gi' } },
      ],
    },
    { ...NOTHING, reservedMemory: { 0: GIB, 1: 100 * MIB } },
  ],
  [
    'eviction at an amount',
    { ...KIND, evictionHard: { 'memory.available': '1Gi' } },
    { ...NOTHING, evictionMemory: GIB },
  ],
  [
    'eviction at a percentage',
    { ...KIND, evictionHard: { 'memory.available': '5%' } },
    { ...NOTHING, evictionMemory: '5%' },
  ],
  [
    'eviction, but not for memory',
    { ...KIND, evictionHard: { 'nodefs.available': '5%' } },
    { ...NOTHING, evictionMemory: 0 },
  ],
])('%s', (_name, document, config) => {
  expect(readKubeletConfig(document)).toEqual(config);
});

test.each<[string, object, RegExp]>([
  [
    'a name that can’t be reserved',
    { kubeReserved: { gpu: '1' } },
    /^kubeReserved names "gpu"; the kubelet reserves only cpu, memory, ephemeral-storage, pid$/,
  ],
  [
    'a negative amount',
    { systemReserved: { memory: '-1Gi' } },
    /^systemReserved\.memory is "-1Gi", which is negative; write it like/,
  ],
  ['negative CPU', { kubeReserved: { cpu: '-100m' } }, /^kubeReserved\.cpu is "-100m", which is negative/],
  [
    'a text that is no quantity',
    { kubeReserved: { cpu: 'much' } },
    /^kubeReserved\.cpu is "much", which is no quantity/,
  ],
  ['a list', { kubeReserved: { memory: ['1Gi'] } }, /^kubeReserved\.memory is \["1Gi"\], which is no quantity/],
  [
    'an invalid threshold',
    { evictionHard: { 'memory.available': 'low' } },
    /^evictionHard\["memory\.available"\] is "low"/,
  ],
  [
    'a node’s memory',
    { reservedMemory: [{ numaNode: 0, limits: { memory: '-1' } }] },
    /^reservedMemory\[0\]\.limits\.memory is "-1"/,
  ],
])('%s is an error that names it', (_name, fields, message) => {
  expect(() => readKubeletConfig({ ...KIND, ...fields })).toThrow(message);
});

test.each([undefined, null, 'text', [], {}, { kind: 'Config' }, { kind: 'Pod' }])(
  '%j is no configuration',
  (document) => {
    expect(readKubeletConfig(document)).toBeUndefined();
  },
);

describe('the part of the reservation on each NUMA node', () => {
  const memory = new Map([
    [0, GIB],
    [1, 4 * GIB],
  ]);
  test.each<[string, object, [number, number], [number, number]]>([
    ['no reservation: the kubelet’s default threshold of eviction', {}, [0, 0], [100 * MIB, 0]],
    ['both reservations', { reserved: { memory: 2 * GIB } }, [GIB, GIB], [GIB, GIB + 100 * MIB]],
    ['another threshold', { reserved: { memory: 512 * MIB }, evictionMemory: GIB }, [512 * MIB, 0], [GIB, 512 * MIB]],
    ['a percentage of all memory', { evictionMemory: '10%' }, [0, 0], [512 * MIB, 0]],
    ['node by node', { reserved: { memory: GIB }, reservedMemory: { 1: 300 * MIB } }, [GIB, 0], [0, 300 * MIB]],
  ])('%s', (_name, config, crane, kubelet) => {
    expect([...reservedByCrane({ ...NOTHING, ...config }, memory).values()]).toEqual(crane);
    expect([...reservedByKubelet({ ...NOTHING, ...config }, memory).values()]).toEqual(kubelet);
  });
});
