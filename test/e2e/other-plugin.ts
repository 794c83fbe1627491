import { type Adjustment, type NriPlugin, runNriPlugin } from '../../src/nri';

/**
 * Starts an NRI plugin beside cpusetd, named `other`, which decides about each container. Resolves when it gets events.
 * @returns its end
 */
export async function startOtherPlugin(
  { nriSocket }: { readonly nriSocket: string },
  index: string,
  decide: () => Adjustment | Promise<Adjustment>,
): Promise<() => Promise<unknown>> {
  const stop = new AbortController();
  const plugin = await new Promise<NriPlugin>((resolve) => {
    const handlers = {
      synchronize: () => (resolve(plugin), []),
      createContainer: async () => ({ adjust: await decide() }),
    };
    const plugin = runNriPlugin({ name: 'other', index, socketPath: nriSocket, signal: stop.signal, handlers });
  });
  return () => {
    stop.abort();
    return plugin.ended;
  };
}
