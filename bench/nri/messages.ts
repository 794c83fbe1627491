import {
  CreateContainerRequest,
  RemovePodSandboxRequest,
  RunPodSandboxRequest,
  StopContainerRequest,
  type Container,
  type PodSandbox,
} from '../../gen/nri/v1alpha1/nri';
import { makeContainer, makePod } from '../../test/support/nri-runtime-model';

/** The usual fields of a container in a cluster: its request then has the size and the many fields of a real one. */
const MOUNTS = [
  ...['/proc', '/dev', '/dev/pts', '/dev/shm', '/dev/mqueue', '/sys', '/sys/fs/cgroup', '/etc/hosts', '/etc/hostname'],
  ...['/etc/resolv.conf', '/dev/termination-log', '/data', '/cache', '/config', '/certs'],
  '/var/run/secrets/kubernetes.io/serviceaccount',
];
const ENV = [
  'POSTGRES',
  'KUBERNETES',
  'REDIS',
  'METRICS',
  'TRACING',
  'GATEWAY',
  'SEARCH',
  'QUEUE',
  'MAIL',
  'AUDIT',
].flatMap((name) => [
  `${name}_SERVICE_HOST=10.96.0.1`,
  `${name}_SERVICE_PORT=443`,
  `${name}_PORT_443_TCP=tcp://10.96.0.1:443`,
  `${name}_PORT_443_TCP_PROTO=tcp`,
]);
const NAMESPACES = ['pid', 'ipc', 'uts', 'mount', 'network'];

/** A pod of a kind: `exclusive` is Guaranteed with one whole CPU, `shared` is Burstable. */
export type Kind = 'exclusive' | 'shared';

export interface Subject {
  readonly pod: PodSandbox;
  readonly container: Container;
}

/** A pod with one container; its number makes it unique. */
export function makeSubject(kind: Kind, number: number): Subject {
  const pod = makePod({ name: `${kind}-${number}`, qos: kind === 'exclusive' ? 'guaranteed' : 'burstable' });
  const size = kind === 'exclusive' ? { milliCpu: 1000, memoryBytes: 64 << 20 } : { milliCpu: 100 };
  const container = makeContainer(pod, { name: 'main', ...size });
  container.env.push(...ENV);
  const { mounts } = container;
  container.mounts = MOUNTS.map((destination) => ({
    ...mounts[0]!,
    destination,
    type: 'bind',
    source: `/var/lib/kubelet/pods/${pod.uid}/volumes${destination}`,
    options: ['rbind', 'rprivate', 'rw'],
  }));
  container.linux!.namespaces = NAMESPACES.map((type) => ({ type, path: `/proc/4242/ns/${type}` }));
  return { pod, container };
}

/** The bytes of a CreateContainer request. */
export function encodeCreate({ pod, container }: Subject): Uint8Array {
  return CreateContainerRequest.encode(CreateContainerRequest.create({ pod, container })).finish();
}

/** The bytes of a RunPodSandbox request. */
export function encodeRunPod({ pod }: Subject): Uint8Array {
  return RunPodSandboxRequest.encode({ pod }).finish();
}

/** The bytes of a StopContainer request. */
export function encodeStop({ pod, container }: Subject): Uint8Array {
  return StopContainerRequest.encode({ pod, container }).finish();
}

/** The bytes of a RemovePodSandbox request. */
export function encodeRemovePod({ pod }: Subject): Uint8Array {
  return RemovePodSandboxRequest.encode({ pod }).finish();
}
