import { InvalidArgumentError, Option, type Command } from 'commander';

import { durationMs } from '../../option-types/system-types';
import type { CliContext } from '../context';
import type { DataFormat } from '../format/data';
import { createAdminSocketOption } from '../options/node-options';
import { SORT_KEYS, type SortBy } from '../top/sort-top';

interface TopOptions {
  readonly interval: number;
  readonly count?: number;
  readonly sort: SortBy;
  readonly reverse?: true;
  readonly output: 'table' | DataFormat;
  readonly cgroupRoot: string;
  readonly adminSocket: string;
}

/** `cpusetd top`: shows live what containers do with CPUs of their own, and who else is there. */
export function addTopCommand(program: Command, context: CliContext): void {
  program
    .command('top')
    .description('show live what containers do with CPUs of their own: use, wait, throttling, and others on these CPUs')
    .addOption(
      new Option('-d, --interval <time>', 'time between two readings').argParser(parseInterval).default(2_000, '2s'),
    )
    .addOption(
      new Option('-n, --count <number>', 'print this number of times, then end (1 with json and yaml)').argParser(
        parseCount,
      ),
    )
    .addOption(
      new Option('--sort <key>', 'the first order; broken verdicts are first without')
        .choices(Object.keys(SORT_KEYS))
        .default('verdict'),
    )
    .option('-r, --reverse', 'the other way round')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .addOption(
      new Option('--cgroup-root <path>', "where the node's cgroups are mounted")
        .env('CPUSETD_CGROUP_ROOT')
        .default('/sys/fs/cgroup'),
    )
    .addOption(createAdminSocketOption())
    .action(async ({ interval, count, sort, reverse, output, cgroupRoot, adminSocket }: TopOptions) => {
      const { requireAllTasks } = await import('../audit/require-all-tasks');
      const { TopMeter } = await import('../top/meter');
      const { watchTop } = await import('../top/watch-top');
      const meter = new TopMeter({ cgroupRoot });
      requireAllTasks();
      const times = count ?? (output === 'table' ? undefined : 1);
      await watchTop(
        {
          adminSocket,
          intervalMs: interval,
          output,
          read: (status) => meter.read(status),
          ...(times !== undefined && { count: times }),
          sort: { by: sort, isReversed: reverse ?? false },
        },
        context,
      );
    });
}

const interval = durationMs({ minMs: 100, maxMs: 3_600_000 });

function parseInterval(text: string): number {
  const parsed = interval.parse(text);
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}; ${parsed.remedy}.`);
}

function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
