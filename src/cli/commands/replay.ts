import { InvalidArgumentError, Option, type Command } from 'commander';

import { CpusetdError } from '../../core/errors';
import { JournalError, readJournal } from '../../state/journal';
import { write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { createStateDirOption } from '../options/node-options';

interface ReplayOptions {
  readonly set?: ReadonlyMap<string, string>;
  readonly topology?: string;
  readonly output: 'table' | DataFormat;
  readonly stateDir: string;
}

/**
 * `cpusetd replay`: decides again on the inputs of a journal, with other options or on another machine. It needs no
 * daemon.
 */
export function addReplayCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('replay')
    .description('show what would have been different, with other options or on another machine')
    .argument('[journal]', 'a journal, one file of it, or a state directory (default: that of this node)')
    .addOption(createStateDirOption('where the journal of this node is'))
    .addOption(
      new Option(
        '--set <option=value>',
        'an option of cpusetd run instead of the recorded one; may be repeated',
      ).argParser(parseSetting),
    )
    .option('--topology <file|live>', 'another machine than the recorded one: that of a file, or this one')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .action(async (journal: string | undefined, { set = new Map(), topology, output, stateDir }: ReplayOptions) => {
      const { compare } = await import('../replay/compare');
      const { describeReplay, formatReplay, isPartial } = await import('../replay/format-replay');
      try {
        let unreadable = 0;
        const records = readJournal(journal ?? stateDir, { onUnreadable: () => (unreadable += 1) });
        const comparison = await compare(records, { overrides: set, topology }, () => unreadable);
        const text =
          output === 'table'
            ? formatReplay(comparison, terminalOf(context))
            : await formatData(describeReplay(comparison), output);
        await write(context.stdout, text);
        if (isPartial(comparison.history)) exit(1);
      } catch (error) {
        if (error instanceof JournalError) throw new CpusetdError('NOT_FOUND', error.message);
        throw error;
      }
    });
}

function parseSetting(text: string, before: ReadonlyMap<string, string> = new Map()): ReadonlyMap<string, string> {
  const [, name, value] = /^(?:--)?([a-z][a-z-]*)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('It is no option with a value; write it like cpu-manager-policy=static.');
  return new Map([...before, [name, value]]);
}
