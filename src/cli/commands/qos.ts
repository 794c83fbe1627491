import { Option, type Command } from 'commander';

import type { NodeStatus, StatusChange } from '../../admin/model/status';
import { escapeJson } from '../../core/show-text';
import { write, type CliContext } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { keepWatching } from '../format/keep-watching';
import { Screen } from '../format/screen';
import { terminalOf } from '../format/terminal';
import { createAdminSocketOption } from '../options/node-options';

type Format = 'table' | DataFormat;
type Shown = Pick<NodeStatus, 'usage' | 'qos' | 'lent'>;

interface QosOptions {
  readonly output: Format;
  readonly watch?: true;
  readonly adminSocket: string;
}

/**
 * `cpusetd qos`: prints the measured use of the node, the rules that follow from it, what they did, and what is lent.
 */
export function addQosCommand(program: Command, context: CliContext): void {
  program
    .command('qos')
    .description('show how busy the node and promised CPUs are, what rules do about it, and what is lent')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .option('-w, --watch', 'print again at every reading and change; with json, one document a line')
    .addOption(createAdminSocketOption())
    .action(async ({ output, watch, adminSocket }: QosOptions) => {
      if (watch) {
        await printChanges(adminSocket, output, context);
        return;
      }
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        const { node } = await client.status();
        await write(context.stdout, await format(node, output, context));
      } finally {
        client.close();
      }
    });
}

async function printChanges(adminSocket: string, output: Format, context: CliContext): Promise<void> {
  const { stdout, signal } = context;
  let node: NodeStatus | undefined;
  let last = '';
  const isPainted = stdout.isTTY && output === 'table';
  const screen = isPainted ? new Screen(stdout, async () => (node ? format(node, output, context) : '')) : undefined;
  const print = async (current: NodeStatus): Promise<void> => {
    const text =
      output === 'json' ? `${escapeJson(JSON.stringify(pick(current)))}\n` : await format(current, output, context);
    if (text === last) return; // a change of something else
    last = text;
    await write(stdout, output === 'json' ? text : output === 'yaml' ? `---\n${text}` : `\n${text}`);
  };
  try {
    await keepWatching({ adminSocket, signal, screen }, async (client) => {
      for await (const change of client.watch(signal)) {
        node = nodeOf(change);
        if (node) await (screen ? screen.refresh() : print(node));
      }
    });
  } finally {
    screen?.close();
  }
}

/** Undefined for a change that is not of the node. */
function nodeOf(change: StatusChange): NodeStatus | undefined {
  return change.kind === 'full' ? change.status.node : change.kind === 'node' ? change.node : undefined;
}

async function format(node: NodeStatus, output: Format, context: CliContext): Promise<string> {
  if (output !== 'table') return formatData(pick(node), output);
  const { formatQos } = await import('../qos/format-qos');
  return formatQos(node, terminalOf(context));
}

/** Each is left out while it is off, as in the status. */
function pick({ usage, qos, lent }: NodeStatus): Shown {
  return { ...(usage && { usage }), ...(qos && { qos }), ...(lent && { lent }) };
}
