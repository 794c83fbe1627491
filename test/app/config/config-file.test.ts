import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfigFile } from '../../../src/app/config/read-file';

let folder: string;
let server: Server | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'file-'));
});
afterEach(async () => {
  await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
  server = undefined;
  rmSync(folder, { recursive: true, force: true });
});

const path = (): string => join(folder, 'cpusetd.yaml');
const listen = (): Promise<void> =>
  new Promise((resolve) => {
    server = createServer().listen(path(), resolve);
  });

test.each`
  what                          | prepare                                                    | message
  ${'a FIFO without a writer'}  | ${() => execFileSync('mkfifo', [path()])}                  | ${'is not a regular file'}
  ${'an endless device'}        | ${() => symlinkSync('/dev/zero', path())}                  | ${'is not a regular file'}
  ${'a socket'}                 | ${listen}                                                  | ${'is not a regular file'}
  ${'a link to itself'}         | ${() => symlinkSync(path(), path())}                       | ${'goes round in circles'}
  ${'nothing'}                  | ${() => undefined}                                         | ${'no such file'}
  ${'lists nested without end'} | ${() => writeFileSync(path(), `a: ${'['.repeat(60_000)}`)} | ${':1: '}
  ${'lists nested too deep'}    | ${() => writeFileSync(path(), `a: ${nested(20_000)}`)}     | ${':1: '}
  ${'nested dashes'}            | ${() => writeFileSync(path(), '- '.repeat(30_000))}        | ${':1: is nested deeper than 32 levels'}
  ${'too many indents'}         | ${() => writeFileSync(path(), indented(300))}              | ${':1: is nested deeper than 32 levels'}
  ${'exponential aliases'}      | ${() => writeFileSync(path(), bomb())}                     | ${'no such option'}
  ${'a key that is a list'}     | ${() => writeFileSync(path(), '? [a]\n: 1')}               | ${'no such option'}
  ${'an empty key'}             | ${() => writeFileSync(path(), ': 1\n? ')}                  | ${'no such option'}
`('$what as the config file is refused at once with a problem', async ({ prepare, message }) => {
  await prepare();
  const { settings, problems } = readConfigFile(path());
  expect(settings).toEqual([]);
  expect(problems[0]).toContain(path());
  expect(problems[0]).toContain(message);
  expect(problems.length).toBeLessThanOrEqual(21);
});

test('a file of thousands of wrong lines is read quickly, and 20 problems and a count are reported', () => {
  writeFileSync(path(), Array.from({ length: 6_000 }, (_, at) => `k${at}: 1\n`).join(''));
  const before = process.cpuUsage();
  const { problems } = readConfigFile(path());
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(1_500);
  expect(problems).toHaveLength(21);
  expect(problems.at(-1)).toBe(`${path()}: 5980 more faults; correct the file`);
});

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const indented = (depth: number): string => Array.from({ length: depth }, (_, at) => `${' '.repeat(at)}a:\n`).join('');
const bomb = (): string =>
  ['a0: &a0 [x]', ...Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`)].join('\n');

/** Files that are none of options, such as those that a link in the place of the file leads to. */
test.each<[string, string]>([
  ['of passwords', 'root:*:20228:0:99999:7:::\nalice:$y$j9T$abc:20228:0:99999:7:::\n'],
  ['of passwords, in which each line is a mapping', 'bob: s3cret\nhunter2: s3cret\n'],
  ['of a key', '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANs3cret\n-----END PRIVATE KEY-----\n'],
  ['of variables', 'PASSWORD=s3cret\nuser=alice\n'],
  ['of a program', '{ s3cret: *alice, bob: !!s3cret x }\n'],
  ['of a broken line', 'a: "s3cret" alice\nb: @bob\n'],
  ['of binary data', '\u0001s3cret\u0000: alice'],
])('no fault quotes a file %s', (_what, text) => {
  writeFileSync(path(), text);
  const { problems } = readConfigFile(path());
  expect(problems.length).toBeGreaterThan(0);
  for (const word of ['s3cret', 'bob', '20228', 'alice', 'hunter2', 'MII', 'y$j9T'])
    expect(problems.join()).not.toContain(word);
});

test.each([
  ['reservd-cpus: 0', 'reservd-cpus: no such option'],
  ['logLevel: info', 'logLevel: no such option'],
  ['loglevel: info', 'loglevel: no such option'],
  ['log-level: info\nnope: 1', 'nope: no such option'],
])('a mistake in a file of options is named: %j', (text, problem) => {
  writeFileSync(path(), text);
  expect(readConfigFile(path()).problems.join()).toContain(problem);
});
