import { Command, CommanderError } from 'commander';

import { CpusetdError } from '../core/errors';
import { showLines } from '../core/show-text';
import { HostError } from '../host/host-error';
import { addAllocateCommand } from './commands/allocate';
import { addAnnotatorCommand } from './commands/annotator';
import { addAuditCommand } from './commands/audit';
import { addCheckCommand } from './commands/check';
import { addCompletionCommands } from './commands/completion';
import { addConfigCommand } from './commands/config';
import { addCpuCommand } from './commands/cpu';
import { addEventsCommand } from './commands/events';
import { addExplainCommand } from './commands/explain';
import { addExtenderCommand } from './commands/extender';
import { addHealthCommand } from './commands/health';
import { addPolicyCommand } from './commands/policy';
import { addProfileCommand } from './commands/profile';
import { addQosCommand } from './commands/qos';
import { addReplayCommand } from './commands/replay';
import { addReportCommand } from './commands/report';
import { addRunCommand } from './commands/run';
import { addStateCommand } from './commands/state';
import { addStatusCommand } from './commands/status';
import { addTopCommand } from './commands/top';
import { addTopologyCommand } from './commands/topology';
import { EXAMPLES, formatExamples } from './help/examples';
import { fillFromNode } from './options/node-config';
import { complain, UsageError, type CliContext, type ExitStatus } from './context';

/** Runs one command line (without interpreter and script) and returns the exit status. */
export async function runCli(args: readonly string[], context: CliContext): Promise<ExitStatus> {
  let status: ExitStatus = 0;
  const program = createProgram(context, (exitStatus) => (status = exitStatus));
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return isHelp(error, args) ? 0 : 2; // it has printed its message
    if (error instanceof UsageError || error instanceof CpusetdError) {
      complain(context.stderr, ...(error instanceof UsageError ? error.faults : [error.message]));
      return error instanceof UsageError || error.code === 'INVALID_ARGUMENT' ? 2 : 1;
    }
    if (error instanceof HostError) {
      complain(context.stderr, error.message);
      return 1;
    }
    throw error;
  }
}

/** The command line. `exit` gets the exit status of a command that has another than 0. */
export function createProgram(context: CliContext, exit: (status: ExitStatus) => void): Command {
  const program = new Command('cpusetd')
    .description('Exclusive CPUs for Kubernetes containers, outside the kubelet.')
    .version(context.version, '--version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .addHelpText('after', '\nSee cpusetd COMMAND --help.\nExit status: 0 fine, 1 the answer is no, 2 wrong usage.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      outputError: (text, print) => print(showLines(text.replace(/^error: /, 'cpusetd: '))),
    });
  program.hook('preAction', (_, command) => fillFromNode(command, context));
  // Subcommands inherit these settings only when `program.command` makes them.
  addRunCommand(program, context);
  addCheckCommand(program, context, exit);
  addConfigCommand(program, context);
  addStatusCommand(program, context, exit);
  addTopCommand(program, context);
  addTopologyCommand(program, context);
  addCpuCommand(program, context);
  addExplainCommand(program, context, exit);
  addEventsCommand(program, context);
  addReplayCommand(program, context, exit);
  addAuditCommand(program, context, exit);
  addQosCommand(program, context);
  addProfileCommand(program, context);
  addHealthCommand(program, context, exit);
  addReportCommand(program, context);
  addAllocateCommand(program, context, exit);
  addStateCommand(program, context, exit);
  addPolicyCommand(program, context, exit);
  addAnnotatorCommand(program, context, exit);
  addExtenderCommand(program, context, exit);
  addCompletionCommands(program, context);
  for (const command of program.commands) addHints(command, command.name());
  return program.showHelpAfterError('See cpusetd --help.');
}

/** Adds examples to the help of a command and those below it, and to wrong usage the way to that help. */
function addHints(command: Command, path: string): void {
  command.showHelpAfterError(`See cpusetd ${path} --help.`);
  const examples = EXAMPLES[path] ?? command.commands.flatMap((sub) => EXAMPLES[`${path} ${sub.name()}`] ?? []);
  if (examples.length > 0) command.addHelpText('after', formatExamples(examples));
  for (const sub of command.commands) addHints(sub, `${path} ${sub.name()}`);
}

/** Help on request is an answer; help because no command was given is not. */
function isHelp({ code }: CommanderError, args: readonly string[]): boolean {
  return (
    code === 'commander.helpDisplayed' || code === 'commander.version' || (code === 'commander.help' && args.length > 0)
  );
}
