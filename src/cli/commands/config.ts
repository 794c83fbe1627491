import { Option, type Command } from 'commander';

import { describeFile } from '../../app/config';
import { write, type CliContext } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { addNodeOptions, readNodeOptions } from '../options/run-options';

interface ExplainOptions {
  readonly output: 'table' | DataFormat;
}

/**
 * `cpusetd config explain` and `cpusetd config schema`: the options of a node, and the structure of the file that holds
 * them.
 */
export function addConfigCommand(program: Command, context: CliContext): void {
  const config = program
    .command('config')
    .description('show which options a node has and where each was set; the structure of the file')
    .helpCommand(false);
  addExplain(config, context);
  config
    .command('schema')
    .description('print the JSON Schema of the --config file, for editors')
    .action(async () => {
      await write(context.stdout, await formatData(await describeFile(), 'json'));
    });
}

function addExplain(config: Command, context: CliContext): void {
  const command = config
    .command('explain')
    .description('with these options: the value of each, where it was set, and whether a change needs a restart')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'));
  addNodeOptions(command);
  command.action(async ({ output }: ExplainOptions) => {
    const loaded = await readNodeOptions(command, context);
    const { explainOptions, formatOptions } = await import('../config/explain-options');
    const explanation = explainOptions(loaded);
    const text =
      output === 'table' ? formatOptions(explanation, terminalOf(context)) : await formatData(explanation, output);
    await write(context.stdout, text);
  });
}
