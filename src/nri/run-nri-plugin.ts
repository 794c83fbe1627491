import { createRawPlugin } from './create-raw-plugin';
import type { NriHandlers } from './handlers';
import { serveNri, type ConnectionOptions, type NriPlugin } from './serve-nri';

/** The options of a plugin with typed handlers. */
export interface NriPluginOptions extends Omit<ConnectionOptions, 'name' | 'index'> {
  /** Name to register with. Default: `NRI_PLUGIN_NAME`, which a runtime sets for a plugin that it starts itself. */
  readonly name?: string | undefined;
  /** Two digits, as text; runtimes call their plugins in this order. Default: `NRI_PLUGIN_IDX`. */
  readonly index?: string | undefined;
  /** The events that the plugin wants, and its answers. Only these are subscribed to. */
  readonly handlers: NriHandlers;
}

/**
 * Runs an NRI plugin until the signal aborts, over as many connections as it takes: a runtime that is not there yet, or
 * restarts, is connected as soon as it is back, and lists its containers anew (`synchronize`).
 *
 * A handler that throws {@link TtrpcError} fails the request with its code and text, and any other error fails it as
 * INTERNAL; a runtime then does not create or update the container. A handler that takes longer than the runtime's
 * request timeout (2 s by default) costs the connection.
 *
 * A plugin that the runtime starts itself needs neither name, index nor socketPath: they come in the environment, the
 * socket as a file descriptor (`NRI_PLUGIN_SOCKET`).
 *
 * Throws TypeError when there is no name or no index, and when `NRI_PLUGIN_SOCKET` is no file descriptor.
 */
export function runNriPlugin({ handlers, ...options }: NriPluginOptions): NriPlugin {
  const { env } = process;
  const name = options.name ?? env['NRI_PLUGIN_NAME'];
  const index = options.index ?? env['NRI_PLUGIN_IDX'];
  if (!name || !index)
    throw new TypeError('an NRI plugin has a name and an index of two digits: set the options name and index');
  const socketPath = options.socketPath ?? readDescriptor(env['NRI_PLUGIN_SOCKET']);
  return serveNri({ ...options, name, index, socketPath, plugin: createRawPlugin(handlers) });
}

function readDescriptor(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text))
    throw new TypeError(
      `NRI_PLUGIN_SOCKET is "${text}", not the number of a file descriptor: unset it or set socketPath`,
    );
  return Number(text);
}
