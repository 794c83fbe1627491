import { InvalidArgumentError, Option, type Command } from 'commander';

import type { Status, StatusChange } from '../../admin/model/status';
import { escapeJson } from '../../core/show-text';
import { VERDICT_KINDS, type VerdictKind } from '../../core/verdict/judge';
import { complain, UsageError, write, type CliContext, type ExitStatus } from '../context';
import { parsePod } from '../explain/parse-target';
import { formatData, type DataFormat } from '../format/data';
import { keepWatching } from '../format/keep-watching';
import { Screen } from '../format/screen';
import { terminalOf } from '../format/terminal';
import { createAdminSocketOption, createAtOption, createStateDirOption } from '../options/node-options';
import {
  BROKEN_VERDICTS,
  filterStatus,
  isEmptyFilter,
  isOfPod,
  type OfPod,
  type StatusFilter,
} from '../status/filter-status';

type Format = 'table' | 'wide' | DataFormat;

interface StatusOptions {
  readonly namespace?: string;
  readonly verdict?: ReadonlySet<VerdictKind>;
  readonly drifted?: true;
  readonly output: Format;
  readonly watch?: true;
  readonly adminSocket: string;
  /** ms since 1970. */
  readonly at?: number;
  readonly stateDir: string;
}

/**
 * `cpusetd status`: prints promise, observation, verdict and reason of each container; exit 1 when a pod is asked for
 * that has none.
 */
export function addStatusCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  program
    .command('status')
    .description('show what each container was promised, what the kernel has for it, and why')
    .argument('[pod]', 'only this pod: namespace/name, name, or uid')
    .option('-n, --namespace <name>', 'only pods of this namespace')
    .addOption(
      new Option('--verdict <kinds>', 'only containers with these verdicts, such as kept,pending').argParser(
        parseVerdicts,
      ),
    )
    .option('--drifted', `only containers that need a look: ${BROKEN_VERDICTS.join(', ')}`)
    .addOption(
      new Option('-o, --output <format>', 'how to print; wide has all columns')
        .choices(['table', 'wide', 'json', 'yaml'])
        .default('table'),
    )
    .option('-w, --watch', 'print again at every change; with json, one document a line')
    .addOption(createAtOption('the node as it was at that time, by the journal'))
    .addOption(createStateDirOption('where the journal is, for --at'))
    .addOption(createAdminSocketOption())
    .action(async (pod: string | undefined, options: StatusOptions) => {
      const { output, watch, adminSocket, at, stateDir } = options;
      if (at !== undefined) {
        await printAt(at, { stateDir, pod, options }, context);
        return;
      }
      const filter = readFilter(pod, options);
      const select = (status: Status): Status => filterStatus(status, filter);
      const format = (status: Status): Promise<string> =>
        formatStatus(select(status), output, isEmptyFilter(filter), context);
      if (watch) {
        await printChanges({ adminSocket, output, select, format }, context);
        return;
      }
      const { connectAdmin } = await import('../../admin/client/admin-client');
      const client = await connectAdmin(adminSocket);
      try {
        const status = await client.status();
        await write(context.stdout, await format(status));
        if (pod !== undefined && hasNothing(select(status))) {
          complain(
            context.stderr,
            `no container of the pod "${pod}" on ${nameNode(status)}: cpusetd explain ${pod} has what is known of it`,
          );
          exit(1);
        }
      } finally {
        client.close();
      }
    });
}

/** Prints the node as it was. It needs no daemon. */
async function printAt(
  atMs: number,
  {
    stateDir,
    pod,
    options,
  }: { readonly stateDir: string; readonly pod: string | undefined; readonly options: StatusOptions },
  context: CliContext,
): Promise<void> {
  const { output, watch } = options;
  if (watch) throw new UsageError('--at: the past does not change; leave --watch out');
  if (options.verdict || options.drifted)
    throw new UsageError(
      '--at: the journal has no verdicts; leave --verdict and --drifted out, and see cpusetd events --kind drifted',
    );
  const filter = readFilter(pod, options);
  const { readNodeAt } = await import('../at/node-at');
  const { topology: _machine, containers, idle, ...known } = await readNodeAt(stateDir, atMs);
  const isMeant = (subject: OfPod): boolean => isOfPod(subject, filter);
  const then = { ...known, containers: containers.filter(isMeant), idle: idle.filter(isMeant) };
  const isWhole = isEmptyFilter(filter);
  if (output === 'json' || output === 'yaml') await write(context.stdout, await formatData(then, output));
  else {
    const { formatNodeAt } = await import('../at/format-node-at');
    await write(context.stdout, formatNodeAt(then, { isWhole, terminal: terminalOf(context) }));
  }
}

function hasNothing({ containers, idle }: Status): boolean {
  return containers.length === 0 && idle.length === 0;
}

function nameNode({ node: { nodeName } }: Status): string {
  return nodeName === undefined ? 'this node' : `node ${nodeName}`;
}

/** Throws UsageError for options that contradict each other. */
function readFilter(named: string | undefined, { namespace, verdict, drifted }: StatusOptions): StatusFilter {
  if (verdict && drifted) throw new UsageError('--drifted: is a list of verdicts itself; leave --verdict out');
  const wanted = named === undefined ? undefined : parsePod(named);
  if (wanted && wanted.namespace !== '' && namespace !== undefined && wanted.namespace !== namespace)
    throw new UsageError(`pod "${named!}": is not in --namespace ${namespace}; name one of them`);
  const within = wanted?.namespace || namespace;
  const verdicts = drifted ? new Set(BROKEN_VERDICTS) : verdict;
  return {
    ...(within !== undefined && { namespace: within }),
    ...(wanted && { pod: wanted.pod }),
    ...(verdicts && { verdicts }),
  };
}

function parseVerdicts(text: string): ReadonlySet<VerdictKind> {
  const kinds = text.split(',').map((kind) => kind.trim());
  const known = VERDICT_KINDS.filter((kind) => kinds.includes(kind));
  if (known.length === kinds.length) return new Set(known);
  throw new InvalidArgumentError(`There is no such verdict; choose from ${VERDICT_KINDS.join(', ')}.`);
}

interface Watching {
  readonly adminSocket: string;
  readonly output: Format;
  /** The containers that were asked for. */
  readonly select: (status: Status) => Status;
  readonly format: (status: Status) => Promise<string>;
}

async function printChanges(
  { adminSocket, output, select, format }: Watching,
  { stdout, signal }: CliContext,
): Promise<void> {
  let status: Status | undefined;
  let last = '';
  const isPainted = stdout.isTTY && (output === 'table' || output === 'wide');
  const screen = isPainted ? new Screen(stdout, async () => (status ? format(status) : '')) : undefined;
  const print = async (current: Status): Promise<void> => {
    const text = output === 'json' ? `${escapeJson(JSON.stringify(select(current)))}\n` : await format(current);
    if (text === last) return; // a change of another container
    last = text;
    await write(stdout, output === 'json' ? text : output === 'yaml' ? `---\n${text}` : `\n${text}`);
  };
  try {
    await keepWatching({ adminSocket, signal, screen }, async (client) => {
      for await (const change of client.watch(signal)) {
        status = applyChange(status, change);
        if (status) await (screen ? screen.refresh() : print(status));
      }
    });
  } finally {
    screen?.close();
  }
}

async function formatStatus(status: Status, output: Format, isWhole: boolean, context: CliContext): Promise<string> {
  if (output === 'json' || output === 'yaml') return formatData(status, output);
  const { formatStatusTable } = await import('../status/status-table');
  return formatStatusTable(status, {
    terminal: terminalOf(context),
    isWide: output === 'wide',
    isFiltered: !isWhole,
  });
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
