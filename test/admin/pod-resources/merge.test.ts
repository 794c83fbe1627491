import * as pb from '../../../gen/podresources/v1/podresources';
import { mergeAllocatable, mergePods } from '../../../src/admin/pod-resources/merge';

const memory = (memoryType: string, size: bigint) => pb.ContainerMemory.create({ memoryType, size });
const devices = [pb.ContainerDevices.create({ resourceName: 'vendor/nic', deviceIds: ['1'] })];

const pod = (name: string, container: Partial<pb.ContainerResources>) =>
  pb.PodResources.create({
    name,
    namespace: 'ns',
    containers: [pb.ContainerResources.create({ name: 'c', ...container })],
  });

test('a container of both sides has devices and huge pages of the kubelet, and CPUs and memory of cpusetd', () => {
  const kubelet = pod('p', { devices, cpuIds: [9n], memory: [memory('memory', 1n), memory('hugepages-2Mi', 2n)] });
  const own = pod('p', { cpuIds: [1n, 2n], memory: [memory('memory', 5n)] });
  expect(mergePods([kubelet], [own])).toEqual([
    pod('p', { devices, cpuIds: [1n, 2n], memory: [memory('memory', 5n), memory('hugepages-2Mi', 2n)] }),
  ]);
});

test('pods of one side are kept, those of the kubelet first', () => {
  const names = mergePods([pod('kubelet', {}), pod('both', {})], [pod('both', {}), pod('own', {})]).map(
    ({ name }) => name,
  );
  expect(names).toEqual(['kubelet', 'both', 'own']);
});

test('allocatable resources have the devices of the kubelet and the CPUs of cpusetd', () => {
  const merged = mergeAllocatable(
    pb.AllocatableResourcesResponse.create({ devices, cpuIds: [0n] }),
    pb.AllocatableResourcesResponse.create({ cpuIds: [1n], memory: [memory('memory', 5n)] }),
  );
  expect(merged).toEqual(
    pb.AllocatableResourcesResponse.create({ devices, cpuIds: [1n], memory: [memory('memory', 5n)] }),
  );
});
