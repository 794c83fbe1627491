import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parse, parseAllDocuments } from 'yaml';
import { listCommands } from '../docs/commands';
import { type ApiServer, requireApiServer, startApiServer } from './rig/api-server';
import { requireGoPrograms } from './rig/go-program';
import { projectRoot } from './rig/project-root';

const run = promisify(execFile);
const deploy = join(projectRoot(), 'deploy');
const chart = join(deploy, 'helm/cpusetd');
const image = { repository: 'registry.example.com/cpusetd' };

jest.setTimeout(300_000);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; labels?: Record<string, string> };
}

requireApiServer('helm')('the chart, with the real Helm and a real API server', () => {
  let api: ApiServer;
  let folder: string;
  let program: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'helm-'));
    program = join(requireGoPrograms('helm').programs, 'helm');
    api = await startApiServer();
  });
  afterAll(async () => {
    await api?.stop();
    rmSync(folder, { recursive: true });
  });

  /** Gives its standard output. @throws unless it exits with 0 */
  const helm = async (...args: string[]): Promise<string> => {
    const env = { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: api.kubeconfigs.admin };
    return (await run(program, args, { cwd: projectRoot(), env, maxBuffer: 2 ** 26 })).stdout;
  };
  const kubectl = async (...args: string[]): Promise<string> => {
    const flags = ['--kubeconfig', api.kubeconfigs.admin, ...args];
    return (await run(join(api.programs, 'kubectl'), flags, { maxBuffer: 2 ** 26 })).stdout;
  };
  /** The arguments that name the chart and the values. */
  const withValues = (values: object): string[] => {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify({ image, ...values }));
    return [chart, '--values', file];
  };
  const template = (values: object, ...args: string[]): Promise<string> =>
    helm(
      'template',
      'cpusetd',
      ...withValues(values),
      '--namespace',
      'cpusetd',
      '--kube-version',
      api.versions['kube-apiserver']!,
      ...args,
    );

  test('helm lint finds nothing, and the chart has the version of the program', async () => {
    expect(await helm('lint', '--strict', ...withValues({}))).toContain('1 chart(s) linted, 0 chart(s) failed');
    const { version } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { version: string };
    const about = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8')) as object;
    expect(about).toMatchObject({ version, appVersion: version });
  });

  test('the archive of a release renders the same, and has files in place of links', async () => {
    const out = join(folder, 'release');
    const script = join(projectRoot(), 'scripts/release.mjs');
    const env = { ...process.env, SOURCE_DATE_EPOCH: '1' }; // without it, the time of the last commit
    const options = ['--this-node', '--allow-dirty', '--only', 'chart', '--out', out];
    await run(process.execPath, [script, ...options], { env });
    const { version } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { version: string };
    const archive = join(out, `cpusetd-${version}.tgz`);
    const values = { apiServer: { enabled: true }, monitoring: { enabled: true }, qos: { enabled: true } };
    const [, ...args] = withValues(values);
    const flags = ['--namespace', 'cpusetd', '--kube-version', api.versions['kube-apiserver']!, '--include-crds'];
    expect(await helm('template', 'cpusetd', archive, ...args, ...flags)).toBe(
      await template(values, '--include-crds'),
    );
    expect((await run('tar', ['-tvzf', archive])).stdout).not.toMatch(/^l/m);
  });

  test.each`
    components                                      | values
    ${[]}                                           | ${{}}
    ${['api-server']}                               | ${{ apiServer: { enabled: true } }}
    ${['unprivileged']}                             | ${{ unprivileged: true }}
    ${['monitoring']}                               | ${{ monitoring: { enabled: true } }}
    ${['crio']}                                     | ${{ runtime: 'crio' }}
    ${['api-server', 'qos']}                        | ${{ apiServer: { enabled: true }, qos: { enabled: true } }}
    ${['api-server', 'monitoring', 'crio']}         | ${{ apiServer: { enabled: true }, monitoring: { enabled: true }, runtime: 'crio' }}
    ${['api-server', 'monitoring', 'unprivileged']} | ${{ apiServer: { enabled: true }, monitoring: { enabled: true }, unprivileged: true }}
  `(
    'with $values it has the objects of the Kustomize base with the components $components',
    async ({ components, values }: { components: string[]; values: object }) => {
      const kustomization = {
        resources: [relative(folder, join(deploy, 'base'))],
        components: components.map((name) => relative(folder, join(deploy, 'components', name))),
        images: [{ name: 'cpusetd', newName: image.repository, newTag: '0.1.0' }],
      };
      writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify(kustomization));
      const wanted = readManifests(await kubectl('kustomize', folder)).filter(({ kind }) => kind !== 'Namespace');
      expect(wanted.length).toBeGreaterThan(3);
      expect(readManifests(await template(values))).toEqual(wanted);
    },
  );

  test('the other values are where they belong', async () => {
    const values = {
      image: { ...image, tag: '9.9.9', pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
      options: { 'reserved-cpus': '0,2', 'http-address': 14710, 'journal-size': '64Mi', 'min-shared-cpus': 65_535 },
      monitoring: { enabled: true, labels: { release: 'prometheus' } },
      networkPolicy: { enabled: false },
      priorityClassName: '',
      nodeSelector: { pool: 'latency' },
      tolerations: [],
      resources: { limits: { memory: '512Mi' } },
      podAnnotations: { owner: 'team' },
      extraEnv: [{ name: 'CPUSETD_HEALTH_ADDRESS', value: '[::]:14708' }],
      hostNetwork: true,
    };
    const manifests = readManifests(await template(values));
    const find = (kind: string) => manifests.find((each) => each.kind === kind);
    const container = {
      image: 'registry.example.com/cpusetd:9.9.9',
      imagePullPolicy: 'Always',
      resources: values.resources,
      env: expect.arrayContaining(values.extraEnv) as unknown,
    };
    expect(find('DaemonSet')).toMatchObject({
      spec: {
        template: {
          metadata: { annotations: { owner: 'team', 'cpusetd.io/tolerate-missing': 'true' } },
          spec: {
            imagePullSecrets: values.imagePullSecrets,
            hostNetwork: true,
            nodeSelector: { 'kubernetes.io/os': 'linux', pool: 'latency' },
            initContainers: [container],
            containers: [container],
          },
        },
      },
    });
    expect(find('DaemonSet')).not.toHaveProperty('spec.template.spec.priorityClassName');
    expect(find('DaemonSet')).not.toHaveProperty('spec.template.spec.tolerations');
    expect(find('NetworkPolicy')).toBeUndefined();
    expect(find('ConfigMap')).toMatchObject({ data: { 'cpusetd.yaml': values.options } });
    for (const kind of ['PodMonitor', 'PrometheusRule'])
      expect(find(kind)).toMatchObject({ metadata: { labels: { release: 'prometheus' } } });
  });

  test('metrics are let in from namespaces with these labels', async () => {
    const namespaceLabels = { 'kubernetes.io/metadata.name': null, team: 'observability' };
    const manifests = readManifests(await template({ monitoring: { enabled: true, namespaceLabels } }));
    expect(manifests.find(({ kind }) => kind === 'NetworkPolicy')).toMatchObject({
      spec: { ingress: [{ from: [{ namespaceSelector: { matchLabels: { team: 'observability' } } }] }] },
    });
  });

  test.each`
    what                               | values                                             | want
    ${'no image'}                      | ${{ image: {} }}                                   | ${'image.repository is not set: name the image of a release in your registry'}
    ${'an option that does not exist'} | ${{ options: { 'reserved-cpu': 1 } }}              | ${"'reserved-cpu' not allowed"}
    ${'a wrong value of an option'}    | ${{ options: { 'cpu-manager-policy': 'statik' } }} | ${"at '/options/cpu-manager-policy'"}
    ${'CPUs that are no list'}         | ${{ options: { 'reserved-cpus': 'x-' } }}          | ${"chart(s):\ncpusetd:\n- at '/options/reserved-cpus': 'x-' does not match pattern"}
    ${'a value that does not exist'}   | ${{ apiserver: { enabled: true } }}                | ${"'apiserver' not allowed"}
    ${'a runtime that is not known'}   | ${{ runtime: 'docker' }}                           | ${"at '/runtime'"}
    ${'metrics for every namespace'}   | ${{ monitoring: { namespaceLabels: null } }}       | ${"at '/monitoring'"}
    ${'rules without the API server'}  | ${{ qos: { enabled: true } }}                      | ${'qos.enabled needs the API server: set apiServer.enabled=true too'}
  `('$what is refused', async ({ values, want }: { values: object; want: string }) => {
    await expect(template(values)).rejects.toMatchObject({ stderr: expect.stringContaining(want) as unknown });
  });

  test('policies that the cluster cannot evaluate are refused', async () => {
    const before = template({ apiServer: { enabled: true } }, '--kube-version', '1.31.0');
    const want = 'apiServer.admissionPolicies needs Kubernetes 1.32, and this is v1.31.0: set it to false';
    await expect(before).rejects.toMatchObject({ stderr: expect.stringContaining(want) as unknown });
    const without = { apiServer: { enabled: true, admissionPolicies: false } };
    expect(await template(without, '--kube-version', '1.31.0')).not.toContain('ValidatingAdmissionPolicy');
  });

  test('the commands of deploy/README.md work', async () => {
    const commands = listHelmCommands();
    expect(commands.map(([command]) => command)).toEqual(['install', 'upgrade']);
    for (const args of commands) await helm(...args);
    const [flags, shown] = [
      ['--namespace', 'cpusetd'],
      ['--output', 'jsonpath={.spec.template.spec.containers[0].image}'],
    ];
    expect(await kubectl('get', 'daemonset', 'cpusetd', ...flags, ...shown)).toBe('registry.example.com/cpusetd:0.1.0');
    await kubectl('get', 'clusterrole', 'cpusetd');
    await helm('uninstall', 'cpusetd', ...flags, '--wait');
  });

  test('install, a changed option without a restart of pods, rollback, uninstall: in a namespace of any name', async () => {
    const flags = ['--namespace', 'pinning'];
    const values = { apiServer: { enabled: true } };
    const [first, second] = [values, { ...values, options: { 'reserved-cpus': '0-3', 'log-level': 'debug' } }];
    const read = async (kind: string) => {
      const text = await kubectl('get', kind, 'cpusetd', ...flags, '--output', 'json');
      return JSON.parse(text) as Manifest & { metadata: { generation: number }; data: Record<string, string> };
    };
    const options = async () => parse((await read('configmap')).data['cpusetd.yaml']!) as object;

    await helm('install', 'cpusetd', ...withValues(first), ...flags, '--create-namespace');
    expect(await options()).toEqual({ 'reserved-cpus': '0-1' });
    const identity = 'system:serviceaccount:pinning:cpusetd';
    await kubectl('auth', 'can-i', 'create', 'events', '--as', identity); // it exits with 0 only if so
    const policy = await kubectl('get', 'validatingadmissionpolicy', 'cpusetd-own-node', '--output', 'yaml');
    expect(identity).toMatch(new RegExp(/username\.matches\('(.+?)'\)/.exec(policy)![1]!));
    for (const name of ['topology.node.k8s.io', 'topology.crane.io'])
      await kubectl('get', 'customresourcedefinition', `noderesourcetopologies.${name}`);

    await helm('upgrade', 'cpusetd', ...withValues(second), ...flags);
    expect(await options()).toEqual({ 'reserved-cpus': '0-3', 'log-level': 'debug' });
    expect((await read('daemonset')).metadata.generation).toBe(1); // its pods go on
    await helm('rollback', 'cpusetd', ...flags);
    expect(await options()).toEqual({ 'reserved-cpus': '0-1' });

    await helm('uninstall', 'cpusetd', ...flags, '--wait');
    const kinds = 'daemonset,configmap,serviceaccount,networkpolicy,clusterrole,clusterrolebinding';
    const all = `${kinds},validatingadmissionpolicy,validatingadmissionpolicybinding`;
    expect(await kubectl('get', all, ...flags, '--output', 'name')).not.toContain('cpusetd');
  });
});

/** The arguments of Helm on the page. */
const listHelmCommands = (): string[][] =>
  listCommands('deploy/README.md', readFileSync(join(deploy, 'README.md'), 'utf8')).flatMap(
    ({ words: [program, ...args] }) => (program === 'helm' ? [args] : []),
  );

/**
 * Objects by kind and name, without the labels of Helm; what has a key of its own in lists is ordered by it, and
 * options are parsed.
 */
function readManifests(text: string): Manifest[] {
  const manifests = parseAllDocuments(text).flatMap((document) => (document.toJS() as Manifest | null) ?? []);
  const inOrder = manifests.map((manifest) => toComparable(manifest) as Manifest);
  return inOrder.sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
}

const nameOf = ({ kind, metadata }: Manifest): string => `${kind}/${metadata.name}`;
const labelsOfHelm = ['app.kubernetes.io/name', 'app.kubernetes.io/managed-by', 'helm.sh/chart'];

function toComparable(manifest: Manifest): unknown {
  const { metadata } = manifest;
  const labels = Object.entries(metadata.labels ?? {}).filter(([name]) => !labelsOfHelm.includes(name));
  if (labels.length > 0) metadata.labels = Object.fromEntries(labels);
  else delete metadata.labels;
  return JSON.parse(JSON.stringify(manifest), (key, value: unknown) => {
    if (key === 'cpusetd.yaml') return parse(value as string) as unknown;
    if (!Array.isArray(value)) return value;
    const keyOf = (item: unknown): string => {
      const { mountPath, name } = item as { mountPath?: string; name?: string };
      return mountPath ?? name ?? '';
    };
    const isKeyed = value.every((item) => typeof item === 'object' && item !== null && keyOf(item) !== '');
    return isKeyed ? [...value].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) : value;
  }) as unknown;
}
