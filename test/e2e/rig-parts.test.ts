import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nameOf, OPTION_KEYS, type OptionKey, OPTIONS } from '../../src/app/config/options';
import { cpusetDirOf, Daemon, poll, printMaskThenSleep, requireRuntime, startRuntime } from './rig';
import { AttachedScript } from './rig/attached-script';
import { parseContainerLog } from './rig/container-log';
import { projectRoot } from './rig/project-root';
import { classify, nameCgroupParent, toContainerResources, toPodResources } from './rig/kubelet-numbers';

jest.setTimeout(300_000);

const mi = 1 << 20;
const numbersOf = ({ cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, oomScoreAdj }: Record<string, unknown>) =>
  [cpuShares, cpuQuota, cpuPeriod, memoryLimitInBytes, oomScoreAdj].map(String).join(' ');

test.each`
  name                                 | spec                                             | qos             | want
  ${'two whole CPUs'}                  | ${{ cpus: 2 }}                                   | ${'guaranteed'} | ${`2048 200000 100000 ${64 * mi} -997`}
  ${'a fraction, all limits equal'}    | ${{ cpuLimitMilli: 1500, memoryLimitBytes: mi }} | ${'guaranteed'} | ${`1536 150000 100000 ${mi} -997`}
  ${'a CPU limit but no memory'}       | ${{ cpuLimitMilli: 1000 }}                       | ${'burstable'}  | ${'1024 100000 100000 0 999'}
  ${'a request below the limit'}       | ${{ cpuRequestMilli: 1, cpuLimitMilli: 5 }}      | ${'burstable'}  | ${'2 1000 100000 0 999'}
  ${'nothing asked for'}               | ${{}}                                            | ${'besteffort'} | ${'2 0 100000 0 1000'}
  ${'more than the maximum of shares'} | ${{ cpus: 300 }}                                 | ${'guaranteed'} | ${`262144 30000000 100000 ${64 * mi} -997`}
`('a container with $name carries the numbers a kubelet sends', ({ spec, qos, want }) => {
  expect(classify([spec])).toBe(qos);
  expect(numbersOf({ ...toContainerResources(spec, qos) })).toBe(want);
});

test('a pod carries sums, and a limit only where every container has one', () => {
  expect(numbersOf({ ...toPodResources([{ cpus: 1 }, { cpus: 2 }]) })).toBe(`3072 300000 100000 ${128 * mi} 0`);
  expect(numbersOf({ ...toPodResources([{ cpus: 1 }, { cpuRequestMilli: 500 }]) })).toBe('1536 0 100000 0 0');
  expect(classify([{ cpus: 1 }, {}])).toBe('burstable');
  expect(nameCgroupParent('/r', 'burstable', 'u')).toBe('/r/kubepods/burstable/podu');
  expect(nameCgroupParent('', 'guaranteed', 'u')).toBe('/kubepods/podu');
});

test.each`
  name                       | text                                           | want
  ${'nothing'}               | ${''}                                          | ${[]}
  ${'a line being written'}  | ${'T stdout F half'}                           | ${[]}
  ${'lines of both streams'} | ${'T stdout F a b\nT stderr F c\n'}            | ${['a b', 'c']}
  ${'a line in parts'}       | ${'T stdout P a\nT stdout F b\nT stdout F \n'} | ${['ab', '']}
`('a container log with $name', ({ text, want }) => {
  expect(parseContainerLog(text)).toEqual(want);
});

describe('a daemon of the rig', () => {
  const dir = mkdtempSync(join(tmpdir(), 'rig-'));
  const script = join(dir, 'daemon.js');
  let daemon: Daemon;
  beforeEach(() => {
    writeFileSync(
      script,
      `process.on('SIGTERM', () => { console.log(JSON.stringify({ msg: 'stopping' })); process.exit(0); });
       if (process.env.CRASH) setTimeout(() => { throw new Error('on purpose'); }, 10);
       setInterval(() => {}, 1000);
       console.log(JSON.stringify({ level: 30, msg: 'started', argv: process.argv.slice(2) }));
       console.log(JSON.stringify({ level: 30, msg: 'synchronized with the runtime' }));`,
    );
  });
  afterEach(() => daemon.dispose());
  afterAll(() => rmSync(dir, { recursive: true }));

  test('gets its folders and sockets, logs, and stops in order', async () => {
    const runtime = { nriSocket: '/nri.sock', criSocket: '/cri.sock' };
    daemon = new Daemon({ args: ['--reserved-cpus', '0'], bundle: script, runtime });
    daemon.start();
    const { argv } = await daemon.waitForLog('started');
    expect(argv).toEqual(expect.arrayContaining(['run', '--state-dir', daemon.stateDir, '/nri.sock', '/cri.sock']));
    expect((argv as string[]).slice(-2)).toEqual(['--reserved-cpus', '0']);
    expect(await daemon.stop()).toBe(0);
    expect(daemon.log.lines.at(-1)).toEqual({ msg: 'stopping' });
  });

  test('has a place of its own for each option whose default is a path of the host, and those that a test names are taken', () => {
    daemon = new Daemon({ args: ['--mode', 'cri-proxy', '--kubelet-root-dir', '/named'] });
    const { args } = daemon.launch;
    const isMachine = (key: OptionKey) => ['sysfsRoot', 'cgroupRoot'].includes(key);
    const keys = OPTION_KEYS.filter((key) => !isMachine(key));
    const ofHost = keys.filter((key) => String(OPTIONS[key].default).startsWith('/')).map((key) => `--${nameOf(key)}`);
    expect(ofHost.length).toBeGreaterThan(5);
    expect(args).toEqual(expect.arrayContaining(ofHost));
    const paths = ofHost.map((name) => args[args.indexOf(name) + 1]!);
    expect(paths.filter((path) => path !== '/named' && !path.startsWith(tmpdir()))).toEqual([]);
    expect(args.filter((arg) => arg === '--kubelet-root-dir')).toHaveLength(1);
  });

  test('is crashed and started again in the same folder', async () => {
    daemon = new Daemon({ args: [], bundle: script });
    daemon.start();
    await daemon.ready();
    expect(await daemon.kill()).toBe('SIGKILL');
    daemon.start();
    await daemon.ready();
    const starts = daemon.log.lines.filter(({ msg }) => msg === 'started');
    expect(starts).toHaveLength(2);
    expect(starts[1]!.argv).toContain(daemon.stateDir);
  });

  test('that ends by itself ends every wait with its last log line', async () => {
    daemon = new Daemon({ args: [], bundle: script, env: { CRASH: '1' } });
    daemon.start();
    await expect(daemon.waitForLog('never written')).rejects.toThrow(/has ended \(1\)[^]*on purpose/);
  });

  test('that logs nothing ends a wait at its deadline', async () => {
    daemon = new Daemon({ args: [], bundle: script });
    daemon.start();
    await expect(daemon.waitForLog('never written', { deadlineMs: 50 })).rejects.toThrow('not within 50 ms');
  });
});

describe('an attached script', () => {
  interface Events {
    readonly ready: { readonly port: number };
    readonly killed: object;
    readonly stopped: { readonly leftovers: readonly string[] };
  }
  const dir = mkdtempSync(join(tmpdir(), 'rig-'));
  const file = join(dir, 'serve.mjs');
  beforeAll(() =>
    writeFileSync(
      file,
      `import { serveAttached } from '${join(projectRoot(), 'scripts/shared/serve-attached.mjs')}';
       const start = async () => {
         if (process.env.OBSTACLE) throw new Error(process.env.OBSTACLE);
         return { facts: { port: 8080 } };
       };
       const commands = {
         async kill(server, say) { say('killed'); },
         async crash() { process.exit(1); },
       };
       const stop = async (server, say) => say('stopped', { leftovers: ['a mount'] });
       await serveAttached(start, { attached: true, what: 'server', commands, stop });`,
    ),
  );
  afterAll(() => rmSync(dir, { recursive: true }));
  const run = (env: Readonly<Record<string, string>> = {}): AttachedScript<Events> =>
    new AttachedScript<Events>({ what: 'the server', script: file, args: [], env });

  test('given a start, a command and the end: it gives the facts of each', async () => {
    const script = run();
    expect(await script.ready()).toEqual({ port: 8080 });
    await script.command('kill', 'killed');
    expect(await script.stop()).toEqual({ leftovers: ['a mount'] });
  });

  test('given a server that does not start: the wait fails with its reason', async () => {
    const script = run({ OBSTACLE: 'no disk' });
    await expect(script.ready()).rejects.toThrow('the server failed: no disk');
    await expect(script.stop()).rejects.toThrow('the server did not end in order');
  });

  test('given an unknown command: it fails, and the script goes on', async () => {
    const script = run();
    await script.ready();
    await expect(script.command('jump', 'killed')).rejects.toThrow('not a command: jump');
    await script.command('kill', 'killed');
    await script.stop();
  });

  test('given a script that ends during a command: the command fails, and so do later ones', async () => {
    const script = run();
    await script.ready();
    await expect(script.command('crash', 'killed')).rejects.toThrow('the server has ended');
    await expect(script.command('kill', 'killed')).rejects.toThrow('the server has ended');
    await expect(script.stop()).rejects.toThrow('the server did not end in order');
  });
});

requireRuntime('trixie')('a test run that is killed', () => {
  // A folder of its own: otherwise a runtime of another test might remove it.
  let parent: string;
  beforeAll(() => {
    parent = mkdtempSync(join(tmpdir(), 'rig-'));
  });
  afterAll(() => rmSync(parent, { recursive: true }));

  test('leaves a runtime behind that the next run removes, containers included', async () => {
    const killed = await startRuntime({ suite: 'trixie', nri: false, parent });
    const pod = await killed.kubelet.runPod({ containers: [{ name: 'main', command: printMaskThenSleep }] });
    const container = await pod.startContainer('main');
    await container.firstLine();
    const { pid } = JSON.parse(readFileSync(join(killed.work, 'owner.json'), 'utf8')) as { pid: number };
    process.kill(pid, 'SIGKILL');
    await poll('the owner is gone', () => (existsSync(`/proc/${pid}`) ? undefined : true));
    killed.kubelet.close();
    expect(existsSync(cpusetDirOf(container.cgroupPath))).toBe(true);

    const next = await startRuntime({ suite: 'trixie', nri: false, parent });
    try {
      expect(existsSync(killed.work)).toBe(false);
      expect(existsSync(cpusetDirOf(killed.cgroupRoot))).toBe(false);
    } finally {
      await next.stop();
    }
  });
});
