import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../src/app/config';
import { leastCpuMsOfAsync } from '../../support/cpu-time';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'groups-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = (): string => join(folder, 'cpusetd.yaml');

async function load(text: string, flags: Readonly<Record<string, string>> = { 'node-name': 'gpu-17' }) {
  writeFileSync(path(), text);
  const given = Object.fromEntries(Object.entries(flags).map(([name, value]) => [name, [value]]));
  return loadConfig({ flags: { config: [path()], ...given }, env: {} });
}

/** A group of these nodes that sets one option. */
const group = (name: string, nodeNames: string, options = `{ min-shared-cpus: ${name.length} }`): string =>
  `- { name: ${name}, match: { node-names: [${nodeNames}] }, options: ${options} }\n`;
const withGroups = (...groups: readonly string[]): string =>
  `reserved-cpus: 0\nmin-shared-cpus: 99\nnode-groups:\n${groups.join('')}`;

test.each`
  rule                                            | groups                                                 | want
  ${'no group has the node'}                      | ${[group('a', '"cpu-*"'), group('bb', 'gpu-1')]}       | ${99}
  ${'one has'}                                    | ${[group('a', '"gpu-*"')]}                             | ${1}
  ${'a whole name wins over a longer pattern'}    | ${[group('a', '"*gpu-17*"'), group('bb', 'gpu-17')]}   | ${2}
  ${'of patterns the one with more letters wins'} | ${[group('a', '"gpu-1*"'), group('bb', '"gpu-*"')]}    | ${1}
  ${'whatever their order'}                       | ${[group('a', '"gpu-*"'), group('bb', '"gpu-1*"')]}    | ${2}
  ${'the best of the patterns of a group counts'} | ${[group('a', '"gpu-*"'), group('bb', '"*", gpu-17')]} | ${2}
  ${'a star stands for nothing too'}              | ${[group('a', '"gpu-17*"')]}                           | ${1}
  ${'a star within'}                              | ${[group('a', '"g*-*7"')]}                             | ${1}
  ${'letters are not used twice'}                 | ${[group('a', '"gpu-17*17"')]}                         | ${99}
  ${'nor those between stars'}                    | ${[group('a', '"g*17*7"')]}                            | ${99}
`('$rule', async ({ groups, want }) => {
  const loaded = await load(withGroups(...(groups as string[])));
  expect(loaded).toMatchObject({ ok: true, config: { minSharedCpus: want } });
});

test('groups of one node are put together option by option, the environment and flags win over all of them', async () => {
  const file = withGroups(
    group('all', '"*"', '{ min-shared-cpus: 3, memory-nodes: follow, log-level: warn }'),
    group('gpu', '"gpu-*"', '{ min-shared-cpus: 4, log-level: debug }'),
  );
  const loaded = await load(file, { 'node-name': 'gpu-17', 'log-level': 'error' });
  expect(loaded).toMatchObject({
    ok: true,
    config: { minSharedCpus: 4, memoryNodes: 'follow', logLevel: 'error' },
    node: { name: 'gpu-17', groups: ['gpu', 'all'] },
  });
});

test('a group that reserves a number sets the list for every node aside, and a more specific group that', async () => {
  const count = group('count', '"gpu-*"', '{ reserved-cpu-count: 2 }');
  const loaded = await load(withGroups(count));
  expect(loaded).toMatchObject({ ok: true, config: { reservedCpus: undefined, reservedCpuCount: 2 } });
  const both = await load(withGroups(count, group('list', 'gpu-17', '{ reserved-cpus: 0-3 }')));
  expect(both).toMatchObject({ ok: true, config: { reservedCpuCount: undefined } });
  expect(both.ok && both.config.reservedCpus?.toString()).toBe('0-3');
});

test('the node name that decides is that of the flag, else of the file, else of the host', async () => {
  const groups = `node-groups:\n${group('a', 'from-file')}`;
  expect(await load(`node-name: from-file\nreserved-cpus: 0\n${groups}`, {})).toMatchObject({
    config: { minSharedCpus: 1 },
  });
  expect(await load(`reserved-cpus: 0\n${groups}`, { 'node-name': 'from-file' })).toMatchObject({
    config: { minSharedCpus: 1 },
  });
  expect(
    await load(`reserved-cpus: 0\nmin-shared-cpus: 7\nnode-groups:\n${group('a', hostname().toLowerCase())}`, {}),
  ).toMatchObject({
    config: { minSharedCpus: 1 },
  });
  // The flag wins over the file.
  expect(await load(`node-name: from-file\nreserved-cpus: 0\nmin-shared-cpus: 7\n${groups}`)).toMatchObject({
    config: { minSharedCpus: 7 },
  });
});

const FORM = 'write { name: ..., match: { node-names: [...], node-labels: {...} }, options: {...} }';
const MATCH = 'write match: { node-names: [gpu-*, node-17] } or match: { node-labels: { pool: gpu } }';

test.each`
  fault                               | groups                                                                   | problem
  ${'a tie'}                          | ${[group('a', '"gpu-*"'), group('b', '"*u-17"')]}                        | ${':5: min-shared-cpus: the groups a and b have the node gpu-17 by equally specific matches, and both set min-shared-cpus; set it in one of them, or name the node in one'}
  ${'a wrong value, of another node'} | ${[group('a', 'cpu-1', '{ min-shared-cpus: 0 }')]}                       | ${':4: min-shared-cpus: "0" is out of range; write a whole number from 1 to 65535'}
  ${'an unknown option'}              | ${[group('a', 'cpu-1', '{ min-cpus: 0 }')]}                              | ${':4: min-cpus: no such option; remove it, or see cpusetd run --help for the names'}
  ${'the name of the node'}           | ${[group('a', 'cpu-1', '{ node-name: x }')]}                             | ${":4: node-name: decides which groups a node is in, so the group a can't set it; write it outside of the groups"}
  ${'groups in a group'}              | ${[group('a', 'cpu-1', '{ node-groups: [] }')]}                          | ${':4: node-groups: no such option; remove it, or see cpusetd run --help for the names'}
  ${'two of a name'}                  | ${[group('a', 'cpu-1'), group('a', 'cpu-2')]}                            | ${':5: node-groups: two groups have the name a; give each a name of its own'}
  ${'no name'}                        | ${['- { match: { node-names: [x] }, options: {} }']}                     | ${`:4: node-groups: a group has no name of letters, digits, dots and dashes; ${FORM}`}
  ${'no options'}                     | ${['- { name: a, match: { node-names: [x] } }']}                         | ${`:4: node-groups: the group a has no options; ${FORM}`}
  ${'no match'}                       | ${['- { name: a, options: {} }']}                                        | ${`:4: node-groups: the group a does not say which nodes it is for; ${MATCH}`}
  ${'no names'}                       | ${[group('a', '')]}                                                      | ${`:4: node-groups: the group a has no list of names; ${MATCH}`}
  ${'a name that no Node has'}        | ${[group('a', 'GPU_1')]}                                                 | ${`:4: node-groups: the group a names a node GPU_1, which is no name of a Node and no pattern with *; ${MATCH}`}
  ${'a match by something else'}      | ${['- { name: a, match: { zone: x }, options: {} }']}                    | ${`:4: node-groups: the group a matches by zone, which is not known; ${MATCH}`}
  ${'another key'}                    | ${['- { name: a, match: { node-names: [x] }, options: {}, when: now }']} | ${`:4: node-groups: when is no part of a group; ${FORM}`}
  ${'a part twice'}                   | ${['- { name: a, name: b, match: { node-names: [x] }, options: {} }']}   | ${':4: node-groups: a group has name twice; correct the file'}
  ${'a group that is a text'}         | ${['- gpu']}                                                             | ${`:4: node-groups: has a group that is not a mapping; ${FORM}`}
  ${'an option without a value'}      | ${[group('a', 'cpu-1', '{ log-level: }')]}                               | ${':4: log-level: has no value that can be read; write one text, list or mapping'}
  ${'a rule over two options'}        | ${[group('a', 'gpu-17', '{ reserved-cpus: 1, reserved-cpu-count: 2 }')]} | ${':4: reserved-cpus and FILE:4: reserved-cpu-count: both say what is reserved; set only one of them'}
`('$fault is told with its line and a remedy', async ({ groups, problem }) => {
  const loaded = await load(withGroups(...(groups as string[])));
  const problems = loaded.ok ? [] : loaded.problems.map((each) => each.replaceAll(path(), 'FILE'));
  expect(problems).toEqual([`FILE${problem as string}`]);
});

/** A group of the nodes with these labels. */
const labelled = (name: string, labels: string, options?: string): string =>
  group(name, 'x', options).replace('node-names: [x]', `node-labels: { ${labels} }`);

test.each`
  rule                                                   | groups                                                                                           | want
  ${'the node has the label'}                            | ${[labelled('a', 'pool: gpu')]}                                                                  | ${1}
  ${'it has another value'}                              | ${[labelled('a', 'pool: cpu')]}                                                                  | ${99}
  ${'it has one of two'}                                 | ${[labelled('a', 'pool: gpu, zone: c')]}                                                         | ${99}
  ${'a value that YAML takes for something else'}        | ${[labelled('a', 'fast: true, rack: 07')]}                                                       | ${1}
  ${'a name with a domain, and an empty value'}          | ${[labelled('a', 'node-role.kubernetes.io/worker: ""')]}                                         | ${1}
  ${'a name that every object has is no label'}          | ${[labelled('a', 'constructor: x')]}                                                             | ${99}
  ${'more labels win'}                                   | ${[labelled('a', 'pool: gpu, zone: b'), labelled('bb', 'zone: b')]}                              | ${1}
  ${'a label wins over a pattern'}                       | ${[labelled('a', 'pool: gpu'), group('bb', '"gpu-1*"')]}                                         | ${1}
  ${'a whole name wins over labels'}                     | ${[labelled('a', 'pool: gpu, zone: b'), group('bb', 'gpu-17')]}                                  | ${2}
  ${'both are given, and the node has both'}             | ${[group('a', '"gpu-*"').replace(']', '], node-labels: { pool: gpu }')]}                         | ${1}
  ${'both are given, and the name is another'}           | ${[group('a', '"cpu-*"').replace(']', '], node-labels: { pool: gpu }')]}                         | ${99}
  ${'a pattern with a label wins over the same pattern'} | ${[group('a', '"gpu-*"').replace(']', '], node-labels: { pool: gpu }'), group('bb', '"gpu-*"')]} | ${1}
`('by labels: $rule', async ({ groups, want }) => {
  const labels = 'pool=gpu,zone=b,fast=true,rack=07,node-role.kubernetes.io/worker=';
  const loaded = await load(withGroups(...(groups as string[])), { 'node-name': 'gpu-17', 'node-labels': labels });
  expect(loaded).toMatchObject({ ok: true, config: { minSharedCpus: want } });
});

test.each`
  fault                          | groups                                                    | problem
  ${'a tie'}                     | ${[labelled('a', 'pool: gpu'), labelled('b', 'zone: b')]} | ${':5: min-shared-cpus: the groups a and b have the node gpu-17 by equally specific matches, and both set min-shared-cpus; set it in one of them, or name the node in one'}
  ${'no labels'}                 | ${[labelled('a', '')]}                                    | ${`:4: node-groups: the group a has no labels by name and value; ${MATCH}`}
  ${'a name that no label has'}  | ${[labelled('a', '_x: y')]}                               | ${`:4: node-groups: the group a has a label _x, which is no name of a label; ${MATCH}`}
  ${'a value that no label has'} | ${[labelled('a', 'x: a/b')]}                              | ${`:4: node-groups: the group a has a label x whose value is no value of a label; quote an empty one: ""; ${MATCH}`}
  ${'a label without a value'}   | ${[labelled('a', 'x: ')]}                                 | ${`:4: node-groups: the group a has a label x whose value is no value of a label; quote an empty one: ""; ${MATCH}`}
  ${'the place of the labels'}   | ${[labelled('a', 'x: y', '{ state-dir: /x }')]}           | ${":4: state-dir: decides which groups a node is in, so the group a can't set it; write it outside of the groups"}
`('labels with $fault are told with line and remedy', async ({ groups, problem }) => {
  const loaded = await load(withGroups(...(groups as string[])), {
    'node-name': 'gpu-17',
    'node-labels': 'pool=gpu,zone=b',
  });
  const problems = loaded.ok ? [] : loaded.problems.map((each) => each.replaceAll(path(), 'FILE'));
  expect(problems).toEqual([`FILE${problem as string}`]);
});

describe('the labels that groups ask for', () => {
  const file = withGroups(labelled('a', 'pool: gpu'));
  const kube = { 'node-name': 'gpu-17', kubeconfig: 'in-cluster' };
  const remember = (text: string): void => writeFileSync(join(folder, 'node-labels.json'), text);
  afterEach(() => rmSync(join(folder, 'node-labels.json'), { force: true }));

  test('are those that the API server has now, before those that it had', async () => {
    remember('{"pool":"gpu"}');
    const loaded = await load(file, { ...kube, 'state-dir': folder });
    expect(loaded).toMatchObject({
      config: { minSharedCpus: 1 },
      node: { groups: ['a'], labelsFrom: 'api-server', labels: { pool: 'gpu' } },
    });
    const now = loaded.ok ? await loaded.again({ pool: 'cpu' }) : undefined;
    expect(now).toMatchObject({ config: { minSharedCpus: 99 }, node: { groups: [], labelsFrom: 'api-server' } });
    expect(now?.ok && (await now.again())).toMatchObject({ config: { minSharedCpus: 99 } });
  });

  test('are unknown before the API server has told them, or when what was remembered is damaged', async () => {
    for (const text of ['', '{', '[', 'null', '"x"']) {
      remember(text);
      const loaded = await load(file, { ...kube, 'state-dir': folder });
      expect(loaded).toMatchObject({ config: { minSharedCpus: 99 }, node: { groups: [], labelsFrom: 'unknown' } });
    }
  });

  test('are those of the option, where it is set', async () => {
    remember('{"pool":"cpu"}');
    const loaded = await load(`node-labels: { pool: gpu }\n${file}`, { ...kube, 'state-dir': folder });
    expect(loaded).toMatchObject({ config: { minSharedCpus: 1 }, node: { labelsFrom: 'option' } });
  });

  test('have to come from somewhere', async () => {
    const loaded = await load(file);
    expect(loaded).toMatchObject({
      problems: [
        `${path()}:4: node-groups: the group a is for nodes with labels, but those of this node are not known; set kubeconfig, or node-labels`,
      ],
    });
  });

  test('are not read where no group asks for them', async () => {
    remember('{"pool":"gpu"}');
    const loaded = await load(withGroups(group('a', 'gpu-17')), { ...kube, 'state-dir': folder });
    expect(loaded).toMatchObject({ ok: true, node: { name: 'gpu-17', groups: ['a'] } });
    expect(loaded.ok && Object.keys(loaded.node)).toEqual(['name', 'groups']);
  });

  test.each(['', 'pool', 'pool=gpu,pool=cpu', 'pool=a=b', '_=x', 'pool=gpu,'])(
    '"%s" is no text of labels',
    async (text) => {
      expect(await load('reserved-cpus: 0', { 'node-labels': text })).toMatchObject({
        problems: [expect.stringMatching(/^--node-labels: ".*; (write name=value, separated by commas|set it once)$/)],
      });
    },
  );
});

test('groups that are no list are refused', async () => {
  expect(await load('reserved-cpus: 0\nnode-groups: { a: {} }')).toMatchObject({
    ok: false,
    problems: [`${path()}:2: node-groups: is not a list; ${FORM}`],
  });
});

test('a pattern of many stars is matched quickly', async () => {
  const node = 'a'.repeat(250);
  const read = async (): Promise<void> =>
    expect(await load(withGroups(group('x', `"${'a*'.repeat(125)}b"`)), { 'node-name': node })).toMatchObject({
      config: { minSharedCpus: 99 },
    });
  expect(await leastCpuMsOfAsync(read, { limitMs: 1_000 })).toBeLessThan(1_000);
});
