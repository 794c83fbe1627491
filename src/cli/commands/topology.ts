import { setTimeout as delay } from 'node:timers/promises';
import { Option, type Command } from 'commander';

import type { AdminClient } from '../../admin/client/admin-client';
import { escapeJson } from '../../core/show-text';
import { busyBetween, readCpuTimes, type CpuTimes } from '../../host';
import { UsageError, write, type CliContext } from '../context';
import { formatData } from '../format/data';
import { keepWatching } from '../format/keep-watching';
import { Screen } from '../format/screen';
import { terminalOf } from '../format/terminal';
import { createAdminSocketOption, createAtOption, createStateDirOption } from '../options/node-options';
import type { MachineView } from '../../admin/machine/machine-view';

type Format = 'map' | 'table' | 'json' | 'yaml';

interface TopologyOptions {
  readonly output: Format;
  readonly topology?: string;
  readonly busy?: true;
  readonly watch?: true;
  readonly adminSocket: string;
  /** ms since 1970. */
  readonly at?: number;
  readonly stateDir: string;
}

/** Time over which it is measured how busy CPUs are, in ms. */
const MEASURE_MS = 1_000;

/** `cpusetd topology`: shows the machine and the owner of each CPU. */
export function addTopologyCommand(program: Command, context: CliContext): void {
  program
    .command('topology')
    .description('show the machine, and who has which CPU')
    .addOption(
      new Option('-o, --output <format>', 'map is a picture, table has a row for each CPU')
        .choices(['map', 'table', 'json', 'yaml'])
        .default('map'),
    )
    .option('--topology <file|live>', 'only the machine, without a daemon: that of a file, or this one')
    .option('--busy', 'how busy each CPU of this machine is, over a second; with -o table, json or yaml')
    .option('-w, --watch', 'print again at every change, with --busy every second; with json, one document a line')
    .addOption(createAtOption('the owners as they were at that time, by the journal'))
    .addOption(createStateDirOption('where the journal is, for --at'))
    .addOption(createAdminSocketOption())
    .action(async (options: TopologyOptions) => {
      const { output, topology, busy, watch, adminSocket, at } = options;
      if (watch && topology !== undefined)
        throw new UsageError('--watch: a machine alone does not change; leave --topology out');
      if (busy && output === 'map') throw new UsageError('--busy: the map has no room for it; add -o table');
      if (at !== undefined) {
        if (watch || busy || topology !== undefined)
          throw new UsageError('--at: is of the past; leave --watch, --busy and --topology out');
        await printAt(at, options, context);
        return;
      }
      const meter = busy && new BusyMeter();
      if (topology !== undefined) {
        const view = await readFrom(topology);
        await meter?.wait(context.signal);
        await write(context.stdout, await format(addBusy(view, meter), output, context));
        return;
      }
      if (watch) {
        await printChanges({ adminSocket, output, meter }, context);
        return;
      }
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        await meter?.wait(context.signal);
        await write(context.stdout, await format(addBusy(await ask(client), meter), output, context));
      } finally {
        client.close();
      }
    });
}

/** Measures how busy CPUs are, from one call to the next. */
class BusyMeter {
  private before: ReadonlyMap<number, CpuTimes> = readCpuTimes();

  async wait(signal: AbortSignal): Promise<void> {
    await delay(MEASURE_MS, undefined, { signal }).catch(() => undefined);
  }

  read(): ReadonlyMap<number, number> {
    const after = readCpuTimes();
    const parts = busyBetween(this.before, after);
    this.before = after;
    return parts;
  }
}

function addBusy(view: MachineView, meter: BusyMeter | undefined): MachineView {
  return meter ? { ...view, busy: meter.read() } : view;
}

interface Watching {
  readonly adminSocket: string;
  readonly output: Format;
  readonly meter: BusyMeter | undefined;
}

/** With a meter every second, else at each change of the status. */
async function printChanges({ adminSocket, output, meter }: Watching, context: CliContext): Promise<void> {
  const { stdout, signal } = context;
  let view: MachineView | undefined;
  let last = '';
  const isPainted = stdout.isTTY && (output === 'map' || output === 'table');
  const screen = isPainted ? new Screen(stdout, async () => (view ? format(view, output, context) : '')) : undefined;
  const print = async (current: MachineView): Promise<void> => {
    const text = output === 'json' ? await formatLine(current) : await format(current, output, context);
    if (text === last) return;
    last = text;
    await write(stdout, output === 'json' ? text : output === 'yaml' ? `---\n${text}` : `\n${text}`);
  };
  try {
    await keepWatching({ adminSocket, signal, screen }, async (client) => {
      const show = async (): Promise<void> => {
        view = addBusy(await ask(client), meter);
        await (screen ? screen.refresh() : print(view));
      };
      if (!meter) {
        for await (const _change of client.watch(signal)) await show();
        return;
      }
      while (!signal.aborted) {
        await meter.wait(signal);
        if (!signal.aborted) await show();
      }
    });
  } finally {
    screen?.close();
  }
}

/** Prints the owners of a time. It needs no daemon. */
async function printAt(atMs: number, { output, stateDir }: TopologyOptions, context: CliContext): Promise<void> {
  const { readNodeAt } = await import('../at/node-at');
  const { viewStatus } = await import('../../admin/machine/machine-view');
  const then = await readNodeAt(stateDir, atMs);
  const text = await format(viewStatus({ ...then.topology, node: then.node }), output, context);
  const { formatHead } = await import('../at/format-node-at');
  const head = output === 'map' || output === 'table' ? `${formatHead(then, terminalOf(context))}\n` : '';
  await write(context.stdout, head + text);
}

async function ask(client: AdminClient): Promise<MachineView> {
  const { viewStatus } = await import('../../admin/machine/machine-view');
  return viewStatus(await client.topology());
}

async function readFrom(from: string): Promise<MachineView> {
  const { readWholeMachine } = await import('../machine/read-machine');
  const { viewMachine } = await import('../../admin/machine/machine-view');
  const { topology, offline } = readWholeMachine(from);
  return viewMachine(topology, offline);
}

async function formatLine(view: MachineView): Promise<string> {
  const { describeMachine } = await import('../../admin/machine/describe-machine');
  return `${escapeJson(JSON.stringify(describeMachine(view)))}\n`;
}

async function format(view: MachineView, output: Format, context: CliContext): Promise<string> {
  const terminal = terminalOf(context);
  if (output === 'map') {
    const { formatPicture } = await import('../topology/draw-map');
    return formatPicture(view, terminal);
  }
  if (output === 'table') return (await import('../topology/describe-cpus')).formatCpus(view, terminal);
  const { describeMachine } = await import('../../admin/machine/describe-machine');
  return formatData(describeMachine(view), output);
}
