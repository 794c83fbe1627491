import { Option, type Command } from 'commander';

import type { AdminClient } from '../../admin/client/admin-client';
import type { Status, StatusChange } from '../../admin/model/status';
import { CpusetdError } from '../../core/errors';
import { escapeJson } from '../../core/show-text';
import { createAdminSocketOption } from '../options/admin-socket';
import { write, type CliContext } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { formatStatusTable } from '../status/status-table';

type Format = 'table' | DataFormat;

interface StatusOptions {
  readonly output: Format;
  readonly watch?: true;
  readonly adminSocket: string;
}

/** `cpusetd status`: prints promise, observation, verdict and reason of each container. */
export function addStatusCommand(program: Command, context: CliContext): void {
  program
    .command('status')
    .description('show what each container was promised, what the kernel has for it, and why')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .option('-w, --watch', 'print again at every change; with json, one document a line')
    .addOption(createAdminSocketOption())
    .action(async ({ output, watch, adminSocket }: StatusOptions) => {
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        if (watch) await printChanges(client, output, context);
        else await write(context.stdout, await format(await client.status(), output));
      } finally {
        client.close();
      }
    });
}

async function printChanges(client: AdminClient, output: Format, { stdout, signal }: CliContext): Promise<void> {
  let status: Status | undefined;
  for await (const change of client.watch(signal)) {
    status = applyChange(status, change);
    if (!status) continue;
    if (output === 'json') await write(stdout, `${escapeJson(JSON.stringify(status))}\n`);
    else if (output === 'yaml') await write(stdout, `---\n${await format(status, output)}`);
    else await write(stdout, `${stdout.isTTY ? CLEAR_SCREEN : '\n'}${await format(status, output)}`);
  }
  if (!signal.aborted) throw new CpusetdError('UNAVAILABLE', 'cpusetd ended the watch: it is shutting down');
}

const CLEAR_SCREEN = '\u001b[H\u001b[2J\u001b[3J';

async function format(status: Status, output: Format): Promise<string> {
  return output === 'table' ? formatStatusTable(status) : formatData(status, output);
}

/** The status after a change; undefined before the first full status. */
function applyChange(status: Status | undefined, change: StatusChange): Status | undefined {
  if (change.kind === 'full') return change.status;
  if (status === undefined) return undefined;
  switch (change.kind) {
    case 'node':
      return { ...status, node: change.node };
    case 'idle':
      return { ...status, idle: change.idle };
    case 'container-removed':
      return { ...status, containers: status.containers.filter(({ id }) => id !== change.id) };
    case 'container': {
      const others = status.containers.filter(({ id }) => id !== change.container.id);
      return { ...status, containers: [...others, change.container] };
    }
  }
}
