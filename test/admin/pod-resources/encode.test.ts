import { encodeAllocatable, encodePods } from '../../../src/admin/pod-resources/encode';
import { SampleBackend } from '../sample-status';

const resources = new SampleBackend().podResources();

test('each pod has the CPUs that its containers share, and each container its own CPUs and memory', () => {
  const pods = encodePods(resources);
  expect(pods.map(({ name, cpuIds }) => [name, cpuIds])).toEqual([
    ['web', []],
    ['job', [4n, 5n]],
  ]);
  expect(pods[0]!.containers[0]).toMatchObject({
    name: 'app',
    cpuIds: [2n, 3n],
    memory: [{ memoryType: 'memory', size: 2n ** 32n, topology: { nodes: [{ ID: 0n }, { ID: 1n }] } }],
  });
});

test('allocatable resources are all allocatable CPUs and memory', () => {
  expect(encodeAllocatable(resources)).toMatchObject({
    cpuIds: [1n, 2n, 3n, 4n, 5n, 6n, 7n],
    memory: [{ size: 2n ** 33n, topology: { nodes: [{ ID: 0n }] } }],
  });
});
