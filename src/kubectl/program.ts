import { Command, CommanderError } from 'commander';
import { completeForCobra } from '../cli/completion/cobra';
import { UsageError, write, type ExitStatus } from '../cli/context';
import { describeCommand } from '../cli/help/command-tree';
import { formatExamples } from '../cli/help/examples';
import { CpusetdError } from '../core/errors';
import { showLines } from '../core/show-text';
import { addDrainCheckCommand } from './commands/drain-check';
import { addEventsCommand } from './commands/events';
import { addExplainCommand } from './commands/explain';
import { addMapCommand } from './commands/map';
import { addNodesCommand } from './commands/nodes';
import { addPodsCommand } from './commands/pods';
import { addTopCommand } from './commands/top';
import { addWhyNotCommand } from './commands/why-not';
import { complain, type PluginContext } from './context';
import { EXAMPLES } from './examples';

/** Runs one command line of `kubectl cpuset` and returns the exit status. */
export async function runPlugin(args: readonly string[], context: PluginContext): Promise<ExitStatus> {
  let status: ExitStatus = 0;
  const program = createPlugin(context, (exitStatus) => (status = exitStatus));
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError)
      return ['commander.helpDisplayed', 'commander.version'].includes(error.code) ? 0 : 2; // it has printed its message
    if (error instanceof UsageError) {
      complain(context.stderr, ...error.faults);
      return 2;
    }
    if (!(error instanceof CpusetdError)) throw error;
    complain(context.stderr, error.message);
    return 1;
  }
}

/**
 * Prints what could stand at the end of a command line of `kubectl cpuset`, when kubectl asks for it. The API server is
 * not asked.
 */
export async function completePlugin(words: readonly string[], context: PluginContext): Promise<void> {
  const program = describeCommand(createPlugin(context, () => undefined));
  await write(context.stdout, completeForCobra(program, words));
}

/** The command line. `exit` gets the exit status of a command that has another than 0. */
export function createPlugin(context: PluginContext, exit: (status: ExitStatus) => void): Command {
  const program = new Command('kubectl cpuset')
    .description('Exclusive CPUs of all nodes, as cpusetd gives them. Reads only.')
    .version(context.version, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nSee kubectl cpuset COMMAND --help.\nExit status: 0 fine, 1 the answer is no or could not be had, 2 wrong usage.',
    )
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      outputError: (text, print) => print(showLines(text.replace(/^error: /, 'kubectl cpuset: '))),
    });
  addNodesCommand(program, context, exit);
  addPodsCommand(program, context, exit);
  addMapCommand(program, context);
  addExplainCommand(program, context);
  addWhyNotCommand(program, context, exit);
  addEventsCommand(program, context, exit);
  addTopCommand(program, context);
  addDrainCheckCommand(program, context, exit);
  for (const command of program.commands) {
    command.showHelpAfterError(`See kubectl cpuset ${command.name()} --help.`);
    command.addHelpText('after', formatExamples(EXAMPLES[command.name()] ?? []));
  }
  return program.showHelpAfterError('See kubectl cpuset --help.');
}
