import { PLAIN_RULES, useOf, type NodeRules } from '../../../../src/core/fit';
import { announcementOf, readPod } from '../../../../src/kube';
import { announcedTo, BoundPodReader } from '../../../../src/scheduling/extender/cluster/bound-pod';

interface Made {
  readonly name: string;
  readonly cpus?: number;
  readonly zone?: string;
  readonly memory?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly containers?: number;
}

/** A pod on node `a` with a result for its CPUs in one zone. */
function podObject({ name, cpus = 2, zone = 'node0', memory = '1Gi', annotations = {}, containers = 1 }: Made): object {
  const amounts = { cpu: String(cpus), memory };
  const result = [{ name: zone, type: 'Node', resources: { capacity: { cpu: String(cpus), memory } } }];
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `uid-${name}`,
      annotations: { 'topology.crane.io/topology-result': JSON.stringify(result), ...annotations },
    },
    spec: {
      nodeName: 'a',
      containers: Array.from({ length: containers }, (_, i) => ({
        name: `main-${i}`,
        resources: { requests: amounts, limits: amounts },
      })),
    },
  };
}

test('given pods of one template, then what they announce is kept once, and each has its names', () => {
  const reader = new BoundPodReader();
  const [first, second] = [reader.read(podObject({ name: 'one' })), reader.read(podObject({ name: 'other' }))];
  expect(second!.announced).toBe(first!.announced);
  expect([first!.name, second!.name, second!.uid]).toEqual(['one', 'other', 'uid-other']);
});

test.each<[string, Omit<Made, 'name'>]>([
  ['more CPUs', { cpus: 3 }],
  ['another zone', { zone: 'node1' }],
  ['more of another resource', { memory: '2Gi' }],
  ['another policy', { annotations: { 'topology.crane.io/cpu-policy': 'none' } }],
])('given a pod with %s, then it announces something else', (_name, made) => {
  const reader = new BoundPodReader();
  const pod = reader.read(podObject({ name: 'one' }))!;
  expect(reader.read(podObject({ name: 'other', ...made }))!.announced).not.toBe(pod.announced);
});

test('given a node that leaves pods of some name alone, then each pod counts by its own name', () => {
  const reader = new BoundPodReader();
  const rules: NodeRules = {
    ...PLAIN_RULES,
    leaveAlone: [{ text: 'default/left-*', namespace: 'default', pod: 'left-*' }],
  };
  const used = ['left-1', 'pinned-1'].map((name) => {
    const object = podObject({ name });
    const alone = announcementOf(readPod(object)!)!;
    const shared = announcedTo(rules, reader.read(object)!);
    expect(useOf(shared, rules)).toEqual(useOf(alone, rules));
    return useOf(shared, rules).get('node0')?.get('cpu');
  });
  expect(used).toEqual([undefined, 2_000]);
});

test('given more templates than are remembered, then the memory does not grow, and those that were used last are shared', () => {
  const reader = new BoundPodReader();
  const read = (cpus: number) => reader.read(podObject({ name: 'p', cpus }))!.announced;
  const [first, second] = [read(1), read(2)];
  for (let cpus = 3; cpus <= 2_048; cpus++) read(cpus);
  expect(read(1)).toBe(first);
  read(2_049);
  expect(read(2)).not.toBe(second);
  expect(read(1)).toBe(first);
});

test('given an announcement of some kilobytes, then nothing of it is kept for others', () => {
  const reader = new BoundPodReader();
  const [first, second] = ['one', 'other'].map((name) => reader.read(podObject({ name, containers: 64 }))!.announced);
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});
