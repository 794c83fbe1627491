import { once } from 'node:events';
import { CpusetdError, toErrorStatus } from '../../core/errors';
import { createInterceptors } from '../../cri/interceptors';
import { CriProxy, UpstreamMonitor } from '../../cri/proxy';
import { EventBatcher } from '../transaction/event-batcher';
import type { Attachment, AttachmentFacts, AttachmentParts } from './attachment';
import { RuntimeSynchronizer } from './runtime-synchronizer';

/** Maximum time for calls in flight to end when we stop; see CLOSE_MS for the time of everything. */
export const DRAIN_TIMEOUT_MS = 20_000;

/**
 * Stands between kubelet and runtime. It listens only when the model has all containers that run, and decides nothing
 * while it does not know them: containers start through us or not at all, so none starts unseen. NRI mode never loads
 * this module.
 */
export class ProxyAttachment implements Attachment {
  private readonly synchronizer: RuntimeSynchronizer;
  private readonly upstream: UpstreamMonitor;
  private readonly adapter;
  private readonly startedAt: string;

  constructor(private readonly parts: AttachmentParts) {
    const { context, transactor, client } = parts;
    const { model, config, log } = context;
    this.startedAt = context.now();
    const synchronizer = (this.synchronizer = new RuntimeSynchronizer(parts));
    this.upstream = new UpstreamMonitor(config.criEndpoint!);
    this.upstream.subscribe((isUp) => synchronizer.onUpstream(isUp));
    this.adapter = createInterceptors({
      node: model,
      handle: new EventBatcher((events) => transactor.handleAll(events)).handle,
      conclude: (end) => transactor.conclude(end),
      whenReady: (signal) => synchronizer.whenReady(signal),
      carryOut: async (containerIds) => {
        const failure = await client.recordSync.flush(containerIds);
        return failure === undefined ? undefined : toErrorStatus(failure).message;
      },
      synchronize: () => synchronizer.synchronize(),
      readContainer: (id) => client.ask((cri, options) => cri.readContainer(id, options)),
      runtimeName: () => synchronizer.runtime?.name ?? '',
      log,
    });
    client.followCalls(this.adapter);
  }

  get firstContact(): Promise<void> {
    return this.synchronizer.firstContact;
  }

  get facts(): AttachmentFacts {
    const { runtime, connection } = this.synchronizer;
    return {
      runtimeName: runtime?.name ?? '',
      runtimeVersion: runtime?.version ?? '',
      nri: { state: 'off', since: this.startedAt, reason: 'the mode is cri-proxy' },
      cri: connection,
    };
  }

  resynchronize(): void {
    this.synchronizer.resynchronize();
  }

  async run(signal: AbortSignal): Promise<void> {
    const { config, log, health } = this.parts.context;
    await this.synchronizer.synchronizeUntilReady();
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
    const { config, log } = this.parts.context;
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
}
