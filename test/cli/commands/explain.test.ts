import { parse } from 'yaml';

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import { buildTopology, describeLocation } from '../../../src/core/topology';
import { withAdminRig } from '../../admin/with-admin-server';
import { useTempDirs } from '../../state/support/temp-dir';
import { runInProcess } from '../../support/run-cli';
import { build } from '../topology/machines';
import { sampleRefused, sampleTopology } from '../../admin/sample-status';
import { formatExplanation } from '../../../src/cli/explain/format-explanation';

const makeDir = useTempDirs();

/** Runs explain against a daemon with the sample status. */
async function explain(...args: string[]) {
  let ended = { status: -1, stdout: '', stderr: '' };
  await withAdminRig(async ({ start, socketPath, backend }) => {
    backend.whatIf = args.includes('5')
      ? { kind: 'what-if', fits: false, cpus: parseCpuList(''), because: 'asked for 5, 3 can be given now', steps: [] }
      : undefined;
    await start();
    ended = await runInProcess(['explain', ...args, '--admin-socket', socketPath]);
  });
  return ended;
}

test('a pod: each container with its reason, location, steps and rules, then the exited ones', async () => {
  expect(await explain('web', 'app')).toEqual({
    status: 0,
    stderr: '',
    stdout: [
      'default/web app: exclusive 2-3',
      '  because: not a whole number of CPUs',
      '  where:   2 parts of cores, 1 uncore cache, NUMA node 1, socket 1',
      '  memory:  NUMA nodes 0',
      '  steps:   whole-core 2-3: the first free core',
      '  rules:   policy static, full-pcpus-only, reserved 0',
      '  verdict: violated: CPU 3 is offline',
      '  since:   2026-11-21T10:00:00Z',
      '',
      'default/job init: idle 4-5',
      '  because: two free cores of socket 0; the container has exited, and its CPUs stay with its pod',
      '  where:   2 parts of cores, 1 uncore cache, NUMA node 0, socket 0',
      '  rules:   policy static, reserved 0',
      '  since:   2026-11-21T10:00:00Z',
      '',
    ].join('\n'),
  });
});

test('a container with the policy numa, chosen by its pod', async () => {
  const { stdout } = await explain('default/far');
  expect(stdout).toContain('default/far numa: numa 0-1,6-7\n');
  expect(stdout).toContain('  follows: NUMA nodes 0-1\n');
  expect(stdout).toContain(
    '  rules:   policy numa, chosen by topology.crane.io/cpu-policy, full-pcpus-only, reserved 0\n',
  );
});

test('a refused container: reason, request, times, free CPUs per NUMA node, and remedy', async () => {
  expect(await explain('default/db')).toEqual({
    status: 0,
    stderr: '',
    stdout: [
      'default/db main: refused',
      '  because: asked for 4 exclusive CPUs, 3 can be given now',
      '  asked:   4 CPUs, policy exclusive, chosen by cpusetd.io/policy',
      '  when:    12 times, first 2026-11-21T10:00:00Z, last 2026-11-21T10:05:00Z',
      '  room:    NUMA node 0: 1 of 3 CPUs was free, 0 are now; 2 pods have CPUs there now',
      '           NUMA node 1: 2 of 4 CPUs were free, 2 are now; 1 pod has CPUs there now',
      '  now:     it would be refused: asked for 4 exclusive CPUs, 2 can be given now',
      '  remedy:  2 more CPUs have to come free',
      '  code:    RESOURCE_EXHAUSTED',
      '',
    ].join('\n'),
  });
  expect(JSON.parse((await explain('default/db', '-o', 'json')).stdout)).toEqual({
    containers: [],
    idle: [],
    refused: [sampleRefused],
    others: [],
    history: [],
  });
});

test.each`
  change                                                              | lines
  ${{ asked: 'change', times: 1, requested: 1, chosenBy: undefined }} | ${['default/db main: a change was refused', '  asked:   1 CPU, policy exclusive', '  when:    once, 2026-11-21T10:05:00Z']}
  ${{ requested: 0 }}                                                 | ${['  asked:   to share']}
`('a refused container with $change', ({ change, lines }: { change: object; lines: string[] }) => {
  const refused = [{ ...sampleRefused, ...change }];
  const text = formatExplanation(
    { kind: 'containers', containers: [], idle: [], refused, others: [] },
    sampleTopology.topology,
    0,
  );
  expect(text.split('\n')).toEqual(expect.arrayContaining(lines));
});

test('a journal that can not be read is told, beside the answer of the daemon', async () => {
  const stateDir = makeDir();
  const file = join(stateDir, 'journal/00000001.jsonl');
  mkdirSync(join(stateDir, 'journal'));
  writeFileSync(file, '{"journal":2,"writtenBy":"cpusetd 9.0.0","at":"2026-11-24T10:00:00Z"}\n');
  const { status, stdout, stderr } = await explain('web', 'app', '--state-dir', stateDir);
  expect([status, stdout.split('\n')[0]]).toEqual([0, 'default/web app: exclusive 2-3']);
  expect(stderr).toMatch(
    `cpusetd: there is no history in this answer: ${file} has version 2, written by cpusetd 9.0.0`,
  );
});

test('a number of CPUs that fits: the CPUs and their location', async () => {
  expect(await explain('--cpus', '2')).toEqual({
    status: 0,
    stderr: '',
    stdout: [
      '2 CPUs would fit: 6-7',
      '  because: there is room',
      '  where:   2 parts of cores, 1 uncore cache, NUMA node 1, socket 1',
      '  steps:   whole-core 2-3: the first free core',
      '',
    ].join('\n'),
  });
});

test('a number of CPUs that does not fit: exit 1 with the reason, in every format', async () => {
  expect(await explain('--cpus', '5')).toEqual({
    status: 1,
    stderr: '',
    stdout: '5 CPUs would not fit\n  because: asked for 5, 3 can be given now\n',
  });
  const { status, stdout } = await explain('--cpus', '5', '-o', 'json');
  expect([status, JSON.parse(stdout)]).toEqual([
    1,
    { fits: false, cpus: '', because: 'asked for 5, 3 can be given now', steps: [] },
  ]);
});

test('json and yaml have the same data', async () => {
  const [json, yaml] = [await explain('web', '-o', 'json'), await explain('web', '-o', 'yaml')];
  expect(parse(yaml.stdout)).toEqual(JSON.parse(json.stdout));
  expect(JSON.parse(json.stdout)).toMatchObject({
    containers: [{ container: { container: 'sidecar' } }, { container: { container: 'app', kind: 'static' } }],
    idle: [{ container: 'init' }],
  });
});

test('an error of the daemon is exit 1, with its message', async () => {
  expect(await explain('nope')).toEqual({ status: 1, stdout: '', stderr: 'cpusetd: no pod nope\n' });
});

test.each`
  args                      | message
  ${[]}                     | ${'nothing to explain: name a pod, or a number of CPUs with --cpus'}
  ${['web', '--cpus', '2']} | ${'--cpus 2: asks of a container that does not exist yet; leave pod web out'}
  ${['--cpus', '0']}        | ${'--cpus "0": is no number of CPUs; write a whole number from 1 to 65535'}
  ${['--cpus', '1.5']}      | ${'--cpus "1.5": is no number of CPUs'}
  ${['--cpus', '65536']}    | ${'--cpus "65536": is no number of CPUs'}
  ${['--cpus', '']}         | ${'--cpus "": is no number of CPUs'}
  ${['']}                   | ${'pod "": is no name of a pod; write namespace/name, the name alone, or its uid'}
  ${['/web']}               | ${'pod "/web": is no name of a pod'}
  ${['default/']}           | ${'pod "default/": is no name of a pod'}
  ${['a/b/c']}              | ${'pod "a/b/c": is no name of a pod'}
  ${['web', 'app', 'x']}    | ${'too many arguments'}
  ${['web', '-o', 'map']}   | ${'Allowed choices are table, json, yaml'}
`('explain $args is wrong usage', async ({ args, message }: { args: string[]; message: string }) => {
  const ended = await runInProcess(['explain', ...args, '--admin-socket', '/nope']);
  expect(ended).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
});

test.each`
  given                     | query
  ${['default/web', 'app']} | ${{ kind: 'pod', namespace: 'default', pod: 'web', container: 'app' }}
  ${['web']}                | ${{ kind: 'pod', namespace: '', pod: 'web', container: '' }}
  ${['--cpus', '2']}        | ${{ kind: 'cpus', count: 2 }}
`('explain $given sends $query', async ({ given, query }: { given: string[]; query: object }) => {
  await withAdminRig(async ({ start, socketPath, backend }) => {
    await start();
    await runInProcess(['explain', ...given, '--admin-socket', socketPath]);
    expect(backend.asked).toEqual([query]);
  });
});

test.each`
  cpus       | where
  ${'0,8'}   | ${'1 whole core, 1 uncore cache, NUMA node 0, socket 0'}
  ${'0-1,8'} | ${'1 whole core, 1 part of a core, 1 uncore cache, NUMA node 0, socket 0'}
  ${'1,2'}   | ${'2 parts of cores, 2 uncore caches, NUMA nodes 0-1, socket 0'}
  ${'0-15'}  | ${'8 whole cores, 4 uncore caches, NUMA nodes 0-3, sockets 0-1'}
  ${'0,99'}  | ${'1 part of a core, 1 uncore cache, NUMA node 0, socket 0'}
  ${'99'}    | ${''}
`('the location of CPUs $cpus: $where', ({ cpus, where }: { cpus: string; where: string }) => {
  expect(describeLocation(build(2, 2, 1, 2, 2), parseCpuList(cpus))).toBe(where);
});

test('caches are called by what they are', () => {
  const { cpus, uncoreCaches } = build(2, 2, 1, 2, 2);
  const clusters = buildTopology({ cpus, cacheLevels: new Map(uncoreCaches.map(({ id }) => [id, 'cluster'])) });
  expect(describeLocation(clusters, parseCpuList('1,2'))).toBe(
    '2 parts of cores, 2 clusters, NUMA nodes 0-1, socket 0',
  );
});
