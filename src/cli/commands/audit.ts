import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';

import { durationMs } from '../../app/config';
import { judgeAudit } from '../../core/audit/judge-audit';
import { CpusetdError } from '../../core/errors';
import { write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { createAdminSocketOption } from '../options/admin-socket';

interface AuditOptions {
  readonly duration: number;
  readonly all?: true;
  readonly output: 'table' | DataFormat;
  readonly adminSocket: string;
}

/** `cpusetd audit`: looks at who really runs on promised CPUs; exit 1 when somebody else did who can be kept off. */
export function addAuditCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('audit')
    .description(
      'tell who else runs on CPUs that containers have for themselves: threads, interrupts (exit 1 when somebody does)',
    )
    .addOption(new Option('--duration <time>', 'how long it looks').argParser(parseDuration).default(5_000, '5s'))
    .option('-a, --all', 'also who only may run there, and threads of the kernel that nobody can move')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .addOption(createAdminSocketOption())
    .action(async ({ duration, all, output, adminSocket }: AuditOptions) => {
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const { collectSample } = await import('../audit/collect-sample');
      const { listOwners } = await import('../audit/list-owners');
      const { formatAudit, isIntruder } = await import('../audit/format-audit');
      const client = await connectAdmin(adminSocket);
      try {
        const before = collectSample();
        if (!before.tasks.some(({ isKernelThread }) => isKernelThread))
          throw new CpusetdError(
            'FAILED_PRECONDITION',
            'only processes of this container are visible here: run it on the host, or in a pod with hostPID',
          );
        await delay(duration, undefined, { signal: context.signal }).catch(() => undefined);
        // The owners at the end: their threads have run there for a part of the time at least.
        const audits = judgeAudit(listOwners(await client.topology()), before, collectSample());
        const text =
          output === 'table'
            ? formatAudit(audits, { seconds: duration / 1000, all: all ?? false, terminal: terminalOf(context) })
            : await formatData({ seconds: duration / 1000, owners: audits }, output);
        await write(context.stdout, text);
        exit(audits.some(({ foreign, irqs }) => [...foreign, ...irqs].some(isIntruder)) ? 1 : 0);
      } finally {
        client.close();
      }
    });
}

const duration = durationMs({ minMs: 100, maxMs: 3_600_000 });

function parseDuration(text: string): number {
  const parsed = duration.parse(text);
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}; ${parsed.remedy}.`);
}
