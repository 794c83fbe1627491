import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { runCli } from '../../src/cli/program';
import { parseCpuList } from '../../src/core/cpuset';
import { acquireHostLock } from '../../src/host';
import { inspectState, openStateStore } from '../../src/state';
import { formatKubeletState, formatKubeletStateV1, parseKubeletState } from '../../src/state/kubelet-checkpoint';
import { serveRuntime } from '../cri/client/fake-runtime';
import { loadMachine, withSysfs } from '../support/sysfs-tree';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cli-state-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Runs one command line as a process would. */
async function cpusetd(...args: string[]) {
  const texts = { out: '', err: '' };
  const collect = (name: 'out' | 'err') =>
    new Writable({
      write(chunk, _encoding, done) {
        texts[name] += String(chunk);
        done();
      },
    });
  const status = await runCli(args, {
    stdin: new PassThrough(),
    stdout: collect('out'),
    stderr: collect('err'),
    env: {},
    signal: new AbortController().signal,
    version: '0.1.0',
    runDaemon: () => Promise.reject(new Error('not here')),
  });
  return { status, ...texts };
}

const state = (command: string, ...args: string[]) => cpusetd('state', command, ...args, '--state-dir', dir);

function kubeletFile(entries: Record<string, Record<string, string>>, { defaultCpuSet = '0-7' } = {}): string {
  const path = join(dir, 'cpu_manager_state');
  const pods = new Map(Object.entries(entries).map(([uid, pod]) => [uid, new Map(Object.entries(pod))]));
  writeFileSync(
    path,
    formatKubeletState({ policyName: 'static', defaultCpuSet, entries: pods, podEntries: new Map() }, 'v2'),
  );
  return path;
}

const remembered = () => {
  const found = inspectState({ dir });
  if (!('state' in found)) return found.kind;
  return found.state.assignments.map(
    (of) => `${of.podUid}/${of.containerName} ${of.cpus.toString()} ${of.containerId ?? 'idle'}`,
  );
};

describe('state show and verify', () => {
  test('nothing yet is fine', async () => {
    expect(await state('verify')).toMatchObject({ status: 0, out: expect.stringContaining('there is none yet') });
    expect(await state('show')).toMatchObject({ status: 0, out: 'No assignments.\n' });
    expect(readdirSync(dir)).toEqual([]);
  });

  test('what is remembered', async () => {
    await state('import-kubelet', kubeletFile({ 'uid-1': { app: '2-3' } }));
    expect(await state('verify')).toMatchObject({
      status: 0,
      out: expect.stringMatching(/good: 1 assignments, generation 1/),
    });
    const { out } = await state('show');
    expect(out).toMatch(/^CONTAINER +CPUS +HOLDER .*\napp +2-3 +idle .*taken over from the kubelet.* uid-1\n$/);
    expect(JSON.parse((await state('show', '-o', 'json')).out)).toMatchObject({
      generation: 1,
      assignments: [{ podUid: 'uid-1', containerName: 'app', cpus: '2-3', containerId: null }],
    });
    expect((await state('show', '-o', 'yaml')).out).toMatch(/^ {4}cpus: 2-3$/m);
  });

  test.each([
    ['torn', '{"version":1,', /not JSON/],
    ['empty', '', /is empty/],
    ["somebody else's", '{"a":1}', /not written by cpusetd/],
  ])('a file that is %s is told and left as it is', async (_name, text, message) => {
    writeFileSync(join(dir, 'state.json'), text);
    for (const command of ['verify', 'show']) {
      const { status, out, err } = await state(command);
      expect({ status, out }).toEqual({ status: 1, out: '' });
      expect(err).toMatch(message);
      expect(err).toMatch(/running containers stay where they are/);
    }
    expect(readFileSync(join(dir, 'state.json'), 'utf8')).toBe(text);
  });
});

describe('state import-kubelet', () => {
  test('every entry becomes CPUs that wait in their pod', async () => {
    const file = kubeletFile({ 'uid-1': { app: '2-3', side: '4' }, 'uid-2': { db: '6-7' } });
    expect(await state('import-kubelet', file)).toMatchObject({ status: 0, err: '' });
    expect(remembered()).toEqual(['uid-1/app 2-3 idle', 'uid-1/side 4 idle', 'uid-2/db 6-7 idle']);
  });

  test('-o json prints what is in the file; a dry run writes nothing', async () => {
    const file = kubeletFile({ 'uid-1': { app: '2-3' } }, { defaultCpuSet: '0-1,4-7' });
    const { status, out } = await state('import-kubelet', file, '--dry-run', '-o', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({
      policyName: 'static',
      defaultCpuSet: '0-1,4-7',
      entries: { 'uid-1': { app: '2-3' } },
    });
    expect(remembered()).toBe('none');
  });

  test('where containers of a pod overlap, whole sets are taken and parts are left to the runtime', async () => {
    const { out } = await state('import-kubelet', kubeletFile({ uid: { app: '2-5', init: '2-3' } }));
    expect(remembered()).toEqual(['uid/app 2-5 idle']);
    expect(out).toMatch(/init +2-3 +left: /);
  });

  test.each([
    ['changed', (text: string) => text.replace('2-3', '2-4'), /corrupted/],
    ['cut off', (text: string) => text.slice(0, -20), /not JSON/],
    ['no CPU list', () => '{"policyName":"static","defaultCpuSet":"1.3","checksum":0}', /1\.3/],
    ['empty', () => '', /not JSON/],
  ])('a file that is %s is refused with the reason', async (_name, change, message) => {
    const file = kubeletFile({ uid: { app: '2-3' } });
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    for (const dryRun of [[], ['--dry-run']]) {
      const { status, out, err } = await state('import-kubelet', file, '-o', 'json', ...dryRun);
      expect({ status, out }).toEqual({ status: 1, out: '' });
      expect(err).toMatch(message);
    }
    expect(remembered()).toBe('none');
  });

  test('never beside a running daemon', async () => {
    const lock = acquireHostLock(join(dir, 'lock'));
    if (lock.kind !== 'acquired') throw new Error(lock.because);
    try {
      const { status, err } = await state('import-kubelet', kubeletFile({ uid: { app: '2-3' } }));
      expect(status).toBe(1);
      expect(err).toMatch(/cpusetd is running: .* is locked by process \d+/);
    } finally {
      lock.lock.release();
    }
  });

  test('never over what cpusetd remembers, whether it can be read or not', async () => {
    const file = kubeletFile({ uid: { app: '2-3' } });
    await state('import-kubelet', file);
    expect(await state('import-kubelet', file)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/a state of its own/),
    });
    writeFileSync(join(dir, 'state.json'), 'torn');
    expect(await state('import-kubelet', file)).toMatchObject({ status: 1 });
    expect(readFileSync(join(dir, 'state.json'), 'utf8')).toBe('torn');
  });

  test.each([
    [['import-kubelet']],
    [['import-kubelet', '']],
    [['import-kubelet', '/no/such/file']],
    [['import-kubelet', 'a', 'b']],
    [['show', '-o', 'xml']],
    [['export-kubelet', '--format', 'v9']],
    [['no-such-command']],
  ])('wrong usage: %j', async (args) => {
    expect(await cpusetd('state', ...args)).toMatchObject({ status: 2, out: '', err: expect.stringMatching(/\S/) });
  });
});

describe('state import-kubelet of format v1, which knows containers by their ids', () => {
  const v1 = (entries: Record<string, string>): string => {
    const path = join(dir, 'cpu_manager_state');
    const state = { policyName: 'static', defaultCpuSet: '0-7', entries: new Map(Object.entries(entries)) };
    writeFileSync(path, formatKubeletStateV1(state));
    return path;
  };

  test('the runtime tells whose they are, exited ones included; who is unknown to it is dropped, as by a kubelet', async () => {
    const socket = join(dir, 'cri.sock');
    const server = await serveRuntime(socket, {
      ListContainers: (_call: unknown, reply: (error: null, answer: object) => void) =>
        reply(null, {
          containers: [
            { id: 'c1', podSandboxId: 's1', metadata: { name: 'app' }, state: 1 },
            { id: 'c2', podSandboxId: 's1', metadata: { name: 'init' }, state: 2 },
            { id: 'c3', podSandboxId: 'none', metadata: { name: 'lost' }, state: 1 },
          ],
        }),
      ListPodSandbox: (_call: unknown, reply: (error: null, answer: object) => void) =>
        reply(null, { items: [{ id: 's1', metadata: { uid: 'uid-1', name: 'p', namespace: 'ns' }, state: 0 }] }),
    });
    try {
      const file = v1({ c1: '2-3', c2: '4', c3: '5', nobody: '6' });
      expect(await state('import-kubelet', file, '--cri-endpoint', socket)).toMatchObject({ status: 0, err: '' });
      expect(remembered()).toEqual(['uid-1/app 2-3 idle', 'uid-1/init 4 idle']);
    } finally {
      server.forceShutdown();
    }
  });

  test('without a runtime nothing is taken, and that is said', async () => {
    const { status, err } = await state('import-kubelet', v1({ c1: '2-3' }), '--cri-endpoint', join(dir, 'no.sock'));
    expect(status).toBe(1);
    expect(err).toMatch(/format v1 .*no\.sock could not be asked whose they are.*--cri-endpoint/);
    expect(remembered()).toBe('none');
  });

  test('a dry run asks nobody', async () => {
    const [file, args] = [v1({ c1: '2-3' }), ['--dry-run', '--cri-endpoint', join(dir, 'no.sock')]];
    const { status, out } = await state('import-kubelet', file, ...args, '-o', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({ policyName: 'static', defaultCpuSet: '0-7', entries: { c1: '2-3' } });
    expect((await state('import-kubelet', file, ...args)).out).toMatch(/c1 +2-3 +left: .*asks the runtime whose/);
  });

  test('one without entries needs no runtime', async () => {
    expect(await state('import-kubelet', v1({}), '--cri-endpoint', join(dir, 'no.sock'))).toMatchObject({
      status: 0,
      out: 'No exclusive CPUs in it.\n',
    });
  });
});

describe('state export-kubelet', () => {
  const exportFrom = (machine: string, ...args: string[]) =>
    withSysfs(loadMachine(machine), (root) => state('export-kubelet', '--sysfs-root', root, ...args));

  test.each(['v2', 'v3', 'v4'] as const)(
    '%s: what is imported comes out again, with a pool that makes up the machine',
    async (format) => {
      await state('import-kubelet', kubeletFile({ 'uid-1': { app: '2-3' }, 'uid-2': { db: '6' } }));
      const { status, out } = await exportFrom('1x4x2', '--format', format);
      expect(status).toBe(0);
      const parsed = parseKubeletState(out);
      expect(parsed).toMatchObject({ ok: true, format, state: { policyName: 'static', defaultCpuSet: '0-1,4-5,7' } });
      expect(parsed.ok && parsed.state.entries.get('uid-1')).toEqual(new Map([['app', '2-3']]));
    },
  );

  test('under strict-cpu-reservation the pool is without the reserved CPUs, as the kubelet wants it', async () => {
    const opened = openStateStore({ dir, version: '0.1.0' });
    if (!opened.ok) throw new Error(opened.because);
    const rules = { policy: 'static', options: ['strict-cpu-reservation'], reserved: parseCpuList('0') };
    const assignment = {
      podUid: 'uid', podNamespace: 'ns', podName: 'p', containerName: 'app', kind: 'static', cpus: parseCpuList('2-3'), mems: parseCpuList(''),
      requested: 2, containerId: 'c', quotaLifted: false, rules, because: 'x', since: '2026-11-21T10:00:00.000Z',
    } as const; // prettier-ignore
    opened.store.save({ generation: 1, assignments: [assignment] });
    expect(parseKubeletState((await exportFrom('1x4x2')).out)).toMatchObject({ state: { defaultCpuSet: '1,4-7' } });
  });

  test('with the configuration its reservation counts, whatever assignments were made under', async () => {
    await state('import-kubelet', kubeletFile({ uid: { app: '2-3' } }));
    const file = join(dir, 'config.yaml');
    const exported = async (strict: boolean) => {
      writeFileSync(file, `reserved-cpus: '0-1'\ncpu-manager-policy-options:\n  strict-cpu-reservation: ${strict}\n`);
      return parseKubeletState((await exportFrom('1x4x2', '--config', file)).out);
    };
    expect(await exported(true)).toMatchObject({ state: { defaultCpuSet: '4-7' } });
    expect(await exported(false)).toMatchObject({ state: { defaultCpuSet: '0-1,4-7' } });
    writeFileSync(file, 'reserved-cpus: many\n');
    expect(await exportFrom('1x4x2', '--config', file)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/many/),
    });
  });

  test('without a state there is nothing to export', async () => {
    expect(await exportFrom('1x4x2')).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(/there is no state/),
    });
  });

  test('a machine that is not there is a sentence, not a stack', async () => {
    await state('import-kubelet', kubeletFile({ uid: { app: '2' } }));
    const { status, err } = await state('export-kubelet', '--sysfs-root', join(dir, 'no'));
    expect(status).toBe(1);
    expect(err).toMatch(/^cpusetd: .*check that --sysfs-root/);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
});
