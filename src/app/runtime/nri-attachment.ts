import type { RuntimeAnswer, RuntimeEvent } from '../../core/model/events';
import type { Connection } from '../../net/connection-state';
import {
  actsOnFailurePolicy,
  serveNri,
  type FailurePolicy,
  type NriPlugin,
  type PluginState,
  type RuntimeInfo,
} from '../../nri';
import { createCpuPlugin } from '../../nri-events';
import { readLiveCpusets } from '../cgroups/container-observer';
import type { Attachment, AttachmentFacts, AttachmentParts } from './attachment';

/** Minimum age of a connection that is given up for a new one: each new connection is a gap of its own. */
const RECONNECT_AFTER_MS = 30_000;

/** Nothing starts unpinned while cpusetd is connected, and it stays so when it is late. */
const REFUSE: FailurePolicy = { failRequest: true, keepConnected: true };

/** Serves the runtime as an NRI plugin: the runtime asks about every container. */
export class NriAttachment implements Attachment {
  readonly firstContact: Promise<void>;
  private noteContact: () => void = () => undefined;
  private readonly startedAt: string;
  private current: PluginState | undefined;
  private plugin: NriPlugin | undefined;

  constructor(private readonly parts: AttachmentParts) {
    this.startedAt = parts.context.now();
    this.firstContact = new Promise<void>((resolve) => (this.noteContact = resolve));
  }

  run(signal: AbortSignal): Promise<void> {
    const { config, log } = this.parts.context;
    this.plugin = serveNri({
      socketPath: config.nriSocket,
      name: config.nriPluginName,
      index: config.nriPluginIndex,
      settings: { socketPath: '--nri-socket', name: '--nri-plugin-name', index: '--nri-plugin-index' },
      ...(config.onUnanswered === 'refuse' && { failurePolicy: REFUSE }),
      disconnectedText: 'not connected to the runtime: new containers are not pinned',
      plugin: createCpuPlugin({ onEvent: (event) => this.handle(event) }, log),
      log,
      signal,
      onState: (state) => this.onState(state),
    });
    return this.plugin.ended;
  }

  resynchronize(): void {
    const { current } = this;
    // A connection that is given up while the runtime synchronizes it can hold up the runtime for minutes.
    const isSettled = current?.phase === 'synchronized' && Date.now() - current.sinceMs >= RECONNECT_AFTER_MS;
    if (isSettled) this.plugin?.reconnect('asking for all containers');
  }

  get facts(): AttachmentFacts {
    const { current } = this;
    return {
      runtimeName: current?.runtime?.name ?? '',
      runtimeVersion: current?.runtime?.version ?? '',
      nri: connectionOf(current, this.startedAt),
      cri: this.parts.client.connection,
    };
  }

  private handle(event: RuntimeEvent): RuntimeAnswer {
    const { transactor, pauses, context } = this.parts;
    const live = event.kind === 'synchronize' ? readLiveCpusets(context.cgroups, event.containers) : undefined;
    return transactor.handleAll(pauses.withPause(event), live)[0]!;
  }

  private onState(state: PluginState): void {
    const { gap, context } = this.parts;
    this.current = state;
    if (state.runtime && context.config.onUnanswered === 'refuse')
      context.alarms.update('requests-allowed', '', explainAllowed(state.runtime));
    const isSynchronized = state.phase === 'synchronized';
    if (isSynchronized) gap.end();
    else gap.begin();
    context.health.set('nri', isSynchronized ? 'SERVING' : 'NOT_SERVING');
    if (isSynchronized || state.phase === 'disconnected') this.noteContact();
    context.events.emit('changed');
  }
}

/**
 * The reason why this runtime lets a request pass that it gets no answer to, against its configuration; undefined when
 * it may not.
 */
function explainAllowed({ name, version, nriVersion }: RuntimeInfo): string | undefined {
  if (actsOnFailurePolicy(nriVersion) !== false) return undefined;
  const nri = nriVersion === undefined ? 'an NRI before 0.12' : `NRI ${nriVersion}`;
  return `${name} ${version} has ${nri}, which ignores --on-unanswered refuse, so a request that it gets no answer to passes unpinned; NRI 0.12.4 or newer does not let it`;
}

function connectionOf(state: PluginState | undefined, startedAt: string): Connection {
  if (!state) return { state: 'connecting', since: startedAt, reason: '' };
  const states = {
    disconnected: 'connecting',
    connecting: 'connecting',
    registered: 'synchronizing',
    synchronized: 'ready',
  } as const;
  return { state: states[state.phase], since: new Date(state.sinceMs).toISOString(), reason: state.reason };
}
