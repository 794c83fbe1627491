import { runNriPlugin, type NriPluginOptions } from '../../nri';

export interface PluginLink {
  /** Ends the connection and makes a new one: the runtime then describes all its containers anew. */
  reconnect(): void;
  /** Resolves after the signal was aborted and the socket is closed. */
  readonly ended: Promise<void>;
}

/** Serves the runtime over NRI until the signal aborts. */
export function keepPlugin(options: NriPluginOptions): PluginLink {
  let current = new AbortController();
  const serve = async (): Promise<void> => {
    while (!options.signal.aborted) {
      current = new AbortController();
      await runNriPlugin({ ...options, signal: AbortSignal.any([options.signal, current.signal]) });
    }
  };
  return { reconnect: () => current.abort('asking for all containers'), ended: serve() };
}
