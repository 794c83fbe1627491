import {
  ContainerConfig,
  CreateContainerRequest,
  LinuxContainerResources,
  UpdateContainerResourcesRequest,
} from '../../gen/cri/v1/cri';

/** The numbers of a Guaranteed container of so many CPUs. */
export const resourcesOf = (cpus: number): Partial<LinuxContainerResources> => ({
  cpuPeriod: 100_000n,
  cpuQuota: BigInt(cpus * 100_000),
  cpuShares: BigInt(cpus * 1024),
  memoryLimitInBytes: 1n << 26n,
  oomScoreAdj: -997n,
});

/** A request to create `pod/name` as the kubelet sends it; a share of a CPU makes its pod Burstable. */
export function createRequest(target: string, cpus: number): Uint8Array {
  const [uid = '', name = ''] = target.split('/');
  const parent = Number.isInteger(cpus) ? `/kubepods/pod${uid}` : `/kubepods/burstable/pod${uid}`;
  return CreateContainerRequest.encode(
    CreateContainerRequest.create({
      podSandboxId: `sandbox-${uid}`,
      config: ContainerConfig.create({
        metadata: { name, attempt: 0 },
        image: { image: 'an-image' },
        command: ['sleep', '1'],
        envs: [{ key: 'NOT_UTF8', value: new Uint8Array([0xff, 0xfe]) }],
        linux: { resources: LinuxContainerResources.create(resourcesOf(cpus)) },
      }),
      sandboxConfig: {
        metadata: { uid, name: uid, namespace: 'ns', attempt: 0 },
        annotations: { 'a.example/key': 'value', 'cpusetd.io/policy': 'none' },
        linux: { cgroupParent: parent, sysctls: {}, resources: LinuxContainerResources.create(resourcesOf(cpus)) },
      },
    }),
  ).finish();
}

export function updateRequest(containerId: string, linux: Partial<LinuxContainerResources>): Uint8Array {
  const request = { containerId, linux: LinuxContainerResources.create(linux), annotations: { k: 'v' } };
  return UpdateContainerResourcesRequest.encode(UpdateContainerResourcesRequest.create(request)).finish();
}
