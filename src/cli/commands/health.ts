import { Option, type Command } from 'commander';

import type { AdminClient } from '../../admin/client/admin-client';
import { HEALTH_SERVICES, type ServingStatus } from '../../admin/health-state';
import type { Alarm } from '../../admin/model/alarm';
import type { NodeStatus } from '../../admin/model/status';
import { CpusetdError } from '../../core/errors';
import { showText } from '../../core/show-text';
import { createAdminSocketOption } from '../options/node-options';
import { UsageError, write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { formatTable } from '../format/table';

type Output = 'table' | DataFormat;

interface HealthOptions {
  readonly adminSocket: string;
  readonly output: Output;
  readonly watch?: true;
}

/** `cpusetd health [SERVICE]`: exit 0 when the server as a whole, or the service that was named, is serving. */
export function addHealthCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const { stdout, signal } = context;
  program
    .command('health')
    .description('check whether the daemon is serving: exit 0 when it is, 1 when not')
    .argument('[service]', `only this one: ${SERVICES.join(', ')}; without it the daemon as a whole`)
    .option('-w, --watch', 'print a line at every change, until the daemon ends')
    .addOption(
      new Option('-o, --output <format>', 'how to print; --watch has lines of text only')
        .choices(['table', 'json', 'yaml'])
        .default('table'),
    )
    .addOption(createAdminSocketOption())
    .action(async (service: string | undefined, { adminSocket, output, watch }: HealthOptions) => {
      if (watch && output !== 'table')
        throw new UsageError(`--output ${output}: --watch prints a word at every change; leave one of them out`);
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        if (watch) await printChanges(client, service ?? '', context);
        else exit(await printHealth(client, service, output, stdout));
      } finally {
        client.close();
      }
      if (watch && !signal.aborted)
        throw new CpusetdError('UNAVAILABLE', 'cpusetd ended the watch: it is shutting down');
    });
}

const SERVICES = HEALTH_SERVICES.filter((service) => service !== '');

/**
 * The status of a service; `off`: the options of the daemon leave it out, for which the protocol has no word but
 * NOT_SERVING.
 */
interface ServiceHealth {
  /** Empty for the daemon as a whole. */
  readonly service: string;
  readonly status: ServingStatus | 'off' | 'UNKNOWN SERVICE';
}

async function printHealth(
  client: AdminClient,
  service: string | undefined,
  output: Output,
  stdout: CliContext['stdout'],
): Promise<ExitStatus> {
  const names = service === undefined ? HEALTH_SERVICES : [service];
  const answers = await Promise.all(names.map((name) => client.checkHealth(name)));
  if (service !== undefined && answers[0] === undefined) throw unknown(service);
  const { node } = await client.status();
  const services = names.map((name, i): ServiceHealth => ({
    service: name,
    status: nameStatus(node, name, answers[i]),
  }));
  const alarms = node.alarms.map(({ kind, because }) => ({ kind, because }));
  await write(
    stdout,
    output === 'table' ? formatHealth(services, alarms) : await formatData({ services, alarms }, output),
  );
  return answers[0] === 'SERVING' ? 0 : 1;
}

function nameStatus(node: NodeStatus, service: string, answer: ServingStatus | undefined): ServiceHealth['status'] {
  if (answer === undefined) return 'UNKNOWN SERVICE';
  return answer === 'NOT_SERVING' && isOff(node, service) ? 'off' : answer;
}

function isOff(node: NodeStatus, service: string): boolean {
  return (service === 'nri' || service === 'cri' || service === 'kube') && (node[service]?.state ?? 'off') === 'off';
}

function formatHealth(services: readonly ServiceHealth[], alarms: readonly Pick<Alarm, 'kind' | 'because'>[]): string {
  const table = formatTable(
    ['SERVICE', 'STATUS'],
    services.map(({ service, status }) => [service || '(all)', status]),
  );
  return [table, ...alarms.map(({ kind, because }) => `${showText(`ALARM ${kind}: ${because}`)}\n`)].join('');
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
