import type { Socket } from 'node:net';

import {
  ConfigureRequest,
  ConfigureResponse,
  Event,
  RegisterPluginRequest,
  StateChangeEvent,
  SynchronizeRequest,
  SynchronizeResponse,
  UpdateContainersRequest,
  UpdateContainersResponse,
  type Container,
  type ContainerUpdate,
  type FailurePolicy,
  type PodSandbox,
} from '../../gen/nri/v1alpha1/nri';
import { Mux, StatusCode, TtrpcClient, TtrpcError, TtrpcServer } from '../../src/wire';

const PLUGIN_SERVICE = 'nri.pkg.api.v1alpha1.Plugin';
const RUNTIME_SERVICE = 'nri.pkg.api.v1alpha1.Runtime';

export interface PeerOptions {
  readonly name: string;
  readonly version: string;
  /** Absent for a runtime that announces neither its version nor its timeouts (before NRI 0.7). */
  readonly nriVersion: string | undefined;
  /** Read for every request: a test may change it in between. */
  requestTimeoutMs: number;
  readonly registrationTimeoutMs: number;
  /** Maximum number of pods, and of containers, in one message. */
  readonly maxListed: number;
  /** True for NRI before 0.7, which keeps a plugin that synchronizes too late and never calls it. */
  readonly keepsLatePlugins: boolean;
  /**
   * True when Synchronize is longer than this release can send: it is never sent, and the plugin is treated as a late
   * one.
   */
  readonly cannotSynchronize: () => boolean;
  /** True since NRI 0.12, where every event has a method of its own. */
  readonly hasDedicatedMethods: boolean;
  /** The configuration that the runtime sends to the plugin. Default: empty. */
  readonly config?: string;
  /** True when Configure is sent before the answer to RegisterPlugin. */
  readonly configuresFirst: boolean;
}

/** The bits of all events that releases know; they refuse others. */
const KNOWN_EVENTS = 0x3fff;

/** The id of a container whose unsolicited update fails. */
export const UNKNOWN_CONTAINER_ID = 'unknown';

/** The runtime's end of one connection to a plugin. */
export class NriRuntimePeer {
  pluginName = '';
  pluginIndex = '';
  events = 0;
  /** The policy in the plugin's answer to Configure. */
  failurePolicy: Pick<FailurePolicy, 'failRequest' | 'keepConnected'> | undefined;
  /** Every request that was sent, in order: the method, and the event for StateChange. */
  readonly requests: string[] = [];
  /** Every UpdateContainers of the plugin, in order. */
  readonly unsolicited: UpdateContainersRequest[] = [];
  /** The reason why the plugin is not called any more. */
  droppedBecause: string | undefined;
  readonly closed: Promise<unknown>;
  /** Rejects when the plugin does not register in time. */
  readonly registered: Promise<void>;
  private readonly mux: Mux;
  private readonly plugin: TtrpcClient;
  private isGone = false;
  private settleRegistration: () => void = () => undefined;

  constructor(
    socket: Socket,
    private readonly options: PeerOptions,
    private readonly checkRegistration: (request: RegisterPluginRequest) => void,
  ) {
    this.mux = new Mux(socket);
    const channel = this.mux.open(1);
    void channel.closed.then(() => (this.isGone = true));
    this.closed = this.mux.closed.then(() => (this.droppedBecause ??= 'the plugin went away'));
    this.registered = this.waitForRegistration(new Promise((resolve) => (this.settleRegistration = resolve)));
    this.plugin = new TtrpcClient(channel);
    new TtrpcServer(this.mux.open(2), {
      [RUNTIME_SERVICE]: {
        RegisterPlugin: ({ payload }) => this.accept(RegisterPluginRequest.decode(payload)),
        UpdateContainers: ({ payload }) => {
          const request = UpdateContainersRequest.decode(payload);
          this.unsolicited.push(request);
          const failed = request.update.filter(({ containerId }) => containerId === UNKNOWN_CONTAINER_ID);
          return UpdateContainersResponse.encode(UpdateContainersResponse.create({ failed })).finish();
        },
      },
    });
  }

  get isUsable(): boolean {
    return this.droppedBecause === undefined;
  }

  drop(because: string): void {
    this.droppedBecause ??= because;
    this.mux.close(because);
  }

  /** Sends Configure and Synchronize. Resolves with the updates of the plugin; rejects when it is dropped. */
  async introduce(pods: readonly PodSandbox[], containers: readonly Container[]): Promise<readonly ContainerUpdate[]> {
    await this.configure();
    return this.synchronize(pods, containers);
  }

  /** Sends an event by the method that this release has for it. Resolves with the bytes of the answer. */
  async sendEvent(event: Event, method: string, request: Uint8Array, subject: StateChangeSubject): Promise<Uint8Array> {
    if (!this.isUsable || (this.events & (1 << (event - 1))) === 0) return new Uint8Array(0);
    const isOfAllReleases = ['CreateContainer', 'UpdateContainer', 'StopContainer'].includes(method);
    if (!isOfAllReleases && !this.options.hasDedicatedMethods) return this.sendStateChange(event, subject);
    try {
      return await this.request(method, request);
    } catch (error) {
      if (error instanceof TtrpcError && error.code === StatusCode.UNIMPLEMENTED && !isOfAllReleases) {
        return this.sendStateChange(event, subject);
      }
      throw error;
    }
  }

  /** Makes one call. A plugin that is too late, or gone, is dropped, and its answer is empty. */
  async request(method: string, payload: Uint8Array, timeoutMs = this.options.requestTimeoutMs): Promise<Uint8Array> {
    this.requests.push(method);
    const startMs = performance.now();
    try {
      return await this.plugin.call(PLUGIN_SERVICE, method, payload, { timeoutMs });
    } catch (error) {
      const isLate = performance.now() - startMs >= timeoutMs - 1;
      // The call rejects a moment before the event of the connection's end.
      await new Promise(setImmediate);
      if (!isLate && !this.isGone) throw error;
      this.drop(isLate ? `${method} was not answered in time` : 'the plugin went away');
      return new Uint8Array(0);
    }
  }

  private sendStateChange(event: Event, subject: StateChangeSubject): Promise<Uint8Array> {
    const request = StateChangeEvent.encode(StateChangeEvent.create({ event, ...subject })).finish();
    const answer = this.request('StateChange', request);
    this.requests[this.requests.length - 1] = `StateChange ${Event[event]}`;
    return answer;
  }

  private accept(request: RegisterPluginRequest): Uint8Array | Promise<Uint8Array> {
    this.checkRegistration(request);
    this.pluginName = request.pluginName;
    this.pluginIndex = request.pluginIdx;
    this.settleRegistration();
    const empty = new Uint8Array(0);
    if (!this.options.configuresFirst) return empty;
    return new Promise((resolve) => setTimeout(() => resolve(empty), 30));
  }

  private async waitForRegistration(registered: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<void>((resolve) => (timer = setTimeout(resolve, this.options.registrationTimeoutMs)));
    await Promise.race([registered, tooLate, this.closed]);
    clearTimeout(timer);
    if (this.pluginName === '') throw this.fail('it did not register');
  }

  private async configure(): Promise<void> {
    const { name, version, nriVersion, requestTimeoutMs, registrationTimeoutMs, config = '' } = this.options;
    const request = ConfigureRequest.create({
      config,
      runtimeName: name,
      runtimeVersion: version,
      ...(nriVersion !== undefined && {
        NRIVersion: nriVersion,
        requestTimeout: BigInt(requestTimeoutMs),
        registrationTimeout: BigInt(registrationTimeoutMs),
      }),
    });
    const { events, failurePolicy } = ConfigureResponse.decode(
      await this.request('Configure', ConfigureRequest.encode(request).finish()),
    );
    if ((events & ~KNOWN_EVENTS) !== 0) throw this.fail(`invalid plugin events 0x${events.toString(16)}`);
    if (failurePolicy) {
      const { failRequest, keepConnected } = failurePolicy;
      this.failurePolicy = { failRequest, keepConnected };
    }
    this.events = events === 0 ? KNOWN_EVENTS : events;
  }

  /**
   * Sends Synchronize in pieces under one deadline; all but the last must be answered with `more` and without updates.
   */
  private async synchronize(pods: readonly PodSandbox[], containers: readonly Container[]) {
    const { maxListed, requestTimeoutMs } = this.options;
    const deadlineMs = performance.now() + requestTimeoutMs;
    for (let at = 0; ; at += maxListed) {
      const more = at + maxListed < Math.max(pods.length, containers.length);
      const piece = SynchronizeRequest.create({
        pods: pods.slice(at, at + maxListed),
        containers: containers.slice(at, at + maxListed),
        more,
      });
      const leftMs = Math.max(1, deadlineMs - performance.now());
      const answer = SynchronizeResponse.decode(await this.synchronizePiece(piece, leftMs));
      if (!this.isUsable) throw new Error(this.droppedBecause);
      if (!more) return answer.update;
      if (!answer.more || answer.update.length > 0) throw this.fail('it does not handle split sync requests');
    }
  }

  private async synchronizePiece(piece: SynchronizeRequest, timeoutMs: number): Promise<Uint8Array> {
    const payload = SynchronizeRequest.encode(piece).finish();
    if (this.options.cannotSynchronize()) {
      this.droppedBecause = 'message too long; the connection stays open';
      throw new Error(this.droppedBecause);
    }
    if (!this.options.keepsLatePlugins) return this.request('Synchronize', payload, timeoutMs);
    this.requests.push('Synchronize');
    try {
      return await this.plugin.call(PLUGIN_SERVICE, 'Synchronize', payload, { timeoutMs });
    } catch (error) {
      this.droppedBecause = 'it synchronized too late; the connection stays open';
      throw error;
    }
  }

  private fail(because: string): Error {
    this.drop(because);
    return new Error(because);
  }
}

export interface StateChangeSubject {
  readonly pod?: PodSandbox;
  readonly container?: Container;
}
