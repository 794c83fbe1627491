import { Option, type Command } from 'commander';

import { createAdminSocketOption } from '../options/admin-socket';
import { write, type CliContext } from '../context';
import { formatData } from '../format/data';
import type { MachineView } from '../topology/machine-view';

interface TopologyOptions {
  readonly output: 'map' | 'table' | 'json';
  readonly topology?: string;
  readonly adminSocket: string;
}

/** `cpusetd topology`: shows the machine and the owner of each CPU. */
export function addTopologyCommand(program: Command, context: CliContext): void {
  program
    .command('topology')
    .description('show the machine, and who has which CPU')
    .addOption(
      new Option('-o, --output <format>', 'map is a picture, table has a row for each CPU')
        .choices(['map', 'table', 'json'])
        .default('map'),
    )
    .option('--topology <file|live>', 'only the machine, without a daemon: that of a file, or this one')
    .addOption(createAdminSocketOption())
    .action(async ({ output, topology, adminSocket }: TopologyOptions) => {
      const view = topology === undefined ? await askDaemon(adminSocket) : await readFrom(topology);
      await write(context.stdout, await format(view, output));
    });
}

async function askDaemon(adminSocket: string): Promise<MachineView> {
  const { connectAdmin } = await import('../../admin/client/admin-client');
  const { viewStatus } = await import('../topology/machine-view');
  const client = await connectAdmin(adminSocket);
  try {
    return viewStatus(await client.topology());
  } finally {
    client.close();
  }
}

async function readFrom(topology: string): Promise<MachineView> {
  const { readMachine } = await import('../machine/read-machine');
  const { viewMachine } = await import('../topology/machine-view');
  return viewMachine(readMachine(topology));
}

async function format(view: MachineView, output: TopologyOptions['output']): Promise<string> {
  if (output === 'map') {
    const { formatPicture } = await import('../topology/draw-map');
    return formatPicture(view);
  }
  const { describeMachine, formatCpus } = await import('../topology/describe-cpus');
  return output === 'table' ? formatCpus(view) : formatData(describeMachine(view), output);
}
