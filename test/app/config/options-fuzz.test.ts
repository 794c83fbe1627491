import fc from 'fast-check';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { envNameOf, loadConfig, nameOf, OPTION_KEYS, OPTIONS, type OptionKey } from '../../../src/app/config';
import { runCli } from '../../../src/cli/program';

// Random good, bad and absent options by flag, variable and file give a configuration or problems. Rules over several
// options must not see a value that was refused.

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fuzz-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SOCKETS = ['/run/a.sock', '/run/b.sock', 'unix:///run/a.sock', '/var/run/b.sock', '/run/../run/a.sock'];
const DIRS = ['/run', '/', '/sys', '/sys/fs/cgroup/x', '/var/lib/cpusetd', '/var/lib/cpusetd/locks', '/run//x/'];

/** Valid values, beside the default and the words of the help. */
const GOOD: Partial<Record<OptionKey, readonly string[]>> = {
  cpuManagerPolicyOptions: ['full-pcpus-only=true', 'a=1,b=2', ''],
  podPolicies: ['all', 'off', 'none,static'],
  reservedCpus: ['0', '0-3,8'],
  reservedCpuCount: ['2', '500m'],
  minSharedCpus: ['1', '65535'],
  topologyManagerPolicyOptions: ['prefer-closest-numa-nodes=true'],
  reconcilePeriodMs: ['1m30s', '24h'],
  stateDir: DIRS,
  lockDir: DIRS,
  sysfsRoot: DIRS,
  cgroupRoot: DIRS,
  nriSocket: SOCKETS,
  criEndpoint: [...SOCKETS, 'off'],
  criListen: [...SOCKETS, 'fd:3'],
  kubeletRootDir: DIRS,
  kubeconfig: ['in-cluster', 'off', '/etc/kubeconfig'],
  nodeName: ['node-1', 'a.b'],
  kubeletConfig: ['configz', 'off', '/etc/kubelet'],
  adminSocket: [...SOCKETS, '/var/lib/cpusetd/state.json'],
  podResourcesSocket: [...SOCKETS, 'off', '/run/x/pod-resources/kubelet.sock'],
  healthAddress: ['127.0.0.1:1', 'off'],
  metricsAddress: ['127.0.0.1:1', '[::1]:1', 'off'],
  httpAddress: ['127.0.0.1:1', '2', ':2', 'off'],
  httpHosts: ['', 'a', 'a.example,b', '::1'],
};
const BAD = [
  '',
  ' ',
  'relative',
  '/a\nb',
  '\u001b[2J',
  '-1',
  '1e9',
  'null',
  '__proto__',
  'x'.repeat(5_000),
  '0-',
  'fd:1',
];

const words = (key: OptionKey): readonly string[] => {
  const { placeholder } = OPTIONS[key].type;
  return placeholder.includes('|') ? placeholder.split('|') : [];
};

const setting = (key: OptionKey) =>
  fc.record({
    key: fc.constant(key),
    place: fc.constantFrom('flag', 'env', 'file', 'flag and env', 'flag twice'),
    texts: fc.tuple(textOf(key), textOf(key)),
  });

const textOf = (key: OptionKey) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...(GOOD[key] ?? []), ...words(key), OPTIONS[key].default ?? '0') },
    { weight: 2, arbitrary: fc.constantFrom(...BAD) },
    { weight: 1, arbitrary: fc.string({ maxLength: 40 }) },
  );

type Set = typeof setting extends (key: OptionKey) => fc.Arbitrary<infer T> ? T : never;

/** At most eight options are set, so that few problems hide a rule over several. */
const settings = fc
  .uniqueArray(fc.constantFrom(...OPTION_KEYS), { maxLength: 8 })
  .chain((keys) => fc.tuple(...keys.map(setting)));

function spread(all: readonly Set[]) {
  const flags: Record<string, string[]> = {};
  const env: Record<string, string> = {};
  const file: Record<string, string> = {};
  for (const { key, place, texts } of all) {
    if (place.startsWith('flag')) flags[nameOf(key)] = place === 'flag twice' ? [...texts] : [texts[0]];
    if (place.endsWith('env')) env[envNameOf(key)] = texts[1];
    if (place === 'file') file[nameOf(key)] = texts[0];
  }
  const path = join(folder, 'cpusetd.json');
  writeFileSync(path, JSON.stringify(file));
  const isReserved = all.some(({ key }) => key.startsWith('reserved') || key === 'kubeletConfig');
  return { flags: { ...flags, config: [path] }, env: { ...(!isReserved && { CPUSETD_RESERVED_CPUS: '0' }), ...env } };
}

/** A problem names the place, the fault and the remedy in one short line. */
const PROBLEM = /^(?:--[a-z-]+|CPUSETD_[A-Z_]+|\/.*:\d+: [a-z-]+|no CPU is reserved)[^\n]*[;,] [^\n]+$/;

test('random options give a configuration or a list of problems', async () => {
  let [accepted, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(settings, async (all) => {
      const loaded = await loadConfig(spread(all));
      if (loaded.ok) {
        accepted++;
        expect(Object.keys(OPTIONS).filter((key) => !(key in loaded.config))).toEqual([]);
        return;
      }
      refused++;
      expect(loaded.problems.length).toBeGreaterThan(0);
      for (const problem of loaded.problems) {
        expect(problem).toMatch(PROBLEM);
        expect(problem.length).toBeLessThan(800);
        expect(problem).not.toMatch(/undefined|\[object|TypeError/);
      }
    }),
    { numRuns: 1_000 },
  );
  expect({ accepted: accepted > 50, refused: refused > 50 }).toEqual({ accepted: true, refused: true });
});

test('one bad option gives one problem, and no other rule mentions its value', async () => {
  const sound = { flags: { 'reserved-cpus': ['0'] }, env: {} };
  for (const key of OPTION_KEYS) {
    const flags = { ...sound.flags, mode: ['cri-proxy'], [nameOf(key)]: ['\u0000'] };
    const loaded = await loadConfig({ flags, env: {} });
    expect(loaded).toMatchObject({ ok: false, problems: [expect.stringContaining(`--${nameOf(key)}: "\\u0000"`)] });
  }
});

test('two options, one of them bad: no rule mentions the value that was refused', async () => {
  const outcomes = new Map<string, readonly string[]>();
  for (const bad of OPTION_KEYS)
    for (const other of OPTION_KEYS)
      for (const text of [...new Set([...(GOOD[other] ?? []), ...words(other), '\u0000'])]) {
        if (other === bad) continue;
        const flags = { [nameOf(other)]: [text], [nameOf(bad)]: ['\u0000'] };
        const loaded = await loadConfig({ flags, env: {} });
        outcomes.set(`${nameOf(other)} ${text}, ${nameOf(bad)} bad`, loaded.ok ? ['accepted'] : loaded.problems);
      }
  expect(outcomes.size).toBeGreaterThan(2_000);
  expect([...outcomes].filter(([, problems]) => /undefined|NaN|\[object|^accepted$/.test(problems.join()))).toEqual([]);
});

/** All commands with their options and operands. The values do no harm where they are valid. */
const COMMANDS: readonly (readonly [name: readonly string[], options: readonly string[], operands: number])[] = [
  [['check'], ['--output', '--report-only', ...OPTION_KEYS.map((key) => `--${nameOf(key)}`)], 0],
  [['status'], ['--output', '--watch', '--admin-socket'], 0],
  [['topology'], ['--output', '--topology', '--admin-socket'], 0],
  [['explain'], ['--output', '--cpus', '--admin-socket'], 2],
  [['health'], ['--admin-socket', '--watch'], 1],
  [['allocate'], ['--batch', '--topologies', '--topology', '--options', '--reserved-cpus'], 0],
  [['state', 'show'], ['--state-dir', '--output'], 0],
  [['state', 'verify'], ['--state-dir'], 0],
  [['state', 'export-kubelet'], ['--state-dir', '--format', '--sysfs-root', '--config'], 0],
  [['state', 'import-kubelet'], ['--state-dir', '--output', '--cri-endpoint', '--dry-run'], 1],
  [['run'], OPTION_KEYS.map((key) => `--${nameOf(key)}`), 0],
  [['nonsense'], ['--nonsense'], 1],
];

const values = fc.oneof(
  fc.constantFrom('table', 'json', 'yaml', 'v2', 'static', 'off', '0', '-', '--', '', '-o', '--help'),
  fc.constantFrom('relative', '\u0001', '/dev/null', '/proc/self/mem', 'a/b/c', '0-3', 'x'.repeat(300)),
  fc.constantFrom('').map(() => join(folder, 'nowhere')),
  fc.constantFrom('').map(() => folder),
  fc.string({ maxLength: 12 }).filter((given) => !given.startsWith('/')),
);

const commandLine = fc
  .constantFrom(...COMMANDS)
  .chain(([name, options, operands]) =>
    fc
      .tuple(
        fc.array(fc.tuple(fc.constantFrom(...options), fc.option(values)), { maxLength: 4 }),
        fc.array(values, { maxLength: operands + 1 }),
      )
      .map(([given, rest]) => [
        ...name,
        ...given.flatMap(([option, value]) => (value === null ? [option] : [option, value])),
        ...rest,
      ]),
  );

test('random command lines end with an exit status and messages, without a stack trace', async () => {
  await fc.assert(
    fc.asyncProperty(commandLine, async (args) => {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      const printed = Promise.all([text(stdout), text(stderr)]);
      const status = await runCli(args, {
        stdin: Readable.from(['']),
        stdout,
        stderr,
        env: { CPUSETD_ADMIN_SOCKET: join(folder, 'no.sock'), CPUSETD_STATE_DIR: join(folder, 'no-state') },
        etcRoot: '/nonexistent',
        signal: AbortSignal.abort(),
        version: '0.0.0',
        runDaemon: () => Promise.resolve(),
        openLog: () => Promise.reject(new Error('no log here')),
      });
      stdout.end();
      stderr.end();
      const [output, errors] = await printed;
      expect([0, 1, 2]).toContain(status);
      expect(errors).not.toMatch(/\n\s+at |TypeError/);
      // The findings of `check` are its output.
      if (status !== 0) expect(args[0] === 'check' ? output + errors : errors).not.toBe('');
    }),
    { numRuns: 400, examples: [[['check', '--kubelet-config', join(folder, 'nowhere')]]] },
  );
});
