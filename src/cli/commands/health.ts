import type { Command } from 'commander';

import type { AdminClient } from '../../admin/client/admin-client';
import { HEALTH_SERVICES } from '../../admin/health-state';
import { CpusetdError } from '../../core/errors';
import { showText } from '../../core/show-text';
import { createAdminSocketOption } from '../options/admin-socket';
import { UsageError, write, type CliContext, type ExitStatus } from '../context';
import { formatTable } from '../format/table';

interface HealthOptions {
  readonly adminSocket: string;
  readonly watch?: true;
}

/** `cpusetd health [SERVICE]`: exit 0 when the server as a whole, or the service that was named, is serving. */
export function addHealthCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const { stdout, signal } = context;
  program
    .command('health')
    .description('tell whether the daemon is serving: exit 0 when it is, 1 when not')
    .argument('[service]', `only this one: ${SERVICES.join(', ')}; without it the daemon as a whole`)
    .option('-w, --watch', 'print a line at every change, until the daemon ends')
    .addOption(createAdminSocketOption())
    .action(async (service: string | undefined, { adminSocket, watch }: HealthOptions) => {
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        if (watch) await printChanges(client, service ?? '', context);
        else exit(await printHealth(client, service, stdout));
      } finally {
        client.close();
      }
      if (watch && !signal.aborted)
        throw new CpusetdError('UNAVAILABLE', 'cpusetd ended the watch: it is shutting down');
    });
}

const SERVICES = HEALTH_SERVICES.filter((service) => service !== '');

async function printHealth(
  client: AdminClient,
  service: string | undefined,
  stdout: CliContext['stdout'],
): Promise<ExitStatus> {
  const services = service === undefined ? HEALTH_SERVICES : [service];
  const answers = await Promise.all(services.map((name) => client.checkHealth(name)));
  if (service !== undefined && answers[0] === undefined) throw unknown(service);
  const rows = services.map((name, i) => [name || '(all)', answers[i] ?? 'UNKNOWN SERVICE']);
  stdout.write(formatTable(['SERVICE', 'STATUS'], rows));
  const { alarms } = (await client.status()).node;
  for (const { kind, because } of alarms) stdout.write(`${showText(`ALARM ${kind}: ${because}`)}\n`);
  return answers[0] === 'SERVING' ? 0 : 1;
}

async function printChanges(client: AdminClient, service: string, { stdout, signal }: CliContext): Promise<void> {
  for await (const status of client.watchHealth(service, signal)) {
    if (status === undefined) throw unknown(service);
    await write(stdout, `${status}\n`);
  }
}

function unknown(service: string): UsageError {
  return new UsageError(`"${service}": the daemon has no such service; choose one of ${SERVICES.join(', ')}`);
}
