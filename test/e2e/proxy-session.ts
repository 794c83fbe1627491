import {
  AttachRequest,
  CheckpointContainerRequest,
  ContainerEventResponse,
  ContainerEventType,
  ContainerStatsRequest,
  ContainerStatusRequest,
  ExecRequest,
  ExecSyncRequest,
  ImageStatusRequest,
  ListContainersRequest,
  PodSandboxStatsRequest,
  PodSandboxStatusRequest,
  PortForwardRequest,
  PullImageRequest,
  RemoveImageRequest,
  ReopenContainerLogRequest,
  StatusRequest,
  StopContainerRequest,
  UpdateContainerResourcesRequest,
  UpdatePodSandboxResourcesRequest,
  UpdateRuntimeConfigRequest,
  VersionRequest,
} from '../gen/cri/v1/cri';
import { collect, type Outcome, TestClient } from '../cri/proxy/harness';
import { type ContainerSpec, type Kubelet, printMaskThenSleep, waitUntil } from './rig';

const RUNTIME = '/runtime.v1.RuntimeService/';
const IMAGES = '/runtime.v1.ImageService/';

/** Methods that no release of CRI has. */
export const INVENTED = [`${RUNTIME}Invented`, `${IMAGES}Invented`, '/made.up.v9.Service/Method'];

interface Codec<Part, Message> {
  fromPartial(value: Part): Message;
  encode(value: Message): { finish(): Uint8Array };
}

function message<Part, Message>(codec: Codec<Part, Message>, value: Part): Uint8Array {
  return codec.encode(codec.fromPartial(value)).finish();
}

export interface SessionParts {
  readonly socket: string;
  readonly kubelet: Kubelet;
  readonly container: ContainerSpec;
  /** An image in a registry of this machine. */
  readonly image: string;
  /**
   * False when container events may not arrive: containerd 1.7 sends each to one subscriber only, even to one that is
   * gone.
   */
  readonly awaitsEvents: boolean;
}

/** Calls every method of CRI once in the life of a pod on a real runtime, and methods that CRI does not have. */
export async function runSession({ socket, kubelet, container, image, awaitsEvents }: SessionParts): Promise<void> {
  const client = new TestClient(socket);
  const call = (path: string, bytes: Uint8Array = new Uint8Array()): Promise<Outcome> => client.run(path, [bytes]);
  const events = client.open(`${RUNTIME}GetContainerEvents`);
  const seen: ContainerEventResponse[] = [];
  events.on('data', (bytes: Buffer) => seen.push(ContainerEventResponse.decode(bytes)));
  const eventsEnd = collect(events);
  events.write(Buffer.alloc(0));
  events.end();
  try {
    await call(`${RUNTIME}Version`, message(VersionRequest, { version: 'v1' }));
    await call(`${RUNTIME}Status`, message(StatusRequest, { verbose: true }));
    await call(`${RUNTIME}RuntimeConfig`);
    const runtimeConfig = { runtimeConfig: { networkConfig: { podCidr: '10.9.0.0/24' } } };
    await call(`${RUNTIME}UpdateRuntimeConfig`, message(UpdateRuntimeConfigRequest, runtimeConfig));

    const named = { image: { image } };
    await call(`${IMAGES}PullImage`, message(PullImageRequest, named));
    await call(`${IMAGES}ListImages`);
    const status = { ...named, verbose: true };
    await call(`${IMAGES}ImageStatus`, message(ImageStatusRequest, status));
    await call(`${IMAGES}ImageFsInfo`);
    await call(`${IMAGES}RemoveImage`, message(RemoveImageRequest, named));
    await call(`${IMAGES}ImageStatus`, message(ImageStatusRequest, status));
    const missing = { image: { image: image.replace('nothing:v1', 'nothing:v2') } };
    await call(`${IMAGES}PullImage`, message(PullImageRequest, missing));
    await call(`${IMAGES}StreamImages`);

    const pod = await kubelet.runPod({
      containers: [container, { ...container, name: 'no-image', command: printMaskThenSleep }],
    });
    const sandbox = { podSandboxId: pod.id };
    const main = await pod.startContainer(container.name);
    const { id: containerId } = main;
    await main.firstLine();
    await call(`${RUNTIME}PodSandboxStatus`, message(PodSandboxStatusRequest, { ...sandbox, verbose: true }));
    for (const method of ['ListPodSandbox', 'ListContainers', 'StreamPodSandboxes', 'StreamContainers'])
      await call(`${RUNTIME}${method}`);
    await call(`${RUNTIME}ListContainers`, message(ListContainersRequest, { filter: sandbox }));
    for (const id of [containerId, 'nobody'])
      await call(`${RUNTIME}ContainerStatus`, message(ContainerStatusRequest, { containerId: id, verbose: true }));
    const update = { containerId, linux: { cpuShares: 2048n } };
    await call(`${RUNTIME}UpdateContainerResources`, message(UpdateContainerResourcesRequest, update));
    await call(`${RUNTIME}UpdatePodSandboxResources`, message(UpdatePodSandboxResourcesRequest, sandbox));
    await call(`${RUNTIME}ReopenContainerLog`, message(ReopenContainerLogRequest, { containerId }));
    for (const cmd of [
      ['sh', '-c', 'echo out; echo err >&2; exit 3'],
      ['sh', '-c', 'head -c 3000000 /dev/zero'],
      ['/no/such/file'],
    ]) {
      const request = { containerId, cmd, timeout: 20n };
      await call(`${RUNTIME}ExecSync`, message(ExecSyncRequest, request));
    }
    const streams = { tty: false, stdin: true, stdout: true, stderr: true };
    await call(`${RUNTIME}Exec`, message(ExecRequest, { containerId, cmd: ['true'], ...streams }));
    await call(`${RUNTIME}Attach`, message(AttachRequest, { containerId, ...streams }));
    await call(`${RUNTIME}PortForward`, message(PortForwardRequest, { ...sandbox, port: [80] }));
    await call(`${RUNTIME}ContainerStats`, message(ContainerStatsRequest, { containerId }));
    await call(`${RUNTIME}PodSandboxStats`, message(PodSandboxStatsRequest, sandbox));
    for (const method of [
      ...['ListContainerStats', 'ListPodSandboxStats', 'ListMetricDescriptors', 'ListPodSandboxMetrics'],
      ...['StreamContainerStats', 'StreamPodSandboxStats', 'StreamPodSandboxMetrics', 'CheckpointPod', 'RestorePod'],
    ])
      await call(`${RUNTIME}${method}`);
    const checkpoint = { containerId, location: '/no/such/folder/c.tar', timeout: 1n };
    await call(`${RUNTIME}CheckpointContainer`, message(CheckpointContainerRequest, checkpoint));
    for (const path of INVENTED) await call(path, Buffer.from('anything'));

    await call(`${RUNTIME}StopContainer`, message(StopContainerRequest, { containerId, timeout: 0n }));
    await main.remove();
    await pod.remove();
    if (awaitsEvents)
      await waitUntil('the deletion to be announced', () =>
        seen.some(
          (event) =>
            event.containerId === containerId &&
            event.containerEventType === ContainerEventType.CONTAINER_DELETED_EVENT,
        ),
      );
  } finally {
    events.cancel();
    await eventsEnd;
    client.grpc.close();
  }
}
