import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../e2e/rig/project-root';
import { runInProcess } from '../../support/run-cli';

const folder = mkdtempSync(join(tmpdir(), 'policy-'));
afterAll(() => rmSync(folder, { recursive: true }));

const defaultPolicy = join(projectRoot(), 'deploy/scheduling/policy.yaml');

test('given the policy of deploy: exit 0, and a table of what it means', async () => {
  const { status, stdout, stderr } = await runInProcess(['policy', 'check', defaultPolicy]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      'METRIC                READ EVERY  NODE LEFT OUT  PART OF SCORE',
      'cpu_usage_avg_5m      3m          > 0.65         10 %',
      'mem_usage_max_avg_1d  3h          -              25 %',
      'pods bound to a node, each 5 in 5m  10 points less',
    ]),
  );
});

test('given a file with mistakes: exit 1, and each with its line', async () => {
  const file = join(folder, 'bad.yaml');
  writeFileSync(
    file,
    'apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec:\n  hotValue: [{ timeRange: 1m, count: 0 }]\n',
  );
  const { status, stdout, stderr } = await runInProcess(['policy', 'check', file]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toBe(`cpusetd: ${file}:4: spec.hotValue[0].count: must be a whole number of at least 1\n`);
});

test('given a file that is not there: exit 1, and the path', async () => {
  const { status, stderr } = await runInProcess(['policy', 'check', '/no/such/policy.yaml']);
  expect(status).toBe(1);
  expect(stderr).toBe('cpusetd: /no/such/policy.yaml: no such file; check the path of the policy file\n');
});

test('given a field that has no effect: exit 0, and a remark', async () => {
  const file = join(folder, 'more.yaml');
  writeFileSync(
    file,
    'apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec: { more: 1 }\n',
  );
  const { status, stdout, stderr } = await runInProcess(['policy', 'check', file, '-o', 'json']);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ syncPolicy: [], predicate: [], priority: [], hotValue: [] });
  expect(stderr).toBe(`cpusetd: ${file}:3: spec.more: no such field; it has no effect\n`);
});

test('given no file: exit 2', async () => {
  expect((await runInProcess(['policy', 'check'])).status).toBe(2);
});
