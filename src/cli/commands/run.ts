import { Option, type Command } from 'commander';

import { describeDefault, listOffered, loadConfig, nameOf, OPTIONS } from '../../app/config';
import { UsageError, type CliContext } from '../context';
import { formatBelow } from '../options/typed-options';

/** `cpusetd run`: the daemon. Its options are the rows of the table in `app/config`. */
export function addRunCommand(program: Command, context: CliContext): void {
  const command = program
    .command('run')
    .description('run the daemon; SIGTERM ends it in order')
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

  command.action(async (_options, { options }: Command) => {
    const flags = Object.fromEntries(
      options.flatMap((option) => {
        const values = command.getOptionValue(option.attributeName()) as string[] | undefined;
        return values ? [[option.name(), values]] : [];
      }),
    );
    const loaded = await loadConfig({ flags, env: context.env });
    if (!loaded.ok) throw new UsageError(...loaded.problems);
    await context.runDaemon(loaded, context.signal);
  });
}

/** An option that keeps all its values, so that a repetition is noticed. */
function collect(flags: string, description: string): Option {
  return new Option(flags, description).argParser((value, before: readonly string[] | undefined) => [
    ...(before ?? []),
    value,
  ]);
}
