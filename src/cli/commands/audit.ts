import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError, Option, type Command } from 'commander';

import type { AdminClient } from '../../admin/client/admin-client';
import { durationMs } from '../../option-types/system-types';
import type { OwnerAudit } from '../../core/audit/judge-audit';
import type { TaskSample } from '../../core/audit/sample';
import { CpuSet } from '../../core/cpuset';
import { write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { createAdminSocketOption } from '../options/node-options';

interface AuditOptions {
  readonly duration: number;
  readonly all?: true;
  readonly output: 'table' | DataFormat;
  readonly adminSocket: string;
}

/** Time between two readings of the threads, and the largest number of readings. */
const STEP_MS = 500;
const MAX_STEPS = 120;

/** `cpusetd audit`: looks at who really runs on promised CPUs; exit 1 when somebody else did who can be kept off. */
export function addAuditCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('audit')
    .description(
      'show who else runs on CPUs that containers have for themselves: threads, interrupts (exit 1 when somebody does)',
    )
    .addOption(new Option('--duration <time>', 'how long it looks').argParser(parseDuration).default(5_000, '5s'))
    .option('-a, --all', 'also who only may run there, and threads of the kernel that nobody can move')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .addOption(createAdminSocketOption())
    .action(async ({ duration, all, output, adminSocket }: AuditOptions) => {
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const { formatAudit } = await import('../audit/format-audit');
      const { isIntruder } = await import('../../core/audit/judge-audit');
      const client = await connectAdmin(adminSocket);
      try {
        const began = performance.now();
        const owners = await look(client, duration, context.signal);
        const seconds = Math.round((performance.now() - began) / 100) / 10;
        const text =
          output === 'table'
            ? formatAudit(owners, { seconds, all: all ?? false, terminal: terminalOf(context) })
            : await formatData({ seconds, owners }, output);
        await write(context.stdout, text);
        exit(owners.some(({ foreign, irqs }) => [...foreign, ...irqs].some(isIntruder)) ? 1 : 0);
      } finally {
        client.close();
      }
    });
}

async function look(client: AdminClient, forMs: number, signal: AbortSignal): Promise<readonly OwnerAudit[]> {
  const { keepSteady, listOwners } = await import('../../admin/model/exclusive-owners');
  const { judgeAudit } = await import('../../core/audit/judge-audit');
  const { readAuditSample, readTaskSamples } = await import('../../host');
  const { requireAllTasks } = await import('../audit/require-all-tasks');
  requireAllTasks();
  const owners = listOwners(await client.topology());
  if (owners.length === 0) return [];
  const within = CpuSet.unionOf(owners.map(({ cpus }) => cpus));

  const before = await readAuditSample({ within });
  const pids = [...new Set(before.tasks.map(({ pid }) => pid))];
  const between: (readonly TaskSample[])[] = [];
  const steps = Math.min(MAX_STEPS, Math.max(1, Math.round(forMs / STEP_MS)));
  for (let step = 1; step <= steps && !signal.aborted; step++) {
    await delay(forMs / steps, undefined, { signal }).catch(() => undefined);
    if (step < steps) between.push(await readTaskSamples({ within, pids }));
  }
  const after = await readAuditSample({ within });
  const now = await client.topology();
  const steady = keepSteady(owners, listOwners(now));
  const fixed = new Set(now.node.fixedIrqs);
  // This process looks everywhere, and is gone after that.
  const others = (tasks: readonly TaskSample[]) => tasks.filter(({ pid }) => pid !== process.pid);
  return judgeAudit(steady, {
    before: { ...before, tasks: others(before.tasks) },
    between: between.map(others),
    after: {
      ...after,
      tasks: others(after.tasks),
      irqs: after.irqs.map((each) => ({ ...each, isFixed: fixed.has(each.irq) })),
    },
  });
}

const duration = durationMs({ minMs: 100, maxMs: 3_600_000 });

function parseDuration(text: string): number {
  const parsed = duration.parse(text);
  if (parsed.ok) return parsed.value;
  throw new InvalidArgumentError(`It ${parsed.problem}; ${parsed.remedy}.`);
}
