import { Option, type Command } from 'commander';

import {
  describeDefault,
  OPTION_KEYS,
  loadConfig,
  nameOf,
  OPTIONS,
  type Loaded,
  type LoadedConfig,
} from '../../app/config';
import { UsageError, type CliContext } from '../context';
import { findNodeConfig, nodeConfigIn } from './node-config';
import { formatBelow } from './typed-options';

/** Adds the options of the daemon, each with its description in a line below. */
export function addRunOptions(command: Command): void {
  addOptions(command, 'CPUSETD_CONFIG');
}

/** The same for a command that looks at this node, which `readNodeOptions` or `loadNodeOptions` reads. */
export function addNodeOptions(command: Command): void {
  addOptions(command, `CPUSETD_CONFIG, else ${nodeConfigIn('/etc')} where it exists`);
}

function addOptions(command: Command, whereElse: string): void {
  command
    .configureHelp({ formatItem: formatBelow })
    .addOption(collect('--config <file>', `YAML or JSON file with options by the names below (${whereElse})`))
    .addHelpText(
      'after',
      '\nA flag wins over its environment variable, that over the --config file,\nthat over the default.',
    );
  for (const key of OPTION_KEYS) {
    const { type, description } = OPTIONS[key];
    command.addOption(collect(`--${nameOf(key)} <${type.placeholder}>`, `${description} (${describeDefault(key)})`));
  }
}

/** The configuration of flags, environment and file. Throws UsageError with a line for each fault. */
export async function readRunOptions(command: Command, { env }: Pick<CliContext, 'env'>): Promise<Loaded> {
  return orThrow(await loadConfig({ flags: readFlags(command), env }));
}

/**
 * The same for a command that looks at this node: without a file of its own it takes that of the node's service. Throws
 * UsageError with a line for each fault, and one for the file that was looked for.
 */
export async function readNodeOptions(command: Command, context: NodeContext): Promise<Loaded> {
  const loaded = await loadNodeOptions(command, context);
  const isAlone = !loaded.ok && !loaded.file && listFlags(command).length === 0;
  const place = nodeConfigIn(context.etcRoot);
  return orThrow(loaded, isAlone ? [`no configuration file: ${place} is not there; name one with --config`] : []);
}

/** The same with its faults, for a command that works on a broken node too. */
export async function loadNodeOptions(command: Command, { env, etcRoot }: NodeContext): Promise<LoadedConfig> {
  const flags = readFlags(command);
  const file = findNodeConfig({ env, etcRoot });
  return loadConfig({ flags: { ...(file !== undefined && { config: [file] }), ...flags }, env });
}

type NodeContext = Pick<CliContext, 'env' | 'etcRoot'>;

function orThrow(loaded: LoadedConfig, also: readonly string[] = []): Loaded {
  if (!loaded.ok) throw new UsageError(...loaded.problems, ...also);
  return loaded;
}

/** The names of the flags that were given. */
export function listFlags(command: Command): readonly string[] {
  return Object.keys(readFlags(command));
}

/** The values of each flag that was given, by its name. */
function readFlags(command: Command): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const values: unknown = command.getOptionValue(option.attributeName());
      return Array.isArray(values) ? [[option.name(), values as string[]]] : [];
    }),
  );
}

/** An option that keeps all its values, so that a repetition is noticed. */
function collect(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
}
