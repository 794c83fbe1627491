import { Option, type Command } from 'commander';
import type { ExitStatus } from '../../cli/context';
import { toneOfEvent } from '../../cli/events/event-tone';
import { parseKinds, parseTime } from '../../cli/events/parse-filter';
import { cellsOf, EVENT_COLUMNS, isSelected } from '../../state/journal';
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
import { parsePodName } from '../pod-name';
import { print } from '../print';
import { complain, type PluginContext } from '../context';

interface EventsOptions extends ClusterOptions, DaemonOptions {
  readonly output: Format;
  readonly namespace?: string;
  readonly node?: string;
  readonly since?: number;
  readonly kind?: ReadonlySet<string>;
}

/** `kubectl cpuset events`: what has happened, from the last records of each daemon's journal. */
export function addEventsCommand(program: Command, context: PluginContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('events')
    .description('show what has happened lately on all nodes: decisions, refusals, drift, repairs, gaps, alarms')
    .argument('[pod]', 'only of this pod: namespace/name, or a name')
    .option('-n, --namespace <name>', 'the namespace of the pod, instead of that of the context')
    .option('--node <name>', 'only of this node')
    .addOption(
      new Option('--since <time>', 'only later than this: a duration like 10m, or a time').argParser(parseTime),
    )
    .addOption(new Option('--kind <kinds>', 'only of these kinds, such as pinned,refused').argParser(parseKinds))
    .addOption(createFormatOption(['table', 'json', 'yaml']));
  addDaemonOptions(addClusterOptions(command)).action(async (text: string | undefined, options: EventsOptions) => {
    const client = connect(options, context);
    const { askNodes, describeNone } = await import('../daemon/ask-nodes');
    const { readHistory } = await import('../daemon/read-answers');
    const { since, kind } = options;
    const pod = text === undefined ? undefined : await parsePodName(text, options.namespace, client);
    const filter = {
      ...(since !== undefined && { sinceMs: since }),
      ...(kind && { kinds: kind }),
      ...(pod && { pod: { namespace: pod.namespace, pod: pod.name, container: '' } }),
    };
    const { answers, failures } = await askNodes({ client, options }, async (name, daemons) =>
      readHistory(await daemons.ask(name, '/api/v1/history'))
        .filter((record) => isSelected(record, filter))
        .map((record) => ({ node: name, record })),
    );
    const events = answers.flat().sort((a, b) => compareTexts(a.record.at, b.record.at));
    const [time, ...others] = EVENT_COLUMNS;
    await print(context, options.output, {
      headers: [time, 'NODE', ...others],
      rows: events.map(({ node: node, record }) => {
        const [at = '', ...cells] = cellsOf(record);
        return [at, node, ...cells];
      }),
      toneOf: toneOfEvent,
      empty: describeNone('No such events among the last records', { answers, failures }),
      data: { events: events.map(({ node: name, record }) => ({ node: name, ...record })) },
    });
    complain(context.stderr, ...failures);
    exit(failures.length > 0 ? 1 : 0);
  });
}
