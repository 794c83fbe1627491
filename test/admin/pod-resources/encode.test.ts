import { encodeAllocatable, encodePods } from '../../../src/admin/pod-resources/encode';
import { parseCpuList } from '../../../src/core/cpuset';
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

test('a pod whose containers share CPUs has those of each container too', () => {
  const containers = [{ container: 'app', cpus: parseCpuList('6'), memory: [] }];
  const shared = { cpus: parseCpuList('4-5'), memory: [] };
  const [job] = encodePods({ ...resources, pods: [{ namespace: 'default', pod: 'job', shared, containers }] });
  expect(job).toMatchObject({ cpuIds: [4n, 5n, 6n], containers: [{ cpuIds: [6n] }] });
});

test('allocatable resources are all allocatable CPUs and memory', () => {
  expect(encodeAllocatable(resources)).toMatchObject({
    cpuIds: [1n, 2n, 3n, 4n, 5n, 6n, 7n],
    memory: [{ size: 2n ** 33n, topology: { nodes: [{ ID: 0n }] } }],
  });
});
