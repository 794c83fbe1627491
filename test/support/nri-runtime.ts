import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';

import {
  Container,
  ContainerState,
  CreateContainerResponse,
  Event,
  LinuxResources,
  PodSandbox,
  RegisterPluginRequest,
  StopContainerResponse,
  UpdateContainerRequest,
  UpdateContainerResponse,
} from '../../gen/nri/v1alpha1/nri';
import { parseCpuList } from '../../src/core/cpuset';
import { StatusCode, TtrpcError } from '../../src/wire';
import {
  applyUpdates,
  isListed,
  makeContainer,
  makePod,
  mergeCpu,
  type ContainerSpec,
  type PodSpec,
} from './nri-runtime-model';
import { NriRuntimePeer, type PeerOptions, type StateChangeSubject } from './nri-runtime-peer';

export interface NriRuntimeOptions extends Partial<PeerOptions> {
  readonly socketPath: string;
  /** CPUs of the machine: a container whose cpuset names another one does not start, as with runc. Default: any. */
  readonly onlineCpus?: string;
}

const DEFAULTS: PeerOptions = {
  name: 'containerd',
  version: '2.3.4',
  nriVersion: 'v0.12.0',
  // Long, so that no test fails because its machine is slow.
  requestTimeoutMs: 60_000,
  registrationTimeoutMs: 60_000,
  maxListed: 1000,
  keepsLatePlugins: false,
  cannotSynchronize: () => false,
  hasDedicatedMethods: true,
  configuresFirst: false,
};

/**
 * A fake container runtime for NRI plugins: real socket, real frames, the order of events, the deadlines and the
 * failures of containerd, and a table instead of processes.
 *
 * Emits `synchronized` with the {@link NriRuntimePeer} of a plugin that is served from now on, and `dropped` with it
 * when that has ended.
 */
export class NriRuntime extends EventEmitter<{ synchronized: [NriRuntimePeer]; dropped: [NriRuntimePeer] }> {
  readonly pods = new Map<string, PodSandbox>();
  readonly containers = new Map<string, Container>();
  private readonly peers = new Set<NriRuntimePeer>();
  private readonly sockets = new Set<Socket>();
  private readonly options: PeerOptions;
  /** The last request in the queue: requests of a node are serial, synchronization included. */
  private turn: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly server: Server,
    private readonly onlineCpus: string | undefined,
    options: Partial<PeerOptions>,
  ) {
    super();
    this.options = { ...DEFAULTS, ...options };
    server.on('connection', (socket) => this.welcome(socket));
  }

  /** Listens on the socket path. Removes a socket that is left over there, as runtimes do. */
  static async listen({ socketPath, onlineCpus, ...options }: NriRuntimeOptions): Promise<NriRuntime> {
    rmSync(socketPath, { force: true });
    const server = createServer();
    const runtime = new NriRuntime(server, onlineCpus, options);
    server.listen(socketPath);
    await once(server, 'listening');
    return runtime;
  }

  /** Stops as a runtime does: all connections break, and its socket refuses new ones. */
  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    for (const peer of this.peers) peer.drop('the runtime stops');
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Sets the time within which requests have to be answered. */
  grant(requestTimeoutMs: number): void {
    this.options.requestTimeoutMs = requestTimeoutMs;
  }

  /** Resolves with the plugin that is served, as soon as there is one. */
  async plugin(): Promise<NriRuntimePeer> {
    const [served] = this.served();
    if (served) return served;
    const [peer] = await once(this, 'synchronized');
    return peer as NriRuntimePeer;
  }

  /** Takes over the pods and containers of a former runtime, as after a restart; its plugins are not taken over. */
  adopt(former: NriRuntime): void {
    for (const [id, pod] of former.pods) this.pods.set(id, pod);
    for (const [id, container] of former.containers) this.containers.set(id, container);
  }

  async runPod(spec: PodSpec): Promise<PodSandbox> {
    return this.inTurn(async () => {
      const pod = makePod(spec);
      await this.sendEvent(Event.RUN_POD_SANDBOX, 'RunPodSandbox', { pod });
      this.pods.set(pod.id, pod);
      return pod;
    });
  }

  /**
   * Asks the plugins, applies their answers, and puts the container into the table. Rejects with the plugin's status;
   * plugins then receive the end of the container.
   */
  async createContainer(pod: PodSandbox, spec: ContainerSpec): Promise<Container> {
    return this.inTurn(async () => {
      const container = makeContainer(pod, spec);
      try {
        await this.askForAdjustment({ pod, container });
      } catch (error) {
        await this.sendIgnoringErrors(Event.STOP_CONTAINER, 'StopContainer', { pod, container });
        await this.sendIgnoringErrors(Event.REMOVE_CONTAINER, 'RemoveContainer', { pod, container });
        throw error;
      }
      container.state = ContainerState.CONTAINER_CREATED;
      this.containers.set(container.id, container);
      await this.sendIgnoringErrors(Event.POST_CREATE_CONTAINER, 'PostCreateContainer', { pod, container });
      return container;
    });
  }

  /**
   * Rejects when the cpuset does not fit the machine; plugins then receive no event, as with runc. `begin` is called
   * when a runtime would start the first process.
   */
  async startContainer(container: Container, begin?: () => void): Promise<void> {
    return this.inTurn(async () => {
      this.checkCpuset(container);
      const subject = this.subjectOf(container);
      try {
        await this.sendEvent(Event.START_CONTAINER, 'StartContainer', subject);
      } catch (error) {
        await this.endContainer(container);
        throw error;
      }
      begin?.();
      container.state = ContainerState.CONTAINER_RUNNING;
      container.pid = 4242;
      await this.sendIgnoringErrors(Event.POST_START_CONTAINER, 'PostStartContainer', subject);
    });
  }

  /** Updates a container for the kubelet; plugins may change the resources. */
  async updateContainer(
    container: Container,
    cpu: { readonly shares?: bigint; readonly cpus?: string },
  ): Promise<void> {
    return this.inTurn(async () => {
      const { shares = 0n, cpus = '' } = cpu;
      // All wrappers are there, with 0 for resources that are not set.
      const linuxResources = LinuxResources.create({
        cpu: { shares: { value: shares }, quota: {}, period: {}, cpus },
        memory: { limit: {} },
      });
      const subject = { ...this.subjectOf(container), linuxResources };
      const payload = encodeSubject(subject);
      const answers = await this.notifyAll(Event.UPDATE_CONTAINER, 'UpdateContainer', payload, subject);
      mergeCpu(container, linuxResources);
      for (const answer of answers) applyUpdates(this.containers, UpdateContainerResponse.decode(answer).update);
      await this.sendIgnoringErrors(Event.POST_UPDATE_CONTAINER, 'PostUpdateContainer', subject);
    });
  }

  /** Reports the end of the container's process, by itself or by a signal. */
  async stopContainer(container: Container): Promise<void> {
    return this.inTurn(() => this.endContainer(container));
  }

  async removeContainer(container: Container): Promise<void> {
    return this.inTurn(async () => {
      if (isListed(container)) await this.endContainer(container);
      await this.sendIgnoringErrors(Event.REMOVE_CONTAINER, 'RemoveContainer', this.subjectOf(container));
      this.containers.delete(container.id);
    });
  }

  /** Stops and removes all containers of a pod and its sandbox, in the order of the kubelet. */
  async removePod(pod: PodSandbox): Promise<void> {
    const containers = [...this.containers.values()].filter(({ podSandboxId }) => podSandboxId === pod.id);
    for (const container of containers) if (isListed(container)) await this.stopContainer(container);
    await this.inTurn(() => this.sendIgnoringErrors(Event.STOP_POD_SANDBOX, 'StopPodSandbox', { pod }));
    for (const container of containers) await this.removeContainer(container);
    await this.inTurn(() => this.sendIgnoringErrors(Event.REMOVE_POD_SANDBOX, 'RemovePodSandbox', { pod }));
    this.pods.delete(pod.id);
  }

  /** The cpuset that is in the container's spec. */
  cpusOf({ id }: Container): string {
    return this.containers.get(id)?.linux?.resources?.cpu?.cpus ?? '';
  }

  private welcome(socket: Socket): void {
    this.sockets.add(socket);
    const peer = new NriRuntimePeer(socket, this.options, checkRegistration);
    this.peers.add(peer);
    void peer.closed.then(() => {
      this.sockets.delete(socket);
      this.peers.delete(peer);
      this.emit('dropped', peer);
    });
    const introduce = async () => {
      const updates = await peer.introduce([...this.pods.values()], [...this.containers.values()].filter(isListed));
      applyUpdates(this.containers, updates);
      this.emit('synchronized', peer);
    };
    peer.registered
      .then(() => this.inTurn(introduce))
      .catch((error: unknown) => {
        if (!this.options.keepsLatePlugins) peer.drop(String(error));
      });
  }

  private async askForAdjustment(subject: Required<StateChangeSubject>): Promise<void> {
    const payload = encodeSubject(subject);
    for (const answer of await this.notifyAll(Event.CREATE_CONTAINER, 'CreateContainer', payload, subject)) {
      const { adjust, update } = CreateContainerResponse.decode(answer);
      if (update.some(({ containerId }) => containerId === subject.container.id)) {
        throw new TtrpcError(StatusCode.UNKNOWN, 'asked update of the container during its creation');
      }
      mergeCpu(subject.container, adjust?.linux?.resources);
      applyUpdates(this.containers, update);
    }
  }

  private async endContainer(container: Container): Promise<void> {
    container.state = ContainerState.CONTAINER_STOPPED;
    const subject = this.subjectOf(container);
    const payload = encodeSubject(subject);
    const answers = await this.notifyAll(Event.STOP_CONTAINER, 'StopContainer', payload, subject).catch(() => []);
    for (const answer of answers) applyUpdates(this.containers, StopContainerResponse.decode(answer).update);
  }

  private async sendEvent(event: Event, method: string, subject: StateChangeSubject): Promise<void> {
    await this.notifyAll(event, method, encodeSubject(subject), subject);
  }

  /** Sends an event about something that has happened already: runtimes log its errors, and nothing changes. */
  private async sendIgnoringErrors(event: Event, method: string, subject: StateChangeSubject): Promise<void> {
    await this.sendEvent(event, method, subject).catch(() => undefined);
  }

  private async notifyAll(event: Event, method: string, payload: Uint8Array, subject: StateChangeSubject) {
    const answers: Uint8Array[] = [];
    for (const peer of this.served()) answers.push(await peer.sendEvent(event, method, payload, subject));
    return answers;
  }

  private served(): NriRuntimePeer[] {
    return [...this.peers]
      .filter((peer) => peer.isUsable && peer.events !== 0)
      .sort((a, b) => a.pluginIndex.localeCompare(b.pluginIndex));
  }

  private subjectOf(container: Container): Required<StateChangeSubject> {
    return { pod: this.pods.get(container.podSandboxId)!, container };
  }

  private checkCpuset(container: Container): void {
    const { cpus = '' } = container.linux?.resources?.cpu ?? {};
    if (this.onlineCpus === undefined || cpus === '') return;
    if (!parseCpuList(cpus).isSubsetOf(parseCpuList(this.onlineCpus))) {
      throw new Error(`runc: failed to write "${cpus}" to cpuset.cpus: numerical result out of range`);
    }
  }

  private inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = this.turn.then(run);
    this.turn = result.catch(() => undefined);
    return result;
  }
}

function encodeSubject(subject: Parameters<typeof UpdateContainerRequest.create>[0]): Uint8Array {
  return UpdateContainerRequest.encode(UpdateContainerRequest.create(subject)).finish();
}

/** Checks a registration by the rules since NRI 0.12; a refused plugin keeps its connection. */
function checkRegistration({ pluginName, pluginIdx }: RegisterPluginRequest): void {
  if (!/^\d\d$/.test(pluginIdx))
    throw new TtrpcError(StatusCode.UNKNOWN, `invalid plugin index "${pluginIdx}", must be 2 digits`);
  if (!/^[A-Za-z0-9_.+-]+$/.test(pluginName))
    throw new TtrpcError(StatusCode.UNKNOWN, `invalid plugin name "${pluginName}"`);
}
