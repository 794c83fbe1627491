import { join } from 'node:path';
import { Option, type Command } from 'commander';

import type { CpuSet } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import { systemCodeOf } from '../../core/system-errors';
import { JournalError } from '../../state/journal';
import { UsageError, type CliContext } from '../context';
import { parseCpus, parseKinds, parseTime } from '../events/parse-filter';
import type { DataFormat } from '../format/data';
import { parsePod } from '../explain/parse-target';
import { createStateDirOption } from '../options/node-options';

interface EventsOptions {
  readonly since?: number;
  readonly until?: number;
  readonly cpu?: CpuSet;
  readonly pod?: string;
  readonly kind?: ReadonlySet<string>;
  readonly follow?: true;
  readonly output: 'table' | DataFormat;
  readonly stateDir: string;
  readonly journal?: string;
}

/** `cpusetd events`: prints what has happened, from the journal on disk. It needs no daemon. */
export function addEventsCommand(program: Command, context: CliContext): void {
  program
    .command('events')
    .description('show what has happened: decisions, refusals, moves, drift, repairs, gaps, alarms')
    .addOption(
      new Option(
        '--since <time>',
        'only later than this: a duration like 10m or 24h, or a time like 2026-11-24T10:00:00Z',
      ).argParser(parseTime),
    )
    .addOption(new Option('--until <time>', 'only until then: a duration ago, or a time').argParser(parseTime))
    .addOption(
      new Option('--cpu <cpus>', 'only about these CPUs: who got, kept or left them, and drifts to them').argParser(
        parseCpus,
      ),
    )
    .option('--pod <pod>', 'only of this pod: namespace/name, name, or uid')
    .addOption(new Option('--kind <kinds>', 'only of these kinds, such as pinned,refused').argParser(parseKinds))
    .option('-f, --follow', 'go on with what happens from now on')
    .addOption(
      new Option('-o, --output <format>', 'how to print; json is one object a line, yaml one document a record')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .addOption(createStateDirOption('where the journal is'))
    .option('--journal <path>', 'another journal, or one file of it, instead of the one in the state directory')
    .action(async ({ since, until, cpu, pod, kind, follow, output, stateDir, journal }: EventsOptions) => {
      if (follow && until !== undefined) throw new UsageError('--until: what follows comes later; leave --follow out');
      if (since !== undefined && until !== undefined && until < since)
        throw new UsageError('--until: is earlier than --since; exchange them');
      const filter = {
        ...(since !== undefined && { sinceMs: since }),
        ...(until !== undefined && { untilMs: until }),
        ...(cpu && { cpus: cpu }),
        ...(pod !== undefined && { pod: parsePod(pod) }),
        ...(kind && { kinds: kind }),
      };
      const { printEvents } = await import('../events/print-events');
      const path = journal ?? join(stateDir, 'journal');
      try {
        await printEvents({ path, filter, follow: follow ?? false, output }, context);
      } catch (error) {
        if (!(error instanceof JournalError)) throw error;
        if (isDenied(error.cause)) throw new CpusetdError('PERMISSION_DENIED', `${error.message}; run it as root`);
        const remedy =
          journal === undefined
            ? '; name the state directory of the daemon with --state-dir; a daemon with --journal-size off writes none'
            : '';
        throw new CpusetdError('NOT_FOUND', `${error.message}${remedy}`);
      }
    });
}

/** The journal names pods of all tenants, so only root reads it. */
function isDenied(cause: unknown): boolean {
  const code = systemCodeOf(cause);
  return code === 'EACCES' || code === 'EPERM';
}
