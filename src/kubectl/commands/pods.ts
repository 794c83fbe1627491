import type { Command } from 'commander';
import type { ExitStatus } from '../../cli/context';
import { BROKEN_VERDICTS } from '../../cli/status/filter-status';
import { compareTexts } from '../../core/text';
import {
  addClusterOptions,
  addDaemonOptions,
  connect,
  createFormatOption,
  type ClusterOptions,
  type DaemonOptions,
  type Format,
} from '../options';
import { print } from '../print';
import { complain, type PluginContext } from '../context';

interface PodsOptions extends ClusterOptions, DaemonOptions {
  readonly output: Format;
  readonly namespace?: string;
  readonly node?: string;
  readonly all?: true;
  readonly drifted?: true;
}

/** `kubectl cpuset pods`: the containers with CPUs of their own, and their verdicts, as their daemons report them. */
export function addPodsCommand(program: Command, context: PluginContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('pods')
    .description('show the pinned containers with their CPUs and verdicts, as their daemons report them')
    .option('-n, --namespace <name>', 'only pods of this namespace')
    .option('--node <name>', 'only on this node')
    .option('--all', 'shared containers too')
    .option('--drifted', `only containers that need a look: ${BROKEN_VERDICTS.join(', ')}; shared ones too`)
    .addOption(createFormatOption());
  addDaemonOptions(addClusterOptions(command)).action(async (options: PodsOptions) => {
    const { namespace, all, drifted, output } = options;
    const { askNodes, describeNone } = await import('../daemon/ask-nodes');
    const { readContainers } = await import('../daemon/read-answers');
    const { answers, failures } = await askNodes(
      { client: connect(options, context), options },
      async (name, daemons) =>
        readContainers(await daemons.ask(name, '/api/v1/status')).map((container) => ({ node: name, ...container })),
    );
    const containers = answers
      .flat()
      .filter((each) => namespace === undefined || each.namespace === namespace)
      .filter(({ placement, verdict }) =>
        drifted
          ? BROKEN_VERDICTS.some((each) => each === verdict)
          : (all ?? (placement !== 'shared' && placement !== 'left-alone')),
      )
      .sort((a, b) => compareTexts(`${a.namespace}/${a.pod}/${a.container}`, `${b.namespace}/${b.pod}/${b.container}`));
    const isWide = output === 'wide';
    await print(context, output, {
      headers: ['POD', 'CONTAINER', 'NODE', ...(isWide ? ['POLICY'] : []), 'CPUS', 'KERNEL', 'VERDICT', 'BECAUSE'],
      rows: containers.map((each) => [
        `${each.namespace}/${each.pod}`,
        each.container,
        each.node,
        ...(isWide ? [each.policy] : []),
        each.promised,
        each.kernel === each.promised ? '' : each.kernel,
        each.verdict,
        each.because,
      ]),
      empty: describeNone(drifted ? 'No container needs a look' : 'No pinned containers', { answers, failures }),
      data: { containers, ...(failures.length > 0 && { failures }) },
    });
    complain(context.stderr, ...failures);
    exit(failures.length > 0 ? 1 : 0);
  });
}
