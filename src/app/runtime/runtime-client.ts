import type { Logger } from 'pino';
import type { Connection } from '../../admin/model/status';
import { CpusetdError } from '../../core/errors';
import type { CpuPromise } from '../../core/model/container';
import type { NodeView } from '../../core/model/node-model';
import type { RuntimeListing } from '../../core/transition';
import type { CallOptions, CriClient } from '../../cri/client';
import { explainCriTrouble } from './explain-cri-error';
import type { Transactor } from '../transaction/transactor';
import { RecordSync } from './record-sync';

export interface RuntimeLinkParts {
  /** The runtime's CRI socket; undefined = off. */
  readonly endpoint: string | undefined;
  readonly model: NodeView;
  readonly transactor: Pick<Transactor, 'record'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly now: () => string;
  /** See `RecordSyncParts`. */
  readonly isBusy?: (containerId: string) => boolean;
  readonly isMaking?: () => boolean;
  readonly onUpdateFailed?: (containerId: string) => void;
  /** The runtime answers on its socket, or does so no longer. */
  readonly onChange?: (connection: Connection) => void;
}

const LIST_TIMEOUT_MS = 5_000;
const UPDATE_TIMEOUT_MS = 10_000;
const ASK_TIMEOUT_MS = 20_000;

/**
 * What the daemon asks of the runtime on its own account, over CRI: complete lists, and records that follow the
 * promises. All of it in the background; the client is loaded when it is first needed.
 */
export class RuntimeLink {
  readonly recorder: RecordSync;
  private client: Promise<CriClient> | undefined;
  private current: Connection;

  constructor(private readonly parts: RuntimeLinkParts) {
    const { model, transactor, log, signal, now, isBusy, isMaking, onUpdateFailed } = parts;
    const off = parts.endpoint === undefined;
    this.current = { state: off ? 'off' : 'connecting', since: now(), reason: '' };
    this.recorder = new RecordSync({
      model,
      transactor,
      log,
      signal,
      ...(isBusy && { isBusy }),
      ...(isMaking && { isMaking }),
      ...(onUpdateFailed && { onFailure: onUpdateFailed }),
      update: (containerId, promise) => this.update(containerId, promise),
    });
  }

  /** False when cri-endpoint is off. */
  get isOn(): boolean {
    return this.parts.endpoint !== undefined;
  }

  get connection(): Connection {
    return this.current;
  }

  /** Complete lists of the runtime; rejects when it could not be asked, with what helps. */
  async list(signal = this.parts.signal): Promise<RuntimeListing> {
    try {
      return await this.askForList(signal);
    } catch (error) {
      // One that answers, and not with its lists, is of no more use than one that does not answer.
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

  /** Asks in the daemon's name for what a list does not tell; rejects when the runtime could not be asked. */
  async ask<T>(question: (client: CriClient, options: CallOptions) => Promise<T>): Promise<T> {
    return this.tracked((client) => question(client, { timeoutMs: ASK_TIMEOUT_MS, signal: this.parts.signal }));
  }

  private async update(containerId: string, { cpus, mems, quota }: CpuPromise): Promise<void> {
    const change = { containerId, cpus, ...(!mems.isEmpty && { mems }), ...(quota && { quotaUs: quota.quotaUs }) };
    const options = { timeoutMs: UPDATE_TIMEOUT_MS, signal: this.parts.signal };
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
    const because = explainCriTrouble(this.parts.endpoint ?? '', error);
    this.become('connecting', because);
    return new CpusetdError(error.code, because, { cause: error });
  }

  private async open(): Promise<CriClient> {
    const { createCriClient } = await import('../../cri/client');
    const client = createCriClient(this.parts.endpoint!);
    this.parts.signal.addEventListener('abort', () => client.close(), { once: true });
    return client;
  }

  private become(state: Connection['state'], reason: string): void {
    if (this.current.state === state && this.current.reason === reason) return;
    this.current = { state, since: this.parts.now(), reason };
    this.parts.onChange?.(this.current);
  }
}

function isUnreachable(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  return code === 'UNAVAILABLE' || code === 'DEADLINE_EXCEEDED';
}
