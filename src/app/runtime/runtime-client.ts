import { CpusetdError } from '../../core/errors';
import type { CpuPromise } from '../../core/model/container';
import type { RuntimeListing } from '../../core/transition';
import type { CallOptions, CriClient } from '../../cri/client';
import { ConnectionTracker, type Connection, type ConnectionState } from '../../net/connection-state';
import type { DaemonContext } from '../context';
import type { Transactor } from '../transaction/transactor';
import { explainCriError } from './explain-cri-error';
import { RecordSync, type RecordSyncParts } from './record-sync';

export interface RuntimeClientParts {
  readonly context: DaemonContext;
  readonly transactor: Pick<Transactor, 'record'>;
}

const LIST_TIMEOUT_MS = 5_000;
const UPDATE_TIMEOUT_MS = 10_000;
const ASK_TIMEOUT_MS = 20_000;

/**
 * The daemon's own calls of the runtime over CRI: complete lists, and records that follow the promises. All of them are
 * made in the background. The client is loaded when it is first needed.
 */
export class RuntimeClient {
  readonly recordSync: RecordSync;
  private client: Promise<CriClient> | undefined;
  private readonly tracker: ConnectionTracker;
  /** Outlives the daemon's signal: calls that pass through us while we stop may need the runtime to the end. */
  private readonly closed = new AbortController();
  private calls: Required<Pick<RecordSyncParts, 'isBusy' | 'isMaking'>> | undefined;

  constructor(private readonly parts: RuntimeClientParts) {
    const { context, transactor } = parts;
    const { model, events, log, now } = context;
    this.tracker = new ConnectionTracker({ state: this.isOn ? 'connecting' : 'off', since: now(), reason: '' }, now);
    this.recordSync = new RecordSync({
      model,
      transactor,
      log,
      signal: this.closed.signal,
      isBusy: (containerId) => this.calls?.isBusy(containerId) ?? false,
      isMaking: () => this.calls?.isMaking() ?? false,
      onFailure: (containerId) => events.emit('updateFailed', { containerId }),
      update: (containerId, promise) => this.update(containerId, promise),
    });
    events.on('decided', 'following records', ({ event }) => this.recordSync.noteEvent(event));
    if (this.isOn) events.on('turnEnded', 'waking the recorder', () => this.recordSync.schedule());
  }

  /** Takes into account the calls in flight that pass through us: an update during one of them would be lost. */
  followCalls(calls: Required<Pick<RecordSyncParts, 'isBusy' | 'isMaking'>>): void {
    this.calls = calls;
  }

  /** False when cri-endpoint is off. */
  get isOn(): boolean {
    return this.endpoint !== undefined;
  }

  get connection(): Connection {
    return this.tracker.current;
  }

  /** Cancels the calls under way and closes the connection. */
  close(): void {
    this.closed.abort();
    this.client?.then(
      (client) => client.close(),
      () => undefined,
    );
  }

  private get endpoint(): string | undefined {
    return this.parts.context.config.criEndpoint;
  }

  /** Returns complete lists of the runtime. Rejects with the remedy when the runtime could not be asked. */
  async list(signal = this.closed.signal): Promise<RuntimeListing> {
    try {
      return await this.askForList(signal);
    } catch (error) {
      // A runtime that answers without its lists is of no more use than one that does not answer.
      if (!(error instanceof CpusetdError) || signal.aborted || isUnreachable(error)) throw error;
      throw this.noteTrouble(error);
    }
  }

  private askForList(signal: AbortSignal): Promise<RuntimeListing> {
    return this.tracked(async (client) => {
      const options = { timeoutMs: LIST_TIMEOUT_MS, signal };
      // Pods last: none is missing because it was made in between.
      const containers = await client.listContainers(options);
      const pods = await client.listPods(options);
      return {
        pods,
        containers: containers.map(({ id, sandboxId, phase }) => ({
          id,
          sandboxId,
          exited: phase === 'exited',
          running: phase === 'running',
        })),
      };
    });
  }

  /** Asks for what the lists do not have; rejects when the runtime could not be asked. */
  async ask<T>(question: (client: CriClient, options: CallOptions) => Promise<T>): Promise<T> {
    return this.tracked((client) => question(client, { timeoutMs: ASK_TIMEOUT_MS, signal: this.closed.signal }));
  }

  private async update(containerId: string, { cpus, mems, quota }: CpuPromise): Promise<void> {
    const change = { containerId, cpus, ...(!mems.isEmpty && { mems }), ...(quota && { quotaUs: quota.quotaUs }) };
    const options = { timeoutMs: UPDATE_TIMEOUT_MS, signal: this.closed.signal };
    await this.tracked((client) => client.updateContainer(change, options));
  }

  private async tracked<T>(ask: (client: CriClient) => Promise<T>): Promise<T> {
    try {
      const client = await (this.client ??= this.open());
      const answer = await ask(client);
      this.become('ready', '');
      return answer;
    } catch (error) {
      if (error instanceof CpusetdError && isUnreachable(error)) throw this.noteTrouble(error);
      throw error;
    }
  }

  private noteTrouble(error: CpusetdError): CpusetdError {
    const because = explainCriError(this.endpoint ?? '', error);
    this.become('connecting', because);
    return new CpusetdError(error.code, because, { cause: error });
  }

  private async open(): Promise<CriClient> {
    const { createCriClient } = await import('../../cri/client');
    return createCriClient(this.endpoint!);
  }

  private become(state: ConnectionState, reason: string): void {
    const { config, health, events } = this.parts.context;
    if (!this.tracker.become(state, reason)) return;
    // A proxy has to be synchronized too: its attachment says whether it serves.
    if (config.mode === 'nri') health.set('cri', state === 'ready' ? 'SERVING' : 'NOT_SERVING');
    events.emit('changed');
  }
}

function isUnreachable(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED';
}
