import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { runCli } from '../../../src/cli/program';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { acquireHostLock } from '../../../src/host';
import { inspectState, openStateStore } from '../../../src/state';
import { formatKubeletState, formatKubeletStateV1, parseKubeletState } from '../../../src/state/kubelet-checkpoint';
import { serveRuntime } from '../../cri/client/fake-runtime';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cli-state-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Runs one command line in this process. */
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
    etcRoot: '/nonexistent',
    signal: new AbortController().signal,
    version: '0.1.0',
    runDaemon: () => Promise.reject(new Error('not here')),
    openLog: () => Promise.reject(new Error('no log here')),
  });
  return { status, ...texts };
}

const state = (command: string, ...args: string[]) => cpusetd('state', command, ...args, '--state-dir', dir);

/** Imports the file on a machine with CPUs 0-7. */
function importKubelet(file: string, ...args: string[]) {
  mkdirSync(join(dir, 'sys/devices/system/cpu'), { recursive: true });
  writeFileSync(join(dir, 'sys/devices/system/cpu/online'), '0-7\n');
  return state('import-kubelet', file, '--sysfs-root', join(dir, 'sys'), ...args);
}

/** Writes a kubelet state file. The default pool is the rest of CPUs 0-7. */
function kubeletFile(
  entries: Record<string, Record<string, string>>,
  {
    defaultCpuSet,
    policyName = 'static',
    name = 'cpu_manager_state',
  }: { defaultCpuSet?: string; policyName?: string; name?: string } = {},
): string {
  const path = join(dir, name);
  const owned = CpuSet.unionOf(
    Object.values(entries).flatMap((pod) => Object.values(pod).map((list) => parseCpuList(list))),
  );
  const pool = defaultCpuSet ?? parseCpuList('0-7').minus(owned).toString();
  const pods = new Map(Object.entries(entries).map(([uid, pod]) => [uid, new Map(Object.entries(pod))]));
  writeFileSync(
    path,
    formatKubeletState({ policyName, defaultCpuSet: pool, entries: pods, podEntries: new Map() }, 'v2'),
  );
  return path;
}

const savedAssignments = () => {
  const found = inspectState({ dir });
  if (!('state' in found)) return found.kind;
  return found.state.assignments.map(
    (each) => `${each.podUid}/${each.containerName} ${each.cpus.toString()} ${each.containerId ?? 'idle'}`,
  );
};

describe('state show and verify', () => {
  test('without a state file a start is possible, and there is nothing to show', async () => {
    expect(await state('verify')).toMatchObject({ status: 0, out: expect.stringContaining('there is none yet') });
    for (const output of ['table', 'json'])
      expect(await state('show', '-o', output)).toMatchObject({
        status: 1,
        out: '',
        err: `cpusetd: ${dir}/state.json: no such file, so nothing is remembered there; name another --state-dir if it is elsewhere\n`,
      });
    expect(readdirSync(dir)).toEqual([]);
  });

  test('a state directory that is a file: exit 1 with one remedy', async () => {
    const file = join(dir, 'file');
    writeFileSync(file, '');
    for (const command of ['verify', 'show'])
      expect(await cpusetd('state', command, '--state-dir', file)).toMatchObject({
        status: 1,
        err: `cpusetd: can't read ${file}/state.json: a part of the path is not a directory: choose another --state-dir (ENOTDIR)\n`,
      });
    rmSync(file);
  });

  test('a state file is shown with its assignments', async () => {
    await importKubelet(kubeletFile({ 'uid-1': { app: '2-3' } }));
    expect(await state('verify')).toMatchObject({
      status: 0,
      out: expect.stringMatching(/good: 1 assignment, generation 1/),
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
    ['foreign', '{"a":1}', /not written by cpusetd/],
  ])('a file that is %s is reported and not changed', async (_name, text, message) => {
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
  test('each entry becomes idle CPUs of its pod', async () => {
    const file = kubeletFile({ 'uid-1': { app: '2-3', side: '4' }, 'uid-2': { db: '6-7' } });
    expect(await importKubelet(file)).toMatchObject({ status: 0, err: '' });
    expect(savedAssignments()).toEqual(['uid-1/app 2-3 idle', 'uid-1/side 4 idle', 'uid-2/db 6-7 idle']);
  });

  test('-o json prints the content of the file, and --dry-run writes nothing', async () => {
    const file = kubeletFile({ 'uid-1': { app: '2-3' } }, { defaultCpuSet: '0-1,4-7' });
    const { status, out } = await importKubelet(file, '--dry-run', '-o', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({
      policyName: 'static',
      defaultCpuSet: '0-1,4-7',
      entries: { 'uid-1': { app: '2-3' } },
    });
    expect(savedAssignments()).toBe('none');
  });

  test('containers of a pod that overlap: whole sets are imported, and parts are left', async () => {
    const { out } = await importKubelet(kubeletFile({ uid: { app: '2-5', init: '2-3' } }));
    expect(savedAssignments()).toEqual(['uid/app 2-5 idle']);
    expect(out).toMatch(/init +2-3 +left: /);
  });

  test.each([
    ['changed', (text: string) => text.replace('2-3', '2-4'), /corrupted/],
    ['cut off', (text: string) => text.slice(0, -20), /not JSON/],
    ['a bad CPU list', () => '{"policyName":"static","defaultCpuSet":"1.3","checksum":0}', /1\.3/],
    ['empty', () => '', /not JSON/],
  ])('a file that is %s is refused with the reason', async (_name, change, message) => {
    const file = kubeletFile({ uid: { app: '2-3' } });
    writeFileSync(file, change(readFileSync(file, 'utf8')));
    for (const dryRun of [[], ['--dry-run']]) {
      const { status, out, err } = await importKubelet(file, '-o', 'json', ...dryRun);
      expect({ status, out }).toEqual({ status: 1, out: '' });
      expect(err).toMatch(message);
    }
    expect(savedAssignments()).toBe('none');
  });

  describe('a state that a kubelet would refuse is refused as a whole:', () => {
    test.each`
      what                                      | entries                                                | pool           | message
      ${'exclusive CPUs that are in the pool'}  | ${{ 'uid-1': { app: '2-3' }, 'uid-2': { db: '6' } }}   | ${'0-1,3-5,7'} | ${/pod uid-1 container app: of its CPUs 2-3 others share 3: .*defaultCpuSet 0-1,3-5,7 too, .*delete the pod/}
      ${'an empty pool beside entries'}         | ${{ 'uid-1': { app: '0-7' } }}                         | ${''}          | ${/its defaultCpuSet is empty although there are entries.*delete the pod/}
      ${'CPUs of two pods that overlap'}        | ${{ 'uid-1': { app: '2-3' }, 'uid-2': { db: '3-4' } }} | ${'0-1,5-7'}   | ${/pod uid-2 container db: its CPUs 3-4 overlap with 2-3 of pod uid-1 container app, .*delete the pod/}
      ${'CPUs that are not online'}             | ${{ 'uid-1': { app: '2-3,9' } }}                       | ${'0-1,4-7'}   | ${/pod uid-1 container app: the CPUs 9 of the file are not online \(online are 0-7\); bring them/}
      ${'a pool with CPUs that are not online'} | ${{ 'uid-1': { app: '2-3' } }}                         | ${'0-1,4-9'}   | ${/the defaultCpuSet: the CPUs 8-9 of the file are not online/}
      ${'online CPUs in no set'}                | ${{ 'uid-1': { app: '2-3' } }}                         | ${'0-1,4-6'}   | ${/the CPUs 7 are online and in no set of the file; .*--config/}
    `('$what', async ({ entries, pool, message }) => {
      const file = kubeletFile(entries as Record<string, Record<string, string>>, { defaultCpuSet: String(pool) });
      for (const dryRun of [[], ['--dry-run']]) {
        const { status, out, err } = await importKubelet(file, ...dryRun);
        expect({ status, out }).toEqual({ status: 1, out: '' });
        expect(err).toMatch(message as RegExp);
        expect(err).toMatch(/nothing of it is imported\n$/);
      }
      expect(savedAssignments()).toBe('none');
    });

    test('all faults are reported, and of 500 the first 20', async () => {
      const few = await importKubelet(kubeletFile({ a: { x: '2' }, b: { y: '3' } }, { defaultCpuSet: '0-7' }));
      expect(few.err).toMatch(/pod a container x: .*\n.*pod b container y: .*\n.*nothing of it is imported/);
      const names = Array.from({ length: 500 }, (_, i) => [`uid-${i}`, { app: '3' }]);
      const many = await importKubelet(kubeletFile(Object.fromEntries(names), { defaultCpuSet: '0-7' }));
      expect(many.err.trim().split('\n')).toHaveLength(22);
    });

    test.each([
      ['an import', []],
      ['a dry run', ['--dry-run', '-o', 'json']],
    ])('%s with a wrong config file: exit 2, and a line per fault', async (_what, options) => {
      const config = join(dir, 'cpusetd.yaml');
      writeFileSync(config, 'reserved-cpus: "0"\nnope: 1\nlog-level: loud\n');
      const file = kubeletFile({ uid: { app: '2' } }, { defaultCpuSet: '0-1,3-7' });
      const { status, out, err } = await withSysfs(loadMachine('1x4x2'), (root) =>
        state('import-kubelet', file, ...options, '--sysfs-root', root, '--config', config),
      );
      expect({ status, out, lines: err.trim().split('\n').length }).toEqual({ status: 2, out: '', lines: 2 });
      expect(err).toMatch(/cpusetd.yaml:2: nope: no such option/);
      expect(err).toMatch(/cpusetd.yaml:3: log-level: "loud" is not a known value/);
      expect(savedAssignments()).toEqual('none');
    });

    test.each`
      what                                                | options                                                                            | entries                  | pool         | message
      ${'reserved CPUs that are exclusive in the file'}   | ${'reserved-cpus: "0,2"'}                                                          | ${{ uid: { app: '2' } }} | ${'0-1,3-7'} | ${/the reserved CPUs 2 are not in its defaultCpuSet 0-1,3-7; give cpusetd the reservation/}
      ${'strictly reserved CPUs in the pool of the file'} | ${'reserved-cpus: "0-1"\ncpu-manager-policy-options: strict-cpu-reservation=true'} | ${{ uid: { app: '2' } }} | ${'1,3-7'}   | ${/the strictly reserved CPUs 1 are in its defaultCpuSet 1,3-7/}
      ${'a strict reservation that fits'}                 | ${'reserved-cpus: "0-1"\ncpu-manager-policy-options: strict-cpu-reservation=true'} | ${{ uid: { app: '2' } }} | ${'3-7'}     | ${undefined}
      ${'a reservation that fits'}                        | ${'reserved-cpus: "0-1"'}                                                          | ${{ uid: { app: '2' } }} | ${'0-1,3-7'} | ${undefined}
    `('compared with --config: $what', async ({ options, entries, pool, message }) => {
      const config = join(dir, 'cpusetd.yaml');
      writeFileSync(config, String(options));
      const file = kubeletFile(entries as Record<string, Record<string, string>>, { defaultCpuSet: String(pool) });
      const { status, err } = await withSysfs(loadMachine('1x4x2'), (root) =>
        state('import-kubelet', file, '--sysfs-root', root, '--config', config),
      );
      if (message === undefined) expect({ status, err }).toEqual({ status: 0, err: '' });
      else expect(err).toMatch(message as RegExp);
      expect(savedAssignments()).toEqual(message === undefined ? ['uid/app 2 idle'] : 'none');
    });

    test.each([
      ['none', { uid: { app: '2' } }, /policyName is "none", and only the static policy/],
      ['toString', {}, /policyName is "toString"/],
      ['', { uid: { app: '2' } }, /policyName is ""/],
    ])('a file with the policy %j is refused', async (policyName, entries, message) => {
      const { status, err } = await importKubelet(kubeletFile(entries, { policyName }));
      expect({ status, matches: message.test(err) }).toEqual({ status: 1, matches: true });
      expect(savedAssignments()).toBe('none');
    });

    test('a file with the policy none and no entries has nothing to import', async () => {
      const file = kubeletFile({}, { policyName: 'none', defaultCpuSet: '' });
      for (const options of [[], ['-o', 'json'], ['--dry-run'], ['--dry-run', '-o', 'json']]) {
        const { status, out, err } = await importKubelet(file, ...options);
        expect({ status, out }).toEqual({
          status: 0,
          out: options.includes('json') ? '{"policyName":"none","defaultCpuSet":""}\n' : '',
        });
        expect(err).toMatch(
          /cpu_manager_state: there is nothing to import: its policyName is "none", so this kubelet gave/,
        );
        expect(savedAssignments()).toBe('none');
      }
    });

    test('a dry run with -o json of a refused file prints its content, and exits with 1', async () => {
      const file = kubeletFile({ uid: { app: '2' } }, { defaultCpuSet: '0-7' });
      const { status, out, err } = await importKubelet(file, '--dry-run', '-o', 'json');
      expect({ status, content: JSON.parse(out) as unknown }).toEqual({
        status: 1,
        content: { policyName: 'static', defaultCpuSet: '0-7', entries: { uid: { app: '2' } } },
      });
      expect(err).toMatch(/pod uid container app: of its CPUs 2 others share 2/);
    });
  });

  test.each([
    ['by its name', { name: 'crane_cpu_manager_state' }],
    ['by its policy', { policyName: 'advanced-static' }],
  ])('a state file of crane-agent, recognized %s, is refused with the remedy', async (_how, options) => {
    const { status, err } = await importKubelet(kubeletFile({ uid: { app: '2-3', side: '2-3' } }, options));
    expect(status).toBe(1);
    expect(err).toMatch(/a state of crane-agent's CPU manager, not of a kubelet: .*stop crane-agent and start cpusetd/);
    expect(savedAssignments()).toBe('none');
  });

  test('a running daemon: refused', async () => {
    const lock = acquireHostLock(join(dir, 'lock'));
    if (lock.kind !== 'acquired') throw new Error(lock.because);
    try {
      const { status, err } = await importKubelet(kubeletFile({ uid: { app: '2-3' } }));
      expect(status).toBe(1);
      expect(err).toMatch(/cpusetd is running: .* is locked by process \d+/);
    } finally {
      lock.lock.release();
    }
  });

  test('an existing state of cpusetd, readable or not: refused', async () => {
    const file = kubeletFile({ uid: { app: '2-3' } });
    await importKubelet(file);
    expect(await importKubelet(file)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/a state of its own/),
    });
    writeFileSync(join(dir, 'state.json'), 'torn');
    expect(await importKubelet(file)).toMatchObject({ status: 1 });
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

describe('state import-kubelet of format v1, which has container ids', () => {
  const v1 = (entries: Record<string, string>): string => {
    const path = join(dir, 'cpu_manager_state');
    const owned = CpuSet.unionOf(Object.values(entries).map((list) => parseCpuList(list)));
    const defaultCpuSet = parseCpuList('0-7').minus(owned).toString();
    const state = { policyName: 'static', defaultCpuSet, entries: new Map(Object.entries(entries)) };
    writeFileSync(path, formatKubeletStateV1(state));
    return path;
  };

  test('the names come from the runtime’s list, also of exited containers; unknown ids are dropped, as in the kubelet', async () => {
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
      expect(await importKubelet(file, '--cri-endpoint', socket)).toMatchObject({ status: 0, err: '' });
      expect(savedAssignments()).toEqual(['uid-1/app 2-3 idle', 'uid-1/init 4 idle']);
    } finally {
      server.forceShutdown();
    }
  });

  test('without a runtime: exit 1, and nothing is imported', async () => {
    const { status, err } = await importKubelet(v1({ c1: '2-3' }), '--cri-endpoint', join(dir, 'no.sock'));
    expect(status).toBe(1);
    expect(err).toMatch(/format v1 .*no\.sock could not be asked whose they are.*--cri-endpoint/);
    expect(savedAssignments()).toBe('none');
  });

  test('a dry run does not call the runtime', async () => {
    const [file, args] = [v1({ c1: '2-3' }), ['--dry-run', '--cri-endpoint', join(dir, 'no.sock')]];
    const { status, out } = await importKubelet(file, ...args, '-o', 'json');
    expect(status).toBe(0);
    expect(JSON.parse(out)).toEqual({ policyName: 'static', defaultCpuSet: '0-1,4-7', entries: { c1: '2-3' } });
    expect((await importKubelet(file, ...args)).out).toMatch(/c1 +2-3 +left: .*asks the runtime whose/);
  });

  test('a file without entries needs no runtime', async () => {
    expect(await importKubelet(v1({}), '--cri-endpoint', join(dir, 'no.sock'))).toMatchObject({
      status: 0,
      out: 'No exclusive CPUs in it.\n',
    });
  });
});

describe('state export-kubelet', () => {
  const exportFrom = (machine: string, ...args: string[]) =>
    withSysfs(loadMachine(machine), (root) => state('export-kubelet', '--sysfs-root', root, ...args));

  test.each(['v2', 'v3', 'v4'] as const)(
    '%s: an imported state is exported again, with the rest of the machine as pool',
    async (format) => {
      await importKubelet(kubeletFile({ 'uid-1': { app: '2-3' }, 'uid-2': { db: '6' } }));
      const { status, out } = await exportFrom('1x4x2', '--format', format);
      expect(status).toBe(0);
      const parsed = parseKubeletState(out);
      expect(parsed).toMatchObject({ ok: true, format, state: { policyName: 'static', defaultCpuSet: '0-1,4-5,7' } });
      expect(parsed.ok && parsed.state.entries.get('uid-1')).toEqual(new Map([['app', '2-3']]));
    },
  );

  test('under strict-cpu-reservation the pool lacks the reserved CPUs, as the kubelet expects', async () => {
    const opened = openStateStore({ dir, version: '0.1.0' });
    if (!opened.ok) throw new Error(opened.because);
    const rules = { policy: 'static', options: ['strict-cpu-reservation'], reserved: parseCpuList('0') } as const;
    const assignment = {
      podUid: 'uid', podNamespace: 'ns', podName: 'p', containerName: 'app', kind: 'static', cpus: parseCpuList('2-3'), mems: parseCpuList(''),
      requested: 2, containerId: 'c', quotaLifted: false, rules, because: 'x', since: '2026-11-21T10:00:00.000Z',
    } as const; // prettier-ignore
    opened.store.save({ generation: 1, assignments: [assignment] });
    expect(parseKubeletState((await exportFrom('1x4x2')).out)).toMatchObject({ state: { defaultCpuSet: '1,4-7' } });
  });

  test('--config overrides the reservation of the assignments', async () => {
    await importKubelet(kubeletFile({ uid: { app: '2-3' } }));
    const file = join(dir, 'config.yaml');
    const exported = async (strict: boolean) => {
      writeFileSync(file, `reserved-cpus: '0-1'\ncpu-manager-policy-options:\n  strict-cpu-reservation: ${strict}\n`);
      return parseKubeletState((await exportFrom('1x4x2', '--config', file)).out);
    };
    expect(await exported(true)).toMatchObject({ state: { defaultCpuSet: '4-7' } });
    expect(await exported(false)).toMatchObject({ state: { defaultCpuSet: '0-1,4-7' } });
    writeFileSync(file, 'reserved-cpus: many\n');
    expect(await exportFrom('1x4x2', '--config', file)).toMatchObject({
      status: 2,
      err: expect.stringMatching(/many/),
    });
  });

  test('without a state: exit 1', async () => {
    expect(await exportFrom('1x4x2')).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(/there is no state; nothing to export; name the --state-dir of cpusetd run/),
    });
  });

  test('a missing sysfs: exit 1 with a message, and no stack trace', async () => {
    await importKubelet(kubeletFile({ uid: { app: '2' } }));
    const { status, err } = await state('export-kubelet', '--sysfs-root', join(dir, 'no'));
    expect(status).toBe(1);
    expect(err).toMatch(/^cpusetd: .*check that --sysfs-root/);
    expect(err.trim().split('\n')).toHaveLength(1);
  });
});
