import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';

import { loadConfig, type Config } from '../../app/config';
import { complain, type CliContext } from '../context';

type NodeContext = Pick<CliContext, 'env' | 'etcRoot' | 'stderr'>;

/**
 * The configuration file of the service of this node: that of `CPUSETD_CONFIG`, else `/etc/cpusetd.yaml` where it
 * exists, which the service of the Debian package reads. Undefined where there is neither.
 */
export function findNodeConfig({ env, etcRoot }: Pick<NodeContext, 'env' | 'etcRoot'>): string | undefined {
  if (env['CPUSETD_CONFIG']) return env['CPUSETD_CONFIG'];
  const path = nodeConfigIn(etcRoot);
  return existsSync(path) ? path : undefined;
}

/** The file that the unit of the service names. */
export function nodeConfigIn(etcRoot: string): string {
  return join(etcRoot, 'cpusetd.yaml');
}

/** Options of commands that are options of the daemon too: the daemon of this node knows the values. */
const OF_DAEMON = [
  'adminSocket',
  'stateDir',
  'sysfsRoot',
  'cgroupRoot',
  'criEndpoint',
] as const satisfies readonly (keyof Config)[];

/**
 * Gives a command the socket, the directories and the file of this node's daemon, where neither a flag nor a variable
 * did. A fault of another option is no concern of these commands. A file that can't be read is reported, and the
 * defaults stay.
 */
export async function fillFromNode(command: Command, context: NodeContext): Promise<void> {
  const isUnset = (name: string): boolean =>
    command.options.some((option) => option.attributeName() === name) &&
    [undefined, 'default'].includes(command.getOptionValueSource(name));
  const names = OF_DAEMON.filter((name) => isUnset(name) && command.getOptionValueSource(name) === 'default');
  const file = names.length > 0 ? findNodeConfig(context) : undefined;
  if (file === undefined) return;
  if (isUnset('config')) command.setOptionValueWithSource('config', file, 'config');
  const loaded = await loadConfig({ flags: { config: [file] }, env: context.env });
  if (!loaded.ok && loaded.file?.text === undefined) complain(context.stderr, ...loaded.problems);
  const { config } = loaded.ok ? loaded : loaded.usable;
  for (const name of names) if (config[name]) command.setOptionValueWithSource(name, config[name], 'config');
}
