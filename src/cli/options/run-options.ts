import { Option, type Command } from 'commander';

import { describeDefault, listOffered, loadConfig, nameOf, OPTIONS } from '../../app/config';
import { UsageError, type CliContext } from '../context';
import { formatBelow } from './typed-options';

/** Adds the options of the daemon, each with its description in a line below. */
export function addRunOptions(command: Command): void {
  command
    .configureHelp({ formatItem: formatBelow })
    .addOption(collect('--config <file>', 'YAML or JSON file with options by the names below (CPUSETD_CONFIG)'))
    .addHelpText(
      'after',
      '\nA flag wins over its environment variable, that over the --config file,\nthat over the default.',
    );
  for (const key of listOffered()) {
    const { type, description } = OPTIONS[key];
    command.addOption(collect(`--${nameOf(key)} <${type.placeholder}>`, `${description} (${describeDefault(key)})`));
  }
}

/** The configuration of flags, environment and file. Throws UsageError with a line for each fault. */
export async function readRunOptions(
  command: Command,
  { env }: Pick<CliContext, 'env'>,
): Promise<Extract<Awaited<ReturnType<typeof loadConfig>>, { ok: true }>> {
  const flags = Object.fromEntries(
    command.options.flatMap((option) => {
      const values: unknown = command.getOptionValue(option.attributeName());
      return Array.isArray(values) ? [[option.name(), values as string[]]] : [];
    }),
  );
  const loaded = await loadConfig({ flags, env });
  if (!loaded.ok) throw new UsageError(...loaded.problems);
  return loaded;
}

/** An option that keeps all its values, so that a repetition is noticed. */
function collect(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
}
