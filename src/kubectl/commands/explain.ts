import type { Command } from 'commander';
import { write } from '../../cli/context';
import { formatData } from '../../cli/format/data';
import { terminalOf } from '../../cli/format/terminal';
import { isSelected } from '../../state/journal';
import { CpusetdError } from '../../core/errors';
import { showText } from '../../core/show-text';
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
import { isMissing } from '../rights';
import type { PluginContext } from '../context';

/** `kubectl cpuset explain`: why a pod has its CPUs, or was refused on its node. */
export function addExplainCommand(program: Command, context: PluginContext): void {
  const command = program
    .command('explain')
    .description('show why a pod has its CPUs, or was refused on its node')
    .argument('<pod>', 'namespace/name, or a name')
    .option('-n, --namespace <name>', 'the namespace of the pod, instead of that of the context')
    .addOption(createFormatOption(['table', 'json', 'yaml']));
  addDaemonOptions(addClusterOptions(command)).action(
    async (text: string, options: ClusterOptions & DaemonOptions & { output: Format; namespace?: string }) => {
      const client = connect(options, context);
      const { namespace, name } = await parsePodName(text, options.namespace, client);
      const { readPodNamed } = await import('../cluster/read-cluster');
      const { Daemons } = await import('../daemon/daemons');
      const { readExplanation, readHistory, readTopology } = await import('../daemon/read-answers');
      const { node } = await readPodNamed(client, namespace, name);
      const pod = `${namespace}/${name}`;
      if (node === '')
        throw new CpusetdError(
          'FAILED_PRECONDITION',
          `pod ${pod} is bound to no node yet: kubectl cpuset why-not ${pod} shows what is in the way`,
        );
      const daemons = new Daemons(client, options);
      const answer = await daemons.ask(node, '/api/v1/explain', { pod }).catch((error: unknown) => {
        if (!isMissing(error) || !(error as Error).message.endsWith('(404)')) throw error;
        throw new CpusetdError(
          'NOT_FOUND',
          `cpusetd on node ${node} knows no running pod ${pod}, nor one that it refused`,
        );
      });
      const history = readHistory(await daemons.ask(node, '/api/v1/history')).filter((record) =>
        isSelected(record, { pod: { namespace, pod: name, container: '' } }),
      );
      if (options.output === 'json' || options.output === 'yaml') {
        await write(context.stdout, await formatData({ node, ...(answer as object), history }, options.output));
        return;
      }
      const topology = readTopology(await daemons.ask(node, '/api/v1/topology'));
      const { formatExplanation } = await import('../../cli/explain/format-explanation');
      const { formatHistory } = await import('../../cli/explain/format-history');
      const terminal = terminalOf(context);
      const explanation = readExplanation(answer);
      const shown = [
        `${showText(`On node ${node}:`)}\n`,
        formatExplanation(explanation, topology, 0, terminal),
        formatHistory(explanation, history, topology, terminal),
      ];
      await write(context.stdout, shown.filter((part) => part !== '').join('\n'));
    },
  );
}
