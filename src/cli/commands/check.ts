import { Option, type Command } from 'commander';

import { write, type CliContext, type ExitStatus } from '../context';
import { formatData } from '../format/data';
import { terminalOf } from '../format/terminal';
import { addRunOptions, readRunOptions } from '../options/run-options';

interface CheckOptions {
  readonly output: 'table' | 'json';
  readonly reportOnly?: true;
}

/** `cpusetd check`: looks at a node before cpusetd runs there, with the options of `cpusetd run`; exit 1 when something is in its way. */
export function addCheckCommand(program: Command, context: CliContext, exit: (status: ExitStatus) => void): void {
  const command = program
    .command('check')
    .description('tell whether cpusetd can run on this node, with these options (exit 1 when not); changes nothing')
    .addOption(new Option('-o, --output <format>', 'how to print').choices(['table', 'json']).default('table'))
    .option('--report-only', 'exit 0 whatever is found');
  addRunOptions(command);
  command.action(async ({ output, reportOnly }: CheckOptions) => {
    const { config } = await readRunOptions(command, context);
    const { collectFacts } = await import('../check/collect-facts');
    const { judgeFacts } = await import('../check/judge-facts');
    const { formatFindings } = await import('../check/format-findings');
    const findings = judgeFacts(await collectFacts(config, { procRoot: '/proc', etcRoot: '/etc' }));
    const text =
      output === 'json' ? await formatData({ findings }, 'json') : formatFindings(findings, terminalOf(context));
    await write(context.stdout, text);
    exit(reportOnly || findings.every(({ level }) => level !== 'error') ? 0 : 1);
  });
}
