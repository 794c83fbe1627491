import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Connection } from '../../admin/model/status';
import { CpusetdError, toErrorStatus } from '../../core/errors';
import { takeKnown } from '../../core/transition/inventory';
import { createInterceptors, mergeInventory } from '../../cri/interceptors';
import type { RuntimeVersion } from '../../cri/client';
import { CriProxy, UpstreamMonitor } from '../../cri/proxy';
import type { Attachment, AttachmentFacts, AttachmentParts } from './attachment';
import { EventBatcher } from '../transaction/event-batcher';
import { logFault } from '../alarms/faults';
import { Gate } from './readiness-gate';
import { readLiveCpusets } from '../cgroups/container-observer';

/** Stands between kubelet and runtime. The adapter's modules are loaded with this one, which NRI mode never needs. */
export function attachProxy(parts: AttachmentParts): Attachment {
  return new ProxyAttachment(parts);
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 3_000;
/** A call is held so long for a synchronization. */
const GATE_TIMEOUT_MS = 10_000;
/** Calls in flight get so long to end when we stop; systemd's own patience is 90 s. */
export const DRAIN_TIMEOUT_MS = 20_000;

/**
 * Listens only when the runtime has told of everything that runs, and decides nothing while it does not know that:
 * containers start through us or not at all, so nobody starts unseen.
 */
class ProxyAttachment implements Attachment {
  readonly ended: Promise<void>;
  readonly firstContact: Promise<void>;
  private noteContact: () => void = () => undefined;
  private readonly gate = new Gate();
  private readonly adapter;
  private connection: Connection;
  private runtime: RuntimeVersion | undefined;
  /** The last synchronization that was begun, and one that waits for its end. */
  private running: Promise<unknown> = Promise.resolve();
  private next: Promise<void> | undefined;
  /** The one that decides whether the runtime is there. */
  private readonly upstream: UpstreamMonitor;
  private loggedReason = '';

  constructor(private readonly parts: AttachmentParts) {
    const { model, transactor, link, log, startedAt } = parts;
    this.connection = { state: 'connecting', since: startedAt, reason: '' };
    this.upstream = new UpstreamMonitor(parts.config.criEndpoint!);
    this.upstream.subscribe((isUp) => this.onRuntimeChange(isUp));
    this.adapter = createInterceptors({
      node: model,
      handle: new EventBatcher((events) => transactor.handleAll(events)).handle,
      conclude: (end) => transactor.conclude(end),
      whenReady: (signal) => this.gate.whenOpen({ signal, timeoutMs: GATE_TIMEOUT_MS }),
      carryOut: async (containerIds) => {
        const failure = await link.recorder.settle(containerIds);
        return failure === undefined ? undefined : toErrorStatus(failure).message;
      },
      synchronize: () => this.synchronize(),
      readContainer: (id) => link.ask((client, options) => client.readContainer(id, options)),
      runtimeName: () => this.runtime?.name ?? '',
      log,
    });
    this.firstContact = new Promise((resolve) => (this.noteContact = resolve));
    this.ended = this.serve();
  }

  get facts(): AttachmentFacts {
    return {
      runtimeName: this.runtime?.name ?? '',
      runtimeVersion: this.runtime?.version ?? '',
      nri: { state: 'off', since: this.parts.startedAt, reason: 'the mode is cri-proxy' },
      cri: this.connection,
    };
  }

  isBusy(containerId: string): boolean {
    return this.adapter.isBusy(containerId);
  }

  isMaking(): boolean {
    return this.adapter.isMaking();
  }

  resynchronize(): void {
    this.synchronize().catch((error: unknown) => this.noteFailure(error));
  }

  private async serve(): Promise<void> {
    const { config, log, signal, health } = this.parts;
    await this.synchronizeUntilDone();
    if (signal.aborted) return;
    const proxy = await this.listen();
    log.info({ listen: config.criListen, endpoint: config.criEndpoint }, 'the CRI proxy listens');
    if (!signal.aborted) await once(signal, 'abort');
    health.set('cri', 'NOT_SERVING');
    const unfinished = await proxy.drain({ timeoutMs: DRAIN_TIMEOUT_MS });
    this.upstream.close();
    if (unfinished > 0) log.warn({ unfinished }, 'calls were ended before they had their answer');
  }

  private async listen(): Promise<CriProxy> {
    const { config, log } = this.parts;
    try {
      return await CriProxy.open({
        listen: config.criListen,
        upstream: this.upstream,
        interceptors: this.adapter.interceptors,
        endlessPaths: this.adapter.endlessPaths,
        reportFault: ({ what, ...facts }) => log.warn({ fault: what, ...facts }, 'CRI proxy'),
      });
    } catch (error) {
      const { code, message } = toErrorStatus(error);
      throw new CpusetdError(code, `--cri-listen: ${message}`, { cause: error });
    }
  }

  private onRuntimeChange(isUp: boolean): void {
    if (this.parts.signal.aborted) return;
    if (!isUp) {
      this.gate.close();
      this.parts.gap.begin();
      this.become(
        'connecting',
        `nobody listens at ${this.parts.config.criEndpoint}: the runtime is away; start it, and it is connected to again by itself`,
      );
      this.parts.log.warn({ endpoint: this.parts.config.criEndpoint }, 'the runtime is away');
    } else if (!this.gate.isOpen) {
      this.synchronizeUntilDone().catch((error: unknown) => logFault(this.parts.log, 'synchronizing has ended', error));
    }
  }

  private get isRuntimeLost(): boolean {
    return this.upstream.isUp === false;
  }

  /** Again and again, with growing pauses, until the runtime has told of everything, is lost again, or we stop. */
  private async synchronizeUntilDone(): Promise<void> {
    const { signal } = this.parts;
    for (let delayMs = FIRST_DELAY_MS; !signal.aborted && !this.isRuntimeLost; delayMs = nextDelay(delayMs)) {
      try {
        await this.synchronize();
        return;
      } catch (error) {
        this.noteFailure(error);
      }
      await delay(delayMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** One at a time. Who asks while one is under way gets the one after it: that may be too early for what he has seen. */
  private synchronize(): Promise<void> {
    this.next ??= this.running.then(() => {
      this.next = undefined;
      const run = this.synchronizeOnce();
      this.running = run.catch(() => undefined);
      return run;
    });
    return this.next;
  }

  private async synchronizeOnce(): Promise<void> {
    const { model, transactor, cgroups, link, log, gap } = this.parts;
    if (!this.gate.isOpen) this.become('synchronizing', 'asking the runtime for all its containers');
    const before = takeKnown(model);
    const runtime = await link.ask((client, options) => client.version(options));
    const inventory = await link.ask((client, options) => client.readNode(options));
    if (this.isRuntimeLost) throw new CpusetdError('UNAVAILABLE', 'the runtime went away while it was asked');
    const event = mergeInventory(model, before, inventory);
    this.runtime = runtime;
    const answer = transactor.handle(event, readLiveCpusets(cgroups, event.containers));
    if (answer.kind === 'refuse') throw new CpusetdError(answer.code, answer.message);
    this.loggedReason = '';
    gap.end();
    this.become('ready', '');
    log.info({ runtime, containers: event.containers.length }, 'synchronized with the runtime');
    this.gate.open();
    this.noteContact();
  }

  private noteFailure(error: unknown): void {
    const { message: reason } = toErrorStatus(error);
    if (!this.gate.isOpen) this.become('connecting', reason);
    if (reason !== this.loggedReason)
      this.parts.log.warn({ reason, err: error }, 'the runtime could not be asked what it has');
    this.loggedReason = reason;
    this.noteContact();
  }

  private become(state: Connection['state'], reason: string): void {
    const { health, onChange } = this.parts;
    if (this.connection.state !== state || this.connection.reason !== reason)
      this.connection = { state, reason, since: new Date().toISOString() };
    health.set('cri', state === 'ready' ? 'SERVING' : 'NOT_SERVING');
    onChange();
  }
}

function nextDelay(delayMs: number): number {
  return Math.min(delayMs * 2, MAX_DELAY_MS);
}
