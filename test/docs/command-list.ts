import { runInProcess as cpusetd } from '../support/run-cli';

/** Words of each command that does something: `['run']`, `['state', 'show']`. */
export async function listCommandWords(above: readonly string[] = []): Promise<string[][]> {
  const { stdout } = await cpusetd([...above, '--help']);
  const [, list] = stdout.split('\nExamples:')[0]!.split('\nCommands:\n');
  if (list === undefined) return [[...above]];
  const names = [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name]) => name!).filter((name) => name !== 'help');
  return (await Promise.all(names.map((name) => listCommandWords([...above, name])))).flat();
}
