import { describeCommand, listCommands, type CommandNode } from '../../../src/cli/help/command-tree';
import { EXAMPLES } from '../../../src/cli/help/examples';
import { createIdleProgram } from '../../support/idle-program';
import { runInProcess } from '../../support/run-cli';

const commands = listCommands(describeCommand(createIdleProgram())).filter(({ path }) => path.length > 0);
const named = new Map(commands.map((node) => [node.path.join(' '), node]));

test.each(commands.map(({ path }) => [path.join(' '), path] as const))(
  '%s --help ends with examples',
  async (name, path) => {
    const { status, stdout } = await runInProcess([...path, '--help']);
    expect(status).toBe(0);
    const [, examples = ''] = stdout.split('\nExamples:\n');
    expect(examples).toContain(`cpusetd ${name}`);
    expect(examples.trimEnd().split('\n').length % 2).toBe(0); // what it does, and the line
  },
);

/** The parts of a command line that are not known: options, and values of options with choices. */
function findUnknown(line: string): readonly string[] {
  const [, words = ''] = /cpusetd ([^|&>)]*)/.exec(line) ?? [];
  const parts = words.trim().split(/\s+/);
  const path = parts.slice(0, 2).join(' ');
  const node: CommandNode | undefined = named.get(path) ?? named.get(parts[0]!);
  if (!node) return [words];
  const rest = parts.slice(node.path.length);
  return rest.flatMap((part, i) => {
    if (part.startsWith('-') && part !== '-')
      return node.options.some(({ long, short }) => long === part || short === part) ? [] : [part];
    const option = node.options.find(({ long, short }) => long === rest[i - 1] || short === rest[i - 1]);
    const choices = option?.value?.words ?? [];
    return choices.length > 0 && !option?.value?.isFile && !choices.includes(part) ? [part] : [];
  });
}

test.each(Object.entries(EXAMPLES).flatMap(([name, examples]) => examples.map(({ line }) => [line, name] as const)))(
  'the example %s is of an existing command, and so are its options',
  (line, name) => {
    expect(named.has(name)).toBe(true);
    expect(line).toContain(`cpusetd ${name}`);
    expect(findUnknown(line)).toEqual([]);
  },
);

test('each command has an example of its own, or those below it have', () => {
  const without = commands.filter(({ path, subcommands }) => subcommands.length === 0 && !EXAMPLES[path.join(' ')]);
  expect(without.map(({ path }) => path.join(' '))).toEqual([]);
});
