import type { Command } from 'commander';

import { createAdminSocketOption } from '../admin-socket-option';
import type { CliContext, ExitStatus } from '../context';
import { clean, formatTable } from '../format/table';

/** `cpusetd health [SERVICE]`: exit 0 when the server as a whole, or the service that was named, is serving. */
export function addHealthCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('health')
    .description('tell whether the daemon is serving: exit 0 when it is, 1 when not')
    .argument('[service]', 'only this one: cpusetd.v1.CpuManager, nri or cri')
    .addOption(createAdminSocketOption())
    .action(async (service: string | undefined, { adminSocket }: { adminSocket: string }) => {
      const { connectAdmin } = await import('../../admin/client');
      const { HEALTH_SERVICES } = await import('../../admin/health-state');
      const client = await connectAdmin(adminSocket);
      try {
        const services = service === undefined ? HEALTH_SERVICES : [service];
        const answers = await Promise.all(services.map((name) => client.checkHealth(name)));
        const rows = services.map((name, i) => [name || '(all)', answers[i] ?? 'UNKNOWN SERVICE']);
        context.stdout.write(formatTable(['SERVICE', 'STATUS'], rows));
        const { alarms } = (await client.status()).node;
        for (const { kind, because } of alarms) context.stdout.write(`ALARM ${kind}: ${clean(because)}\n`);
        exit(answers[0] === 'SERVING' ? 0 : 1);
      } finally {
        client.close();
      }
    });
}
