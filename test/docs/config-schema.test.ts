import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Ajv, { type ValidateFunction } from 'ajv';
import { parse } from 'yaml';
import { describeFile, loadConfig, nameOf, OPTION_KEYS, OPTIONS } from '../../src/app/config';
import { runInProcess } from '../support/run-cli';
import { listExamples, readPage, ROOT } from './markdown';

const SCHEMA = join(ROOT, 'deploy/etc/cpusetd.schema.json');
const VALUES_SCHEMA = join(ROOT, 'deploy/helm/cpusetd/values.schema.json');
const example = readFileSync(join(ROOT, 'deploy/etc/cpusetd.yaml'), 'utf8');

let folder: string;
let isValid: ValidateFunction;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'schema-'));
  if (process.env['UPDATE_DOCS']) writeFileSync(SCHEMA, (await runInProcess(['config', 'schema'])).stdout);
  isValid = new Ajv({ allErrors: true }).compile(JSON.parse(readFileSync(SCHEMA, 'utf8')) as object);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The daemon's answer about the file, with a reservation where it needs one. */
async function load(text: string) {
  const path = join(folder, 'file.yaml');
  writeFileSync(path, text);
  const flags = { config: [path], ...(!/^reserved-cpu/m.test(text) && { 'reserved-cpus': ['0'] }) };
  return loadConfig({ flags, env: {} });
}

test('the committed schema is the one that the table of options gives, and that the command prints', async () => {
  const committed = readFileSync(SCHEMA, 'utf8');
  expect(JSON.parse(committed)).toEqual(await describeFile());
  expect(await runInProcess(['config', 'schema'])).toEqual({ status: 0, stdout: committed, stderr: '' });
});

test('its patterns are ones that Go takes too, where Helm checks values: they look neither ahead nor behind, and refer to no group', () => {
  const patterns = [...readFileSync(SCHEMA, 'utf8').matchAll(/"pattern": (".*")/g)].map(
    ([, text = '']) => JSON.parse(text) as string,
  );
  expect(patterns.length).toBeGreaterThan(20);
  expect(patterns.filter((pattern) => /\(\?(?:[=!]|<[=!])|\\\d|\\k</.test(pattern))).toEqual([]);
});

test("the schema of the chart's values has that of the options", () => {
  const { $schema: _draft, ...options } = JSON.parse(readFileSync(SCHEMA, 'utf8')) as Record<string, unknown>;
  const values = JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8')) as { properties: object };
  const updated = { ...values, properties: { ...values.properties, options } };
  if (process.env['UPDATE_DOCS']) writeFileSync(VALUES_SCHEMA, `${JSON.stringify(updated, null, 2)}\n`);
  expect(JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8'))).toEqual(updated);
});

test.each`
  labels                                          | want
  ${{ 'kubernetes.io/metadata.name': 'metrics' }} | ${true}
  ${{}}                                           | ${false}
  ${null}                                         | ${false}
  ${undefined}                                    | ${false}
`(
  'given $labels for the namespace of Prometheus, valid: $want; none would let every namespace in',
  ({ labels, want }) => {
    const values = parse(readFileSync(join(ROOT, 'deploy/helm/cpusetd/values.yaml'), 'utf8')) as Record<string, object>;
    const isValues = new Ajv().compile(JSON.parse(readFileSync(VALUES_SCHEMA, 'utf8')) as object);
    const monitoring = { ...values['monitoring'], namespaceLabels: labels as unknown };
    expect(isValues({ ...values, monitoring })).toBe(want);
  },
);

test('the example names the schema, for editors', () => {
  expect(example.split('\n')[0]).toBe('# yaml-language-server: $schema=cpusetd.schema.json');
});

/** Every option of the example with the value that it shows. */
const examples = [...example.matchAll(/\n\n# .+\n(?:# )?([a-z][a-z-]*): (.+)/g)].map(([, name, value]) => ({
  name: name!,
  value: value!,
}));
const defaults = OPTION_KEYS.flatMap((key) => {
  const value = OPTIONS[key].default;
  return value ? [{ name: nameOf(key), value }] : [];
});

test('the example shows each option', () => {
  expect(examples.map(({ name }) => name)).toEqual(OPTION_KEYS.map(nameOf));
});

test.each([...examples, ...defaults].map(({ name, value }) => `${name}: ${value}`))(
  '%s: both the schema and the daemon take it',
  async (line) => {
    isValid(parse(line));
    expect(isValid.errors ?? []).toEqual([]);
    // Rules over several options are not the schema's.
    const loaded = await load(line);
    const problems = loaded.ok
      ? []
      : loaded.problems.filter((problem) => !/; set (?:--kubeconfig|another|only)/.test(problem));
    expect(problems).toEqual([]);
  },
);

test.each`
  file
  ${''}
  ${'{}'}
  ${'reserved-cpus: 3'}
  ${'reserved-cpus: [0, 1, 4-7]'}
  ${'reserved-cpu-count: 1.5'}
  ${'reserved-cpu-count: 1500m'}
  ${'nri-plugin-index: "05"'}
  ${'nri-plugin-index: 50'}
  ${'cpu-manager-policy-options: { full-pcpus-only: true }'}
  ${'cpu-manager-policy-options: [full-pcpus-only=true, strict-cpu-reservation=false]'}
  ${'cpu-manager-policy-options: full-pcpus-only=true'}
  ${'topology-manager-policy-options: { max-allowable-numa-nodes: 9 }\ntopology-manager-policy: best-effort'}
  ${'pod-policies: [numa, immovable]'}
  ${'pod-policies: numa, immovable'}
  ${'journal-size: off'}
  ${'cri-listen: fd:3'}
  ${'http-address: 14710'}
  ${'http-address: :14710'}
  ${'http-address: "[::1]:14710"'}
  ${'kubeconfig: in-cluster'}
  ${'node-groups: []'}
  ${'node-groups: [{ name: gpu, match: { node-names: ["gpu-*", node-17] }, options: { log-level: warn } }]'}
  ${'node-labels: a=b\nnode-groups: [{ name: gpu, match: { node-labels: { pool: gpu, "a.b/c": "", x: true, n: 1 } }, options: {} }]'}
  ${'node-labels: { a: b }\nnode-groups: [{ name: gpu, match: { node-names: [x], node-labels: { pool: gpu } }, options: {} }]'}
`('right: $file', async ({ file }) => {
  expect([await load(file as string), isValid(parse(file as string) ?? {})]).toMatchObject([{ ok: true }, true]);
});

test.each`
  file
  ${'[reserved-cpus]'}
  ${'reserved-cpus'}
  ${'reserved: 0'}
  ${'reserved-cpus: '}
  ${'reserved-cpus: ""'}
  ${'reserved-cpus: 0..1'}
  ${'reserved-cpus: -1'}
  ${'reserved-cpus: [[0]]'}
  ${'reserved-cpu-count: 0'}
  ${'reserved-cpu-count: two'}
  ${'min-shared-cpus: 0'}
  ${'min-shared-cpus: 1.5'}
  ${'mode: nry'}
  ${'lift-cpu-quota: true'}
  ${'reconcile-period: 10'}
  ${'reconcile-period: [10s, 20s]'}
  ${'journal-size: 32M'}
  ${'state-dir: var/lib'}
  ${'state-dir: { a: b }'}
  ${'nri-plugin-index: "5"'}
  ${'nri-plugin-name: -x'}
  ${'metrics-address: 14709'}
  ${'cri-listen: 3'}
  ${'pod-policies: [numa, best]'}
  ${'pod-policies: none, best'}
  ${'cpu-manager-policy-options: full-pcpus-only'}
  ${'cpu-manager-policy-options: { full-pcpus-only: { on: true } }'}
  ${'node-groups: {}'}
  ${'node-groups: [gpu]'}
  ${'node-groups: [{ name: gpu, options: {} }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [] }, options: {} }]'}
  ${'node-groups: [{ name: gpu, match: { zone: a }, options: {} }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [GPU] }, options: {} }]'}
  ${'node-labels: a=b\nnode-groups: [{ name: gpu, match: {}, options: {} }]'}
  ${'node-labels: a=b\nnode-groups: [{ name: gpu, match: { node-labels: { pool: "a b" } }, options: {} }]'}
  ${'node-labels: a=b\nnode-groups: [{ name: gpu, match: { node-labels: { "": a } }, options: {} }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [a] }, options: { node-labels: a=b } }]'}
  ${'node-labels: { pool: "a b" }'}
  ${'node-groups: [{ name: "", match: { node-names: [a] }, options: {} }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [a] } }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [a] }, options: { node-name: a } }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [a] }, options: { mode: nry } }]'}
  ${'node-groups: [{ name: gpu, match: { node-names: [a] }, options: {}, more: 1 }]'}
`('wrong: $file', async ({ file }) => {
  expect([await load(file as string), isValid(parse(file as string))]).toMatchObject([{ ok: false }, false]);
});

test('the examples of the page are right', () => {
  const shown = listExamples(readPage('options.md'));
  for (const name of ['config', 'config-groups'])
    expect([name, isValid(parse(shown.get(name)!)), isValid.errors]).toEqual([name, true, null]);
});
