import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { isCommand } from '../docs/command-rules';
import { listCommands, listPages } from '../docs/commands';
import { type ApiServer, requireApiServer, startApiServer } from './rig/api-server';
import { listAsNotRun, missing } from './rig/missing';
import { projectRoot } from './rig/project-root';

const run = promisify(execFile);
const deploy = join(projectRoot(), 'deploy');
const strictly = ['--validate=strict', '--warnings-as-errors'];

jest.setTimeout(300_000);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** The objects of each overlay, by kubectl's names without the groups. */
const policiesNamed = (...names: readonly string[]): string[] =>
  names.flatMap((name) => [
    `validatingadmissionpolicy/cpusetd-${name}`,
    `validatingadmissionpolicybinding/cpusetd-${name}`,
  ]);
const policies = policiesNamed('own-events', 'own-node');
const base = ['configmap', 'daemonset', 'namespace', 'networkpolicy', 'serviceaccount'].map(
  (kind) => `${kind}/cpusetd`,
);
const rights = (name: string): string[] => [
  `clusterrole/${name}`,
  `clusterrolebinding/${name}`,
  `serviceaccount/${name}`,
];
const overlays: Readonly<Record<string, readonly string[]>> = {
  nri: base,
  'nri-api': [...base, 'clusterrole/cpusetd', 'clusterrolebinding/cpusetd', ...policies],
  'quick-start': [...base.filter((name) => !name.startsWith('namespace/')), 'namespace/cpusetd-quick-start'],
  unprivileged: base,
  'cri-proxy': ['daemonset/cpusetd', 'namespace/cpusetd'],
  scheduling: [
    'namespace/cpusetd-scheduling',
    ...['configmap/dynamic-scheduler-policy', 'configmap/cpusetd-scheduler'],
    ...['annotator', 'extender'].flatMap((name) => [`deployment/cpusetd-${name}`, ...rights(`cpusetd-${name}`)]),
    ...['deployment', 'serviceaccount', 'clusterrolebinding'].map((kind) => `${kind}/cpusetd-scheduler`),
    'clusterrolebinding/cpusetd-scheduler-volumes',
    ...['annotator', 'scheduler'].flatMap((name) => [`role/cpusetd-${name}`, `rolebinding/cpusetd-${name}`]),
    ...['service/cpusetd-extender', 'poddisruptionbudget/cpusetd-extender', 'networkpolicy/cpusetd-annotator'],
    ...policiesNamed('annotator-figures', 'extender-bindings', 'extender-claims'),
  ],
};
const monitored = [
  ...base,
  ...['fleet', 'node'].map((name) => `configmap/cpusetd-dashboard-${name}`),
  ...['podmonitor/cpusetd', 'prometheusrule/cpusetd'],
];

requireApiServer()('deploy/ as kubectl applies it to a real API server, validated strictly, warnings as errors', () => {
  let api: ApiServer;
  beforeAll(async () => {
    api = await startApiServer();
    // The objects of a dry run need a namespace that is there.
    for (const name of ['namespace/namespace.yaml', 'scheduling/namespace.yaml'])
      await kubectl('apply', '-f', join(deploy, name), ...strictly);
    await kubectl('create', '--save-config', 'namespace', 'cpusetd-quick-start');
  });
  afterAll(() => api?.stop());

  /** Gives what it printed, also its standard error. @throws unless it exits with 0 */
  const kubectl = async (...args: string[]): Promise<string> => {
    const flags = ['--kubeconfig', api.kubeconfigs.admin, ...args];
    const { stdout, stderr } = await run(join(api.programs, 'kubectl'), flags, { maxBuffer: 2 ** 26 });
    return stdout + stderr;
  };
  const linesOf = (text: string): string[] => text.trim().split('\n').sort();
  const folderOf = (overlay: string): string => join(deploy, 'overlays', overlay);

  /** The objects that kubectl renders, by its names. */
  const render = async (folder: string): Promise<string[]> => {
    const documents = parseAllDocuments(await kubectl('kustomize', folder));
    return documents.map((document) => {
      const { apiVersion, kind, metadata } = document.toJS() as Manifest;
      const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]!}` : '';
      return `${kind.toLowerCase()}${group}/${metadata.name}`;
    });
  };
  /** Renders the overlay, applies it as a dry run of the server, then twice in earnest. */
  const applyTwice = async (overlay: string, objects: readonly string[]): Promise<void> => {
    const folder = folderOf(overlay);
    const rendered = await render(folder);
    const withoutHashes = rendered.map((name) =>
      name.replace(/\.[^/]*/, '').replace(/^(configmap\/.*)-[a-z0-9]{10}$/, '$1'),
    );
    expect(withoutHashes.sort()).toEqual([...objects].sort());
    const tried = await kubectl('apply', '-k', folder, '--dry-run=server', ...strictly);
    expect(linesOf(tried)).toHaveLength(objects.length);
    for (const line of linesOf(tried)) expect(line).toMatch(/ (created|configured|unchanged) \(server dry run\)$/);
    await kubectl('apply', '-k', folder, ...strictly);
    const again = linesOf(await kubectl('apply', '-k', folder, ...strictly));
    const isPatchedAlways = (line: string): boolean => line.startsWith('poddisruptionbudget'); // kubectl replaces its selector
    const unchanged = rendered.filter((name) => !isPatchedAlways(name)).map((name) => `${name} unchanged`);
    expect(again.filter((line) => !isPatchedAlways(line))).toEqual(unchanged.sort());
  };

  test.each(Object.entries(overlays))(
    'the overlay %s is rendered and applied; a second time nothing changes',
    (name, objects) => applyTwice(name, objects),
  );

  // The others are forms of one installation: the DaemonSet cpusetd of the namespace cpusetd.
  test.each([
    ['scheduling', ['nri', 'nri-api', 'unprivileged', 'cri-proxy', 'quick-start', 'monitoring']],
    ['quick-start', ['nri', 'nri-api', 'unprivileged', 'cri-proxy', 'scheduling', 'monitoring']],
  ])(
    'the overlay %s has no object of those that it may be installed beside, so each can be removed alone',
    async (name, beside) => {
      const identify = async (overlay: string): Promise<string[]> =>
        parseAllDocuments(await kubectl('kustomize', folderOf(overlay))).map((document) => {
          const { kind, metadata } = document.toJS() as Manifest;
          return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
        });
      const own = await identify(name);
      const namespaces = own.flatMap((object) => /^Namespace \/(.*)$/.exec(object)?.[1] ?? []);
      expect(namespaces).toHaveLength(1);
      for (const other of beside) {
        const theirs = await identify(other);
        expect([other, own.filter((object) => theirs.includes(object))]).toEqual([other, []]);
        // The objects of a namespace go with it.
        const inOwn = theirs.filter((object) => object.includes(` ${namespaces[0]}/`));
        expect([other, inOwn]).toEqual([other, []]);
      }
      for (const object of own.filter((each) => !/ \//.test(each))) expect(object).toContain(` ${namespaces[0]}/`);
    },
  );

  test('the kustomization of the README is rendered and accepted', async () => {
    const page = readFileSync(join(deploy, 'README.md'), 'utf8');
    const [, text = ''] = /^```yaml\n([^]*?)^```/m.exec(page) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'deploy-own-'));
    try {
      writeFileSync(join(folder, 'kustomization.yaml'), text.replaceAll('../deploy', relative(folder, deploy)));
      writeFileSync(join(folder, 'cpusetd.yaml'), 'reserved-cpus: 7\n');
      const rendered = await kubectl('kustomize', folder);
      for (const part of ['image: registry.example.com/cpusetd:0.1.0', 'cpusetd.yaml: |\n    reserved-cpus: 7\n'])
        expect(rendered).toContain(part);
      for (const part of ['value: in-cluster', 'mountPath: /var/run/crio', 'path: /var/run/crio'])
        expect(rendered).toContain(part);
      expect(rendered).not.toContain('/run/containerd');
      await kubectl('apply', '-k', folder, '--dry-run=server', ...strictly);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  defineWithMonitoring()('with the definitions of the Prometheus Operator', (definitions) => {
    test('the overlay monitoring is rendered and applied; a second time nothing changes', async () => {
      await kubectl('apply', '--server-side', '-f', definitions);
      await kubectl('wait', '--for=condition=Established', '--timeout=60s', '-f', definitions);
      await applyTwice('monitoring', monitored);
    });

    test('the rules of the scheduling are applied', async () => {
      const applied = await kubectl('apply', '-f', join(deploy, 'scheduling/prometheus-rule.yaml'), ...strictly);
      expect(linesOf(applied)).toEqual(['prometheusrule.monitoring.coreos.com/cpusetd-load created']);
    });
  });

  test('the definitions of NodeResourceTopology and of Crane’s rules, and the right of the scheduler of scheduler-plugins', async () => {
    const files = ['crds', 'scheduler-plugins/rbac.yaml'].flatMap((name) => ['-f', join(deploy, name)]);
    const role = 'noderesourcetopology-reader';
    expect(linesOf(await kubectl('apply', ...files, ...strictly))).toEqual([
      `clusterrole.rbac.authorization.k8s.io/${role} created`,
      `clusterrolebinding.rbac.authorization.k8s.io/kube-scheduler-${role} created`,
      ...[
        'avoidanceactions.ensurance.crane.io',
        'nodeqoss.ensurance.crane.io',
        'noderesourcetopologies.topology.crane.io',
        'noderesourcetopologies.topology.node.k8s.io',
        'podqoss.ensurance.crane.io',
        'timeseriespredictions.prediction.crane.io',
      ].map((name) => `customresourcedefinition.apiextensions.k8s.io/${name} created`),
    ]);
  });

  test('a field that does not exist is refused: the validation is in force', async () => {
    const wrong = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' }, spec: { wrong: 1 } });
    const command = `printf %s '${wrong}' | ${join(api.programs, 'kubectl')} --kubeconfig ${api.kubeconfigs.admin} apply -f - ${strictly.join(' ')}`;
    await expect(run('sh', ['-c', command])).rejects.toThrow(/unknown field "spec.wrong"/);
  });

  test('kubectl knows each command of the pages, with its flags', async () => {
    const commands = listKubectlCommands();
    expect(commands.length).toBeGreaterThan(20);
    for (const args of commands) {
      const said = await kubectl(...args, '--help');
      const [, path = ''] = /^Usage:\n {2}kubectl ((?:[a-z-]+ )+)/m.exec(said) ?? [];
      expect([args, path]).toEqual([args, expect.stringMatching(/^[a-z]/)]);
      expect(`${args.filter((arg) => !arg.startsWith('-')).join(' ')} `).toContain(path);
      expect([args, /^Available Commands:/m.test(said)]).toEqual([args, false]); // it is no subcommand
    }
  });

  test.each([
    ['nri', ['non-default capabilities', 'host namespaces', 'hostPath volumes']],
    ['unprivileged', ['hostPath volumes']],
    ['cri-proxy', ['host namespaces', 'hostPath volumes']],
  ])(
    'with level baseline of Pod Security the overlay %s would be refused, for the reasons that the page names',
    async (name, want) => {
      await kubectl('label', 'namespace', 'cpusetd', 'pod-security.kubernetes.io/warn=baseline', '--overwrite');
      await kubectl('delete', 'daemonset', 'cpusetd', '--namespace', 'cpusetd', '--ignore-not-found');
      const apply = ['apply', '-k', folderOf(name), '--dry-run=server', '--force-conflicts', '--server-side'];
      const warned = await kubectl(...apply);
      expect(warned).toMatch(/^Warning: would violate PodSecurity "baseline:latest": (.*)$/m);
      const [, reasons = ''] = /baseline:latest": (.*)$/m.exec(warned) ?? [];
      expect(reasons.replaceAll(/ \(.*?\)/g, '').split(', ')).toEqual(want);
      await expect(kubectl(...apply, '--warnings-as-errors')).rejects.toThrow(/1 warning received/);
    },
  );
});

/**
 * The arguments of kubectl on the pages, without those of a program in a container. Plugins have options of their own,
 * and `apply` has tests above.
 */
function listKubectlCommands(): string[][] {
  const read = (page: string): string => readFileSync(join(projectRoot(), page), 'utf8');
  const commands = listPages().flatMap((page) => listCommands(page, read(page), isCommand));
  const found = commands.flatMap(({ words: [program, ...args] }) => (program === 'kubectl' ? [args] : []));
  const own = found.map((args) => (args.includes('--') ? args.slice(0, args.indexOf('--')) : args));
  return [...new Map(own.map((args) => [args.join(' '), args])).values()].filter(
    ([first = '']) => !['apply', 'cpuset', 'krew'].includes(first),
  );
}

/** `describe` for tests that need the definitions; they get the folder with the files. */
function defineWithMonitoring(): (title: string, tests: (definitions: string) => void) => void {
  const script = join(projectRoot(), 'scripts/cluster/monitoring-definitions.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' });
  const what = 'the definitions of the Prometheus Operator';
  const define = status === 0 ? describe : (status === 3 ? listAsNotRun : missing)(what, stderr.trim());
  return (title, tests) => define(title, () => tests(stdout.trim()));
}
