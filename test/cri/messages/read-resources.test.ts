import { LinuxContainerResources } from '../../../gen/cri/view/view';
import { readResources, toCpuResources, type Resources } from '../../../src/cri/messages/read-resources';
import { ProtobufReader } from '../../../src/wire/protobuf';

/** The message as a field with its length in front. */
function embed(message: Partial<LinuxContainerResources>): ProtobufReader {
  const bytes = LinuxContainerResources.encode(LinuxContainerResources.fromPartial(message)).finish();
  return ProtobufReader.of(Buffer.concat([Buffer.of(bytes.length), bytes]));
}

test('all fields of LinuxContainerResources that decide are read', () => {
  const resources: Resources = {};
  const message = { cpuPeriod: 100_000n, cpuQuota: -1n, cpuShares: 2048n, memoryLimitInBytes: 64n, oomScoreAdj: -997n };
  readResources(embed({ ...message, cpusetCpus: '0-1', cpusetMems: '0' }), resources);
  expect(resources).toEqual({
    periodUs: 100_000,
    quotaUs: -1,
    shares: 2048,
    memoryLimitBytes: 64,
    oomScoreAdj: -997,
    cpus: '0-1',
    mems: '0',
  });
});

test('a second message changes only the fields that it has', () => {
  const resources: Resources = { shares: 1024, cpus: '0' };
  readResources(embed({ cpuShares: 2048n }), resources);
  expect(resources).toEqual({ shares: 2048, cpus: '0' });
});

test('limits of huge pages are read; those of 0, which the kubelet sends for every other size, are left out', () => {
  const resources: Resources = {};
  const hugepageLimits = [
    { pageSize: '1GB', limit: 0n },
    { pageSize: '2MB', limit: 4_194_304n },
    { pageSize: '64KB', limit: 2n ** 64n - 1n },
    { pageSize: 'many', limit: 5n },
  ];
  readResources(embed({ hugepageLimits }), resources);
  expect(toCpuResources(resources)).toEqual({ hugePages: { 'hugepages-2Mi': 4_194_304 } });
  readResources(embed({ hugepageLimits: [{ pageSize: '2MB', limit: 0n }] }), resources);
  expect(toCpuResources(resources)).toEqual({});
});

test('zero and the empty text count as not set', () => {
  expect(toCpuResources({ shares: 0, quotaUs: -1, cpus: '', mems: '0', oomScoreAdj: 5 })).toEqual({
    quotaUs: -1,
    mems: '0',
  });
});
