import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../../src/app/config';

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

const FORM = 'write { name: ..., match: { node-names: [...] }, options: {...} }';
const MATCH = 'write match: { node-names: [gpu-*, node-17] }';

test.each`
  fault                               | groups                                                                   | problem
  ${'a tie'}                          | ${[group('a', '"gpu-*"'), group('b', '"*u-17"')]}                        | ${':5: min-shared-cpus: the groups a and b have the node gpu-17 by patterns that are equally specific, and both set min-shared-cpus; set it in one of them, or name the node in one'}
  ${'a wrong value, of another node'} | ${[group('a', 'cpu-1', '{ min-shared-cpus: 0 }')]}                       | ${':4: min-shared-cpus: "0" is out of range; write a whole number from 1 to 65535'}
  ${'an unknown option'}              | ${[group('a', 'cpu-1', '{ min-cpus: 0 }')]}                              | ${':4: min-cpus: no such option; remove it, or see cpusetd run --help for the names'}
  ${'the name of the node'}           | ${[group('a', 'cpu-1', '{ node-name: x }')]}                             | ${':4: node-name: decides which groups a node is in, so no group can set it; write it outside of the groups'}
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

test('groups that are no list are refused', async () => {
  expect(await load('reserved-cpus: 0\nnode-groups: { a: {} }')).toMatchObject({
    ok: false,
    problems: [`${path()}:2: node-groups: is not a list; ${FORM}`],
  });
});

test('a pattern of many stars is matched quickly', async () => {
  const node = 'a'.repeat(250);
  const before = performance.now();
  expect(await load(withGroups(group('x', `"${'a*'.repeat(125)}b"`)), { 'node-name': node })).toMatchObject({
    config: { minSharedCpus: 99 },
  });
  expect(performance.now() - before).toBeLessThan(1_000);
});
