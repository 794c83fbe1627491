import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type ApiServer, requireApiServer, startApiServer } from './rig/api-server';
import { projectRoot } from './rig/project-root';

const run = promisify(execFile);
const deploy = join(projectRoot(), 'deploy');

jest.setTimeout(300_000);

requireApiServer()('deploy/ as kubectl applies it to a real API server, validated strictly, warnings as errors', () => {
  let api: ApiServer;
  beforeAll(async () => {
    api = await startApiServer();
  });
  afterAll(() => api?.stop());

  /** Gives what it printed, also its standard error. @throws unless it exits with 0 */
  const kubectl = async (...args: string[]): Promise<string> => {
    const { stdout, stderr } = await run(join(api.programs, 'kubectl'), [
      '--kubeconfig',
      api.kubeconfigs.admin,
      ...args,
    ]);
    return stdout + stderr;
  };
  const strictly = ['--validate=strict', '--warnings-as-errors'];

  const objects = [
    'namespace/cpusetd',
    'daemonset.apps/cpusetd',
    'serviceaccount/cpusetd',
    'clusterrole.rbac.authorization.k8s.io/cpusetd',
    'clusterrolebinding.rbac.authorization.k8s.io/cpusetd',
    'validatingadmissionpolicy.admissionregistration.k8s.io/cpusetd-own-node',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/cpusetd-own-node',
    'validatingadmissionpolicy.admissionregistration.k8s.io/cpusetd-own-events',
    'validatingadmissionpolicybinding.admissionregistration.k8s.io/cpusetd-own-events',
  ];
  const definitions = ['crane', 'node'].map(
    (group) =>
      `customresourcedefinition.apiextensions.k8s.io/noderesourcetopologies.topology.${group === 'crane' ? 'crane.io' : 'node.k8s.io'}`,
  );
  const linesOf = (text: string): string[] => text.trim().split('\n').sort();
  const each = (names: readonly string[], what: string): string[] => names.map((name) => `${name} ${what}`).sort();

  test('by the client: all is created, without a warning; a second time nothing changes', async () => {
    const args = ['apply', '-f', deploy, ...strictly];
    expect(linesOf(await kubectl(...args))).toEqual(each(objects, 'created'));
    expect(linesOf(await kubectl(...args))).toEqual(each(objects, 'unchanged'));
    expect(linesOf(await kubectl('apply', '-f', join(deploy, 'crds'), ...strictly))).toEqual(
      each(definitions, 'created'),
    );
  });

  test('as a dry run of the server, the same objects', async () => {
    const changed = await kubectl('apply', '-f', deploy, '--dry-run=server', ...strictly);
    expect(linesOf(changed)).toEqual(each(objects, 'unchanged (server dry run)'));
  });

  test('by the server, which takes over the fields', async () => {
    const args = ['apply', '--server-side', '--force-conflicts', '-f', deploy, '-f', join(deploy, 'crds'), ...strictly];
    expect(linesOf(await kubectl(...args))).toEqual(each([...objects, ...definitions], 'serverside-applied'));
  });

  test('a field that does not exist is refused: the validation is in force', async () => {
    const wrong = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' }, spec: { wrong: 1 } });
    const command = `printf %s '${wrong}' | ${join(api.programs, 'kubectl')} --kubeconfig ${api.kubeconfigs.admin} apply -f - ${strictly.join(' ')}`;
    await expect(run('sh', ['-c', command])).rejects.toThrow(/unknown field "spec.wrong"/);
  });

  test('with level baseline of Pod Security the DaemonSet would be refused, for the reasons that the page names', async () => {
    await kubectl('label', 'namespace', 'cpusetd', 'pod-security.kubernetes.io/warn=baseline');
    const apply = [
      'apply',
      '-f',
      join(deploy, 'daemonset.yaml'),
      '--dry-run=server',
      '--force-conflicts',
      '--server-side',
    ];
    const warned = await kubectl(...apply);
    expect(warned).toMatch(/^Warning: would violate PodSecurity "baseline:latest": (.*)$/m);
    const [, reasons = ''] = /baseline:latest": (.*)$/m.exec(warned) ?? [];
    expect(reasons.replaceAll(/ \(.*?\)/g, '').split(', ')).toEqual([
      'non-default capabilities',
      'host namespaces',
      'hostPath volumes',
    ]);
    await expect(kubectl(...apply, '--warnings-as-errors')).rejects.toThrow(/1 warning received/);
  });
});
