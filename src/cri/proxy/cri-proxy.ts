import type { Socket } from 'node:net';
import { connectTo } from './connect';
import { HeldBytes } from './held-bytes';
import type { Interceptors } from './interceptor';
import type { ReportFault } from './intercepted-call';
import { listenOnDescriptor, listenPrivately, type Listener } from './listen';
import type { RelayOptions } from './link';
import { Relay } from './relay';
import { RuntimeWatch } from './runtime-watch';

const MEBIBYTE = 1_048_576;

export interface CriProxyOptions {
  /** Where the kubelet connects: a path to listen on, or the number of a listening socket that was handed over. */
  readonly listen: { readonly path: string } | { readonly fd: number };
  /** The runtime's socket. It need not be there yet. */
  readonly runtimePath: string;
  readonly interceptors: Interceptors;
  /** Faults that no peer is told. */
  readonly reportFault: ReportFault;
  /** The runtime was found, lost, or found again. */
  readonly onRuntimeChange?: (isUp: boolean) => void;
  /** Longest request or answer that is looked at. Default: 16 MiB, what runtime and kubelet allow each other, and a little. */
  readonly maxMessageBytes?: number;
  /** Most request data held at a time, over all calls. */
  readonly maxHeldBytes?: number;
  readonly maxConnections?: number;
  /** Methods whose calls never end by themselves; a drain does not wait for them. */
  readonly endlessPaths?: readonly string[];
}

/** Connections and calls that are open now. */
export interface CriProxyStats {
  readonly connections: number;
  readonly callsInFlight: number;
  readonly heldBytes: number;
  /** Undefined before the first attempt to reach it. */
  readonly isRuntimeUp: boolean | undefined;
}

/** A listening CRI proxy: everything passes between kubelet and runtime, intercepted methods are shown to their interceptors. */
export class CriProxy {
  readonly #relays = new Set<Relay>();
  readonly #held: HeldBytes;
  readonly #relayOptions: RelayOptions;
  readonly #watch: RuntimeWatch;
  #isStopping = false;

  private constructor(
    readonly options: CriProxyOptions,
    readonly listener: Listener,
  ) {
    this.#held = new HeldBytes(options.maxHeldBytes ?? 64 * MEBIBYTE);
    this.#relayOptions = {
      interceptors: options.interceptors,
      maxMessageBytes: options.maxMessageBytes ?? 16 * MEBIBYTE + 65_536,
      held: this.#held,
      reportFault: options.reportFault,
      endlessPaths: new Set(options.endlessPaths ?? ['/runtime.v1.RuntimeService/GetContainerEvents']),
    };
    this.#watch = new RuntimeWatch(options.runtimePath, (isUp) => this.#onRuntimeChange(isUp));
    listener.server.maxConnections = options.maxConnections ?? 128;
    listener.server.on('connection', (kubelet) => {
      this.#accept(kubelet).catch((err: unknown) => {
        kubelet.destroy();
        this.#reportFault(err);
      });
    });
  }

  /** Begins to listen. Throws when the socket can't be had (`listenPrivately`). */
  static async open(options: CriProxyOptions): Promise<CriProxy> {
    const { listen } = options;
    return new CriProxy(
      options,
      'fd' in listen ? await listenOnDescriptor(listen.fd) : await listenPrivately(listen.path),
    );
  }

  get stats(): CriProxyStats {
    let callsInFlight = 0;
    for (const relay of this.#relays) callsInFlight += relay.callsInFlight;
    const isRuntimeUp = this.#watch.isUp;
    return { connections: this.#relays.size, callsInFlight, heldBytes: this.#held.used, isRuntimeUp };
  }

  /**
   * Accepts no more, lets calls in flight end, closes. After `timeoutMs`, or when `signal` aborts, what is left is answered
   * UNAVAILABLE. Resolves when everything is closed, with the number of calls that did not end by themselves.
   */
  async drain({ timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal }): Promise<number> {
    this.#isStopping = true;
    const closed = this.listener.close();
    let unfinished = 0;
    const stop = (): void => {
      unfinished = this.stats.callsInFlight;
      for (const relay of this.#relays) relay.stop();
    };
    const timer = setTimeout(stop, timeoutMs);
    signal?.addEventListener('abort', stop);
    for (const relay of this.#relays) relay.drain();
    if (signal?.aborted === true) stop();
    await Promise.all([closed, ...[...this.#relays].map((relay) => relay.closed)]);
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
    this.#watch.close();
    return unfinished;
  }

  async #accept(kubelet: Socket): Promise<void> {
    kubelet.on('error', () => undefined); // `close` follows
    const runtime = await connectTo(this.options.runtimePath).catch(() => undefined);
    if (kubelet.destroyed || this.#isStopping) {
      runtime?.destroy();
      kubelet.destroy();
      return;
    }
    const relay = new Relay(kubelet, runtime, this.#relayOptions, () => this.#watch.reportGone());
    this.#relays.add(relay);
    relay.closed.finally(() => this.#relays.delete(relay)).catch((err: unknown) => this.#reportFault(err));
    relay.start();
    if (runtime === undefined) this.#watch.reportGone();
    else this.#watch.reportUp();
  }

  #reportFault(err: unknown): void {
    this.options.reportFault({ what: 'a connection of the kubelet failed', err });
  }

  #onRuntimeChange(isUp: boolean): void {
    if (isUp) for (const relay of this.#relays) relay.reconnect();
    this.options.onRuntimeChange?.(isUp);
  }
}
