// A node to play with: the built daemon on the embedded runtime of the demo, and commands from a prompt or a pipe.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { describeNode, runLine, type Session } from './commands';
import { findMachine } from './machines';
import { NoCommand } from './no-command';
import { PlayedNode, type PlayedNodeOptions } from './node';

const say = (text: string): void => console.log(text);

/** The words after `--` are options of the daemon. */
function readOptions(): PlayedNodeOptions {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      machine: { type: 'string' },
      'reserved-cpus': { type: 'string' },
      inspect: { type: 'boolean', default: false },
      bundle: { type: 'string' },
    },
  });
  const { machine, inspect: inspects, bundle } = values;
  return { machine, reserved: values['reserved-cpus'], daemonArgs: positionals, inspects, bundle };
}

/** Runs the lines of the input until its end or `quit`. Gives the number of lines that are no command. */
async function converse(session: Session): Promise<number> {
  const isTerminal = process.stdin.isTTY;
  const lines = createInterface({ input: process.stdin, ...(isTerminal && { output: process.stdout, prompt: '> ' }) });
  let wrong = 0;
  // At a terminal Ctrl-C comes as this event.
  lines.on('SIGINT', () => lines.close());
  if (isTerminal) lines.prompt();
  for await (const line of lines) {
    if (!isTerminal) say(`> ${line}`);
    try {
      const answer = await runLine(session, line);
      if (answer === undefined) break;
      if (answer !== '') say(answer);
    } catch (error) {
      say((error as Error).message);
      if (!(error instanceof NoCommand)) throw error;
      wrong++;
    }
    if (isTerminal) lines.prompt();
  }
  lines.close();
  return isTerminal ? 0 : wrong;
}

async function main(): Promise<number> {
  const options = readOptions();
  const session: Session = {
    node: await PlayedNode.open(options),
    async change(machine) {
      const { reserved: _reserved, ...others } = options; // The CPUs that were reserved are those of the first machine.
      findMachine(machine); // A wrong name leaves the node as it is.
      await session.node.close();
      session.node = await PlayedNode.open({ ...others, reserved: undefined, machine });
    },
  };
  let closed: Promise<readonly string[]> | undefined;
  const close = (): Promise<readonly string[]> => (closed ??= session.node.close());
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void close().finally(() => process.exit(130)));
  try {
    say(describeNode(session.node));
    const inspector = await session.node.inspector();
    if (inspector !== undefined) say(`a debugger attaches to ${inspector}`);
    if (process.stdin.isTTY) say('help lists the commands');
    return (await converse(session)) === 0 ? 0 : 1;
  } finally {
    const left = await close();
    if (left.length > 0) say(`left behind: ${left.join(', ')}`);
  }
}

main().then(
  (status) => (process.exitCode = status),
  (error: unknown) => {
    console.error(`play: ${(error as Error).message}`);
    process.exitCode = 1;
  },
);
