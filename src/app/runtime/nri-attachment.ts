import type { Connection } from '../../admin/model/status';
import { serveNri, type PluginState } from '../../nri';
import { createCpuPlugin } from '../../nri-events';
import type { Attachment, AttachmentParts } from './attachment';
import { readLiveCpusets } from '../cgroups/container-observer';

/** A connection is not given up before it has lasted so long: each new one is a gap of its own. */
const RECONNECT_AFTER_MS = 30_000;

/** Serves the runtime as an NRI plugin: it asks us about every container. */
export function attachNri(parts: AttachmentParts): Attachment {
  const { config, transactor, cgroups, gap, health, link, pauses, log, signal, startedAt } = parts;
  let current: PluginState | undefined;
  let noteContact: () => void = () => undefined;
  const firstContact = new Promise<void>((resolve) => (noteContact = resolve));
  const plugin = serveNri({
    socketPath: config.nriSocket,
    name: config.nriPluginName,
    index: config.nriPluginIndex,
    settings: { socketPath: '--nri-socket', name: '--nri-plugin-name', index: '--nri-plugin-index' },
    disconnectedText: 'not connected to the runtime: new containers are not pinned',
    plugin: createCpuPlugin(
      {
        onEvent: (event) =>
          transactor.handleAll(
            pauses.withPause(event),
            event.kind === 'synchronize' ? readLiveCpusets(cgroups, event.containers) : undefined,
          )[0]!,
      },
      log,
    ),
    log,
    signal,
    onState: (state) => {
      current = state;
      const isSynchronized = state.phase === 'synchronized';
      if (isSynchronized) gap.end();
      else gap.begin();
      health.set('nri', isSynchronized ? 'SERVING' : 'NOT_SERVING');
      if (isSynchronized || state.phase === 'disconnected') noteContact();
      parts.onChange();
    },
  });
  return {
    resynchronize: () => {
      // A connection that is given up while the runtime synchronizes it can hold up the runtime for minutes.
      const isSettled = current?.phase === 'synchronized' && Date.now() - current.sinceMs >= RECONNECT_AFTER_MS;
      if (isSettled) plugin.reconnect('asking for all containers');
    },
    isBusy: () => false,
    isMaking: () => false,
    get facts() {
      return {
        runtimeName: current?.runtime?.name ?? '',
        runtimeVersion: current?.runtime?.version ?? '',
        nri: connectionOf(current, startedAt),
        cri: link.connection,
      };
    },
    firstContact,
    ended: plugin.ended,
  };
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
