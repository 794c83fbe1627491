import { Option, type Command } from 'commander';

import { complain, UsageError, write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { terminalOf } from '../format/terminal';
import { addNodeOptions, readNodeOptions } from '../options/run-options';

interface CheckOptions {
  readonly output: 'table' | DataFormat;
  readonly reportOnly?: true;
}

/**
 * `cpusetd check`: looks at a node before cpusetd runs there, with the options of `cpusetd run`; exit 1 when something
 * is in its way.
 */
export function addCheckCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('check')
    .description('check whether cpusetd can run on this node, with these options (exit 1 when not); changes nothing')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json', 'yaml']).default('table'))
    .option('--report-only', 'exit 0 whatever is found, also when the check itself fails');
  addNodeOptions(command);
  command.action(async ({ output, reportOnly }: CheckOptions) => {
    try {
      const hasErrors = await check(output);
      exit(hasErrors && !reportOnly ? 1 : 0);
    } catch (error) {
      if (!reportOnly) throw error;
      // Programs that start after it must not depend on it.
      const message = error instanceof Error ? error.message : String(error);
      complain(context.stderr, ...(error instanceof UsageError ? error.faults : [message]));
    }
  });

  async function check(output: CheckOptions['output']): Promise<boolean> {
    const { config, file } = await readNodeOptions(command, context);
    const { collectFacts } = await import('../check/collect-facts');
    const { judgeFacts } = await import('../check/judge-facts');
    const { formatFindings } = await import('../check/format-findings');
    const findings = judgeFacts({
      ...(await collectFacts(config, { procRoot: '/proc', etcRoot: context.etcRoot })),
      ...(file && { optionsFrom: file.path }),
    });
    const text =
      output === 'table' ? formatFindings(findings, terminalOf(context)) : await formatData({ findings }, output);
    await write(context.stdout, text);
    return findings.some(({ level }) => level === 'error');
  }
}
