import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { PluginContext } from '../../src/kubectl/context';
import { completePlugin, runPlugin } from '../../src/kubectl/program';

// The answer that kubectl gets when it asks `kubectl_complete-cpuset`, in cobra's protocol.

/** The output of the plugin. */
async function printed(run: (context: PluginContext) => Promise<unknown>): Promise<string> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  await run({ stdout, stderr, env: {}, signal: new AbortController().signal, version: '0.0.0' });
  stdout.end();
  return text(stdout);
}

/** The candidates without their descriptions, and the directive. */
async function complete(...words: readonly string[]): Promise<readonly string[]> {
  const lines = (await printed((context) => completePlugin(words, context))).trimEnd().split('\n');
  return lines.map((line) => line.split('\t')[0]!);
}

/** The first column of a part of a help text. */
async function readHelp(args: readonly string[], part: string): Promise<readonly string[]> {
  const help = await printed((context) => runPlugin([...args, '--help'], context));
  const [, section = ''] = help.split(`\n${part}:\n`);
  const rows = section.split('\n\n')[0]!.matchAll(/^ {2}(?:-\w, )?([\w-]+)/gm);
  return [...rows].map(([, word]) => word!);
}

test('the commands are those of the help, each with its description; files are not offered', async () => {
  const commands = await readHelp([], 'Commands');
  expect(commands.length).toBeGreaterThan(5);
  expect(await complete('')).toEqual([...commands, ':4']);
  expect(await complete()).toEqual([...commands, ':4']);
  const answer = await printed((context) => completePlugin(['no'], context));
  expect(answer).toMatch(/^nodes\t\S.*\n:4\n$/);
});

test('the options of each command are those of its help', async () => {
  for (const command of await readHelp([], 'Commands')) {
    const options = await readHelp([command], 'Options');
    expect(options).toContain('--kubeconfig');
    expect([command, ...(await complete(command, '-'))]).toEqual([command, ...options, ':4']);
  }
});

test.each<{ given: string; words: readonly string[]; expected: readonly string[] }>([
  { given: 'the begin of an option', words: ['nodes', '--al'], expected: ['--aligned', ':4'] },
  { given: 'an option of the program', words: ['--ver'], expected: ['--version', ':4'] },
  { given: 'a value with choices', words: ['map', '--via', 'p'], expected: ['proxy', 'port-forward', ':4'] },
  { given: 'that value after a sign', words: ['map', '--via=pr'], expected: ['proxy', ':4'] },
  { given: 'the value of a short option', words: ['nodes', '-o', 'w'], expected: ['wide', ':4'] },
  { given: 'a value without choices', words: ['nodes', '--context', ''], expected: [':4'] },
  { given: 'a value that is a file', words: ['nodes', '--kubeconfig', ''], expected: [':0'] },
  { given: 'an option after a value', words: ['nodes', '-o', 'json', '--cp'], expected: ['--cpus', ':4'] },
  {
    given: 'a value that is the name of a command',
    words: ['map', '--context', 'top', '--v'],
    expected: ['--via', ':4'],
  },
  { given: 'the name of a node', words: ['map', ''], expected: [':4'] },
  { given: 'an option that no command has', words: ['map', '--nothing=a'], expected: [':4'] },
  { given: 'a command that there is not', words: ['nothing', '--n'], expected: [':4'] },
])('given $given, then $expected', async ({ words, expected }) => {
  expect(await complete(...words)).toEqual(expected);
});
