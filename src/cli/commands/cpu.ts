import { join } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';

import { CpusetdError } from '../../core/errors';
import { write, type CliContext } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { createAdminSocketOption, createAtOption, createStateDirOption } from '../options/node-options';

interface CpuOptions {
  readonly output: 'table' | DataFormat;
  readonly adminSocket: string;
  readonly stateDir: string;
  /** ms since 1970. */
  readonly at?: number;
}

/** `cpusetd cpu N`: shows who has a CPU and why, who runs there now, and who had it before. */
export function addCpuCommand(program: Command, context: CliContext): void {
  program
    .command('cpu')
    .description('show who has this CPU, why and since when, who runs there now, and its last owners')
    .argument('<number>', 'the number of the CPU', parseCpu)
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .addOption(createAtOption('who had it at that time, by the journal'))
    .addOption(createAdminSocketOption())
    .addOption(createStateDirOption('where the journal is, which has its last owners'))
    .action(async (cpu: number, { output, adminSocket, stateDir, at }: CpuOptions) => {
      const terminal = terminalOf(context);
      if (at !== undefined) {
        await printAt(cpu, at, { output, stateDir }, context);
        return;
      }
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const { lookAtCpu } = await import('../cpu/look-at-cpu');
      const client = await connectAdmin(adminSocket);
      try {
        const report = await lookAtCpu(client, cpu, { journal: join(stateDir, 'journal'), signal: context.signal });
        const text =
          output === 'table'
            ? (await import('../cpu/format-cpu')).formatCpu(report, terminal)
            : await formatData(report, output);
        await write(context.stdout, text);
      } finally {
        client.close();
      }
    });
}

/** Prints the owner of a time. It needs no daemon. */
async function printAt(
  cpu: number,
  atMs: number,
  { output, stateDir }: Pick<CpuOptions, 'output' | 'stateDir'>,
  context: CliContext,
): Promise<void> {
  const { readNodeAt } = await import('../at/node-at');
  const { formatOwnerAt } = await import('../at/format-node-at');
  const { findUse, viewStatus } = await import('../../admin/machine/machine-view');
  const { topology: machine, ...then } = await readNodeAt(stateDir, atMs);
  if (!then.node.online.has(cpu) && !machine.offline.has(cpu))
    throw new CpusetdError(
      'NOT_FOUND',
      `CPU ${cpu}: the machine had no such CPU online; it had ${then.node.online.toString()}`,
    );
  const { use } = findUse(viewStatus({ ...machine, node: then.node }), cpu);
  const owners = machine.assignments.filter(({ cpus }) => cpus.has(cpu));
  const text =
    output === 'table'
      ? formatOwnerAt(then, { cpu, use, owners, terminal: terminalOf(context) })
      : await formatData({ at: then.at, cpu, use, owners, doubts: then.doubts }, output);
  await write(context.stdout, text);
}

function parseCpu(text: string): number {
  if (/^\d{1,6}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is no number of a CPU; write one like 17.');
}
