import { execFile, spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { builtBundle } from '../support/built-bundle';

const ROOT = join(__dirname, '../..');
const run = promisify(execFile);

beforeAll(() => void builtBundle());

interface Done {
  readonly status: number;
  /** The output after each line of the input, by the line; before the first by ''. */
  readonly answers: ReadonlyMap<string, string>;
  readonly stderr: string;
}

/** Runs `npm run play` on these lines. */
async function play(args: readonly string[], lines: readonly string[]): Promise<Done> {
  const child = spawn(process.execPath, ['scripts/play.mjs', ...args], { cwd: ROOT });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (text) => (stdout += String(text)));
  child.stderr.on('data', (text) => (stderr += String(text)));
  child.stdin.end(`${lines.join('\n')}\n`);
  const [status] = (await once(child, 'close')) as [number];
  const [first = '', ...rest] = stdout.split(/^> /m);
  const answers = rest.map((part): [string, string] => {
    const end = part.indexOf('\n');
    return [part.slice(0, end), part.slice(end + 1).trimEnd()];
  });
  return { status, answers: new Map([['', first.trimEnd()], ...answers]), stderr };
}

test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
  '%s to it ends the daemon too, and leaves nothing',
  async (signal) => {
    const child = spawn(process.execPath, ['scripts/play.mjs', '--machine', '2x4x2-2numa'], { cwd: ROOT });
    const said = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    let socket: string | undefined;
    while (socket === undefined) {
      const next = await said.next();
      if (next.done === true) throw new Error('play ended before it served');
      socket = /--admin-socket (\S+)/.exec(next.value)?.[1];
    }
    expect(existsSync(socket)).toBe(true);
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
    expect(existsSync(socket)).toBe(false);
    expect(readdirSync(join(ROOT, 'dist')).filter((name) => name === `play-${child.pid!}.js`)).toEqual([]);
  },
);

test('a session from a pipe: pods are pinned and refused, drift is repaired, and the commands answer', async () => {
  const { status, answers, stderr } = await play(
    ['--machine', '2x4x2-2numa', '--', '--cpu-manager-policy-options', 'full-pcpus-only=true'],
    [
      'run db 4',
      'run web shared',
      'run odd 3',
      'run db 2',
      'status',
      'topology',
      'explain db',
      'drift db 0',
      'drift web 1',
      'drift db 2-5',
      'drift gone 0',
      'remove db',
      'remove gone',
      'log 1',
      'machine 2x2x2-4numa',
      'status ',
      'run solo 2',
      'machine',
      'help',
    ],
  );
  expect(stderr.split('\n').filter((line) => !/^Building cpusetd/.test(line))).toEqual(['']);
  expect(status).toBe(0);
  expect(answers.get('')).toMatch(/^cpusetd serves the CPUs 0-15;[^]*--admin-socket \/\S+admin\.sock$/);
  expect(Object.fromEntries(answers)).toMatchObject({
    'run db 4': 'db runs on 2-5',
    'run web shared': 'web runs on 0-1,6-15',
    'run odd 3': expect.stringMatching(/^odd is refused: .*full-pcpus-only/) as string,
    'run db 2': 'db runs already; remove it first',
    status: expect.stringMatching(
      /default\/db +db +exclusive +2-5 +same +kept[^]*default\/web +web +shared +0-1,6-15 +same +kept/,
    ) as string,
    topology: expect.stringMatching(/2 sockets, 2 NUMA nodes[^]*A {2}static +2-5 +default\/db db/) as string,
    'explain db': expect.stringMatching(/default\/db db: exclusive 2-5[^]*full-pcpus-only[^]*History/) as string,
    'drift db 0': expect.stringMatching(
      /^db has 2-5 again, after \d+ ms; promised 2-5, the kernel has cpuset\.cpus 0;/,
    ) as string,
    'drift web 1': expect.stringMatching(/^web has 0-1,6-15 again, after \d+ ms; promised 0-1,6-15,/) as string,
    'drift db 2-5': 'db has 2-5 already',
    'drift gone 0': 'there is no gone; these run: db, web',
    'remove db': 'db is removed',
    'remove gone': 'there is no gone; these run: web',
    'log 1': expect.stringMatching(/^info released .*"pod":"default\/db"/) as string,
    'machine 2x2x2-4numa': expect.stringMatching(/^cpusetd serves the CPUs 0-7;/) as string,
    'status ': expect.not.stringContaining('default/web') as string,
    'run solo 2': 'solo runs on 1,5',
    machine: expect.stringMatching(/^CPUs 0-7; machines: .*2x8x2-4numa-snc/) as string,
    help: expect.stringMatching(/^ {2}run NAME CPUS\|shared/) as string,
  });
});

test('the session of CONTRIBUTING.md prints what the page shows', async () => {
  const page = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const [, lines = '', args = '', shown = ''] =
    /^\$ printf '(.*)\\n' \| npm run --silent play -- (.*)\n([^]*?)^```$/m.exec(page) ?? [];
  const { status, answers } = await play(args.split(' '), lines.split('\\n'));
  const timeless = (text: string): string => text.replaceAll(/after \d+ ms/g, 'after some ms');
  const printed = [...answers].slice(1).map(([line, answer]) => `> ${line}\n${answer}\n`);
  expect({ status, printed: timeless(printed.join('')) }).toEqual({ status: 0, printed: timeless(shown) });
});

test('lines that are no commands: each answer has the rule, the others are run, and the status is 1', async () => {
  const { status, answers } = await play(
    ['--machine', '1x4x1', '--reserved-cpus', '3'],
    [
      'frob',
      'run db',
      'run DB 1',
      'run db -1',
      'drift db 9',
      'machine gone',
      'log x',
      '',
      '# a note',
      'run db 1',
      'quit',
      'run no 1',
    ],
  );
  expect(status).toBe(1);
  expect(Object.fromEntries(answers)).toMatchObject({
    frob: '"frob" is no command; help lists them',
    'run db': expect.stringMatching(/^write run NAME CPUS\|shared: /) as string,
    'run DB 1': expect.stringContaining('"DB" is no name of a pod') as string,
    'run db -1': expect.stringContaining('"-1" is no size') as string,
    'drift db 9': expect.stringMatching(/"9" is no list of CPUs of this machine; write one within 0-3/) as string,
    'machine gone': expect.stringMatching(/^"gone" is no machine; give a shape[^]*2x4x2-2numa/) as string,
    'log x': '"x" is no number of lines',
    '': '',
    'run db 1': 'db runs on 0',
  });
  expect(answers.has('run no 1')).toBe(false);
});

test.each`
  what                                     | args                            | want
  ${'a machine that does not exist'}       | ${['--machine', 'gone']}        | ${/^play: "gone" is no machine; give a shape, .*1x4x2, /m}
  ${'a machine with a node between cores'} | ${['--machine', '1x3x2-2numa']} | ${/^play: "1x3x2-2numa" is no machine/m}
  ${'an option that the daemon refuses'}   | ${['--', '--mode', 'gone']}     | ${/^play: [^]*its log:\n[^]*mode/m}
`('$what: the reason is printed, and the status is 1', async ({ args, want }: { args: string[]; want: RegExp }) => {
  const { status, stderr } = await play(args, []);
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringMatching(want) as string });
});

describe('--inspect', () => {
  let child: ChildProcessWithoutNullStreams;
  beforeEach(
    () => (child = spawn(process.execPath, ['scripts/play.mjs', '--machine', '1x4x2', '--inspect'], { cwd: ROOT })),
  );
  afterEach(async () => {
    if (child.exitCode !== null) return;
    child.stdin.end(); // the node is cleaned up at the end of the input
    await once(child, 'exit');
  });

  test('a debugger finds the daemon and the map to its sources; the printed socket answers', async () => {
    let stderr = '';
    child.stderr.on('data', (text) => (stderr += String(text)));
    let socket = '';
    let inspector = '';
    for await (const line of createInterface({ input: child.stdout })) {
      socket ||= /--admin-socket (\S+)/.exec(line)?.[1] ?? '';
      inspector = /^a debugger attaches to ws:\/\/(127\.0\.0\.1:\d+)\//.exec(line)?.[1] ?? '';
      if (inspector !== '') break;
    }
    expect({ inspector, stderr }).toMatchObject({ inspector: expect.stringMatching(/./) as string });
    const targets = await fetch(`http://${inspector}/json/list`, { headers: { connection: 'close' } });
    const [{ title }] = (await targets.json()) as [{ title: string }];
    const [, map = ''] =
      /^\/\/# sourceMappingURL=data:application\/json;base64,(\S+)$/m.exec(readFileSync(title, 'utf8')) ?? [];
    const { sources } = JSON.parse(String(Buffer.from(map, 'base64'))) as { sources: string[] };
    expect(sources).toEqual(expect.arrayContaining([expect.stringMatching(/^\.\.\/src\/.*transactor\.ts$/)]));
    const { stdout } = await run(process.execPath, ['dist/cpusetd.js', 'health', '--admin-socket', socket], {
      cwd: ROOT,
    });
    expect(stdout).toContain('SERVING');
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
