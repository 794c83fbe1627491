import { Option, type Command } from 'commander';
import { write } from '../../cli/context';
import { formatData, type DataFormat } from '../../cli/format/data';
import { terminalOf } from '../../cli/format/terminal';
import { addClusterOptions, addDaemonOptions, connect, type ClusterOptions, type DaemonOptions } from '../options';
import { checkName } from '../pod-name';
import type { PluginContext } from '../context';

/** `kubectl cpuset map`: the machine of a node, and the owner of each CPU. */
export function addMapCommand(program: Command, context: PluginContext): void {
  const command = program
    .command('map')
    .description('show the machine of a node, and who has which CPU')
    .argument('<node>')
    .addOption(
      new Option('-o, --output <format>', 'map is a picture, table has a row for each CPU')
        .choices(['map', 'table', 'json', 'yaml'])
        .default('map'),
    );
  addDaemonOptions(addClusterOptions(command)).action(
    async (node: string, options: ClusterOptions & DaemonOptions & { output: 'map' | 'table' | DataFormat }) => {
      const { Daemons } = await import('../daemon/daemons');
      const { readMachine } = await import('../daemon/read-answers');
      const daemons = new Daemons(connect(options, context), options);
      const answer = await daemons.ask(checkName(node, 'node'), '/api/v1/topology');
      const { output } = options;
      if (output === 'json' || output === 'yaml') {
        await write(context.stdout, await formatData(answer as object, output));
        return;
      }
      const view = readMachine(answer);
      const terminal = terminalOf(context);
      const text =
        output === 'map'
          ? (await import('../../cli/topology/draw-map')).formatPicture(view, terminal)
          : (await import('../../cli/topology/describe-cpus')).formatCpus(view, terminal);
      await write(context.stdout, text);
    },
  );
}
