import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pino } from 'pino';
import { parse, parseAllDocuments } from 'yaml';

import { HEALTH_SERVICES } from '../../src/admin/health-state';
import { DIRECTORY_IN_CONTAINER } from '../../src/core/identity/where';
import { CLOSE_MS } from '../../src/app/lifecycle/closers';
import { Watchdog } from '../../src/app/lifecycle/watchdog';
import { DRAIN_TIMEOUT_MS } from '../../src/app/runtime/proxy-attachment';
import { envNameOf, loadConfig, nameOf, OPTION_KEYS, OPTIONS, type Config } from '../../src/app/config';
import { defineUnless } from '../support/not-run';
import { readPage, ROOT } from './markdown';

const readDeploy = (name: string): string => readFileSync(join(ROOT, 'deploy', name), 'utf8');

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'deploy-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The configuration that `cpusetd run` reads from these arguments. */
async function configOf(args: readonly string[]): Promise<Config> {
  const flags: Record<string, string[]> = {};
  for (const arg of args) {
    const [, name = arg, value = ''] = /^--([a-z-]+)=(.*)$/.exec(arg) ?? [];
    flags[name] = [value];
  }
  const loaded = await loadConfig({ flags, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}

describe('the example of a config file', () => {
  const lines = readDeploy('etc/cpusetd.yaml').split('\n');
  const rows = new Map(
    lines.flatMap((line, i) => {
      const [, name, value] = /^(?:# )?([a-z][a-z-]*): (.+)$/.exec(line) ?? [];
      const isOption = name !== undefined && /^# ./.test(lines[i - 1] ?? '') && (lines[i - 2] ?? '') === '';
      return isOption ? [[name, value!] as const] : [];
    }),
  );

  test.each(OPTION_KEYS.map((key) => [nameOf(key), key] as const))('has %s, with its default', (name, key) => {
    expect(rows.has(name)).toBe(true);
    if (OPTIONS[key].default) expect(rows.get(name)).toBe(OPTIONS[key].default);
  });

  test('has no other option, and each once', () => {
    expect([...rows.keys()]).toEqual(OPTION_KEYS.map(nameOf));
  });

  test('is accepted as it is, and nothing in it but the reservation differs from the defaults', async () => {
    const path = join(folder, 'as-it-is.yaml');
    writeFileSync(path, lines.join('\n'));
    expect(await configOf([`--config=${path}`])).toEqual(await configOf(['--reserved-cpus=0-1']));
  });

  test('is accepted with every option set', async () => {
    const path = join(folder, 'all.yaml');
    const all = [...rows].filter(([name]) => name !== 'reserved-cpu-count').map((row) => row.join(': '));
    writeFileSync(path, all.join('\n'));
    const config = await configOf([`--config=${path}`]);
    expect(config.cpuManagerPolicyOptions).toEqual(
      new Map([
        ['full-pcpus-only', 'true'],
        ['strict-cpu-reservation', 'true'],
      ]),
    );
  });
});

/** The documents of a manifest; each parses. */
function readManifest(name: string) {
  return parseAllDocuments(readDeploy(name)).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
}

interface Kustomization {
  readonly kind: 'Component' | 'Kustomization';
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly path: string }[];
  readonly configMapGenerator?: readonly { readonly name: string; readonly files: readonly string[] }[];
  readonly images?: readonly object[];
}

const readKustomization = (folder: string): Kustomization =>
  parse(readDeploy(`${folder}/kustomization.yaml`)) as Kustomization;
const folders = readdirSync(join(ROOT, 'deploy'), { recursive: true, encoding: 'utf8' })
  .filter((name) => basename(name) === 'kustomization.yaml')
  .map((name) => dirname(name));

describe('deploy/ as `kubectl apply -k` takes it', () => {
  test.each(folders)(
    '%s: what it names is there, a component by `components` and anything else by `resources`',
    (folder) => {
      const { resources = [], components = [], patches = [], configMapGenerator = [] } = readKustomization(folder);
      const files = configMapGenerator.flatMap(({ files }) => files.map((file) => file.split('=').at(-1)!));
      const paths = [...resources, ...patches.map(({ path }) => path), ...files].map((path) => join(folder, path));
      for (const path of paths) expect([path, existsSync(join(ROOT, 'deploy', path))]).toEqual([path, true]);
      const kinds = (names: readonly string[]): string[] =>
        names
          .map((name) => join(folder, name))
          .flatMap((path) => (folders.includes(path) ? readKustomization(path).kind : []));
      expect(kinds(resources).filter((kind) => kind !== 'Kustomization')).toEqual([]);
      expect(kinds(components)).toEqual(components.map(() => 'Component'));
    },
  );

  test.each(folders.filter((folder) => !['scheduling', 'monitoring'].includes(folder)))(
    '%s: each manifest in it is named',
    (folder) => {
      const manifests = readdirSync(join(ROOT, 'deploy', folder)).filter((name) => /\.ya?ml$/.test(name));
      const text = readDeploy(`${folder}/kustomization.yaml`);
      const unnamed = manifests.filter((name) => name !== 'kustomization.yaml' && !text.includes(name));
      expect(unnamed).toEqual([]);
    },
  );

  test('the table of the folder has each overlay and each component', () => {
    const page = readPage('../deploy/README.md');
    for (const folder of folders.filter((name) => /^(?:overlays|components)\//.test(name)))
      expect([folder, page.includes(`\`${folder}\``)]).toEqual([folder, true]);
  });

  test('the binding gives the role to the service account of the DaemonSet', () => {
    const [role, binding] = readManifest('components/api-server/rbac.yaml');
    const [account] = readManifest('base/service-account.yaml');
    const [daemonSet] = readManifest('base/daemonset.yaml');
    const { name, namespace } = account.metadata;
    expect(binding).toMatchObject({
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role.metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    });
    expect(daemonSet.spec.template.spec).toMatchObject({
      serviceAccountName: name,
      automountServiceAccountToken: false,
    });
    expect(daemonSet.metadata.namespace).toBe(namespace);
  });
});

/* eslint-disable @typescript-eslint/no-explicit-any -- manifests */
/** The configuration that cpusetd has in a container with these variables, its file being that of deploy/base. */
async function configIn({ env }: { readonly env: readonly any[] }): Promise<Config> {
  const variables = env.map(({ name, value = 'worker-1' }) => [name, value] as const);
  const CPUSETD_CONFIG = join(ROOT, 'deploy/base/cpusetd.yaml');
  const loaded = await loadConfig({ flags: {}, env: { ...Object.fromEntries(variables), CPUSETD_CONFIG } });
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded.config;
}

describe('the DaemonSet', () => {
  const [daemonSet] = readManifest('base/daemonset.yaml');
  const pod = daemonSet.spec.template.spec;
  const [container] = pod.containers;
  const sourceOf = (name: string): any => pod.volumes.find((volume: any) => volume.name === name);
  const mounts: { name: string; mountPath: string; readOnly?: true }[] = container.volumeMounts;
  const ofHost = mounts.filter(({ name }) => sourceOf(name).hostPath);

  test('is one, in the namespace that allows it what it needs', () => {
    const [namespace, ...others] = readManifest('namespace/namespace.yaml');
    expect([namespace.kind, daemonSet.kind, others]).toEqual(['Namespace', 'DaemonSet', []]);
    expect(namespace.metadata.labels).toEqual({ 'pod-security.kubernetes.io/enforce': 'privileged' });
    expect(daemonSet.metadata.namespace).toBe(namespace.metadata.name);
    expect(daemonSet.spec.selector.matchLabels).toEqual(daemonSet.spec.template.metadata.labels);
    expect(pod.containers).toHaveLength(1);
  });

  test('never has two of them on a node', () => {
    expect(daemonSet.spec.updateStrategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 1, maxSurge: 0 },
    });
  });

  test.each([
    ['sees the threads of all of the node', 'hostPID', true],
    ['has no network of the host', 'hostNetwork', undefined],
    ['is not evicted and goes before other pods', 'priorityClassName', 'system-node-critical'],
    ['runs on every node, whatever its taints', 'tolerations', [{ operator: 'Exists' }]],
    ['that has Linux', 'nodeSelector', { 'kubernetes.io/os': 'linux' }],
    ['has the pauses of Kubernetes to end in: 30 s', 'terminationGracePeriodSeconds', undefined],
  ])('%s: %s', (_why, field, value) => expect(pod[field]).toEqual(value));

  test('has one capability, memory enough but no more, and its Node’s name', () => {
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      seccompProfile: { type: 'RuntimeDefault' },
      capabilities: { drop: ['ALL'], add: ['SYS_NICE'] },
    });
    expect(container.resources).toEqual({ requests: { cpu: '50m', memory: '72Mi' }, limits: { memory: '256Mi' } });
    expect(container.env).toContainEqual({
      name: envNameOf('nodeName'),
      valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } },
    });
  });

  test('requests the memory that was measured with 500 containers and an API server', () => {
    const [row = ''] = /^\| with an API server and 500 pods .*$/m.exec(readPage('performance.md')) ?? [];
    const figures = row
      .split('|')
      .map(Number)
      .filter((figure) => figure > 0);
    expect(figures).toHaveLength(3);
    const most = Math.max(...figures);
    expect(parseInt(container.resources.requests.memory as string, 10)).toBe(Math.ceil(most));
  });

  test('reads the file of the ConfigMap, and has the address of its probes from its environment', async () => {
    const { name } = readKustomization('base').configMapGenerator![0]!;
    const mount = mounts.find((each) => sourceOf(each.name).configMap?.name === name)!;
    expect(mount).not.toHaveProperty('subPath');
    const [first] = container.env;
    expect(first).toEqual({ name: 'CPUSETD_CONFIG', value: `${mount.mountPath}/cpusetd.yaml` });
    expect(container.args).toEqual(['run']);
    const { reservedCpus, healthAddress } = await configIn(container);
    expect(reservedCpus?.toString()).toBe('0-1');
    expect(healthAddress?.host).toBe('0.0.0.0');
  });

  test('mounts every folder of the node that its options or the code name, at the same place, sockets by their folders, and no other', async () => {
    const { stateDir, cgroupRoot, kubeletRootDir, nriSocket, criEndpoint, adminSocket } = await configIn(container);
    const read = [kubeletRootDir, ...listPathsInCode().map(dirname)];
    const written = [stateDir, cgroupRoot, ...[nriSocket, criEndpoint!, adminSocket].map(dirname)];
    expect(ofHost.map(({ mountPath }) => mountPath).sort()).toEqual([...read, ...written].sort());
    expect(ofHost.map(({ name }) => sourceOf(name).hostPath.path)).toEqual(ofHost.map(({ mountPath }) => mountPath));
    expect(pod.volumes.map(({ name }: { name: string }) => name)).toEqual(mounts.map(({ name }) => name));
    const readOnly = ofHost.filter((mount) => mount.readOnly).map(({ mountPath }) => mountPath);
    expect(readOnly.sort()).toEqual(read.sort());
  });

  test('runs the check before, with the same image, options, mounts and name of its Node, without the capability; it ends well', () => {
    const [check, ...others] = pod.initContainers;
    expect([check.args, others]).toEqual([['check', '--report-only'], []]);
    const { capabilities, ...ownRights } = container.securityContext;
    expect(check.securityContext).toEqual({ ...ownRights, capabilities: { drop: capabilities.drop } });
    for (const field of ['image', 'env', 'resources', 'volumeMounts'])
      expect([field, check[field]]).toEqual([field, container[field]]);
    expect(readPage('install.md')).toContain(`kubectl -n ${daemonSet.metadata.namespace} logs POD -c ${check.name}`);
  });

  test.each([
    ['startupProbe', '', 1],
    ['readinessProbe', 'nri', 5],
    ['livenessProbe', '', 10],
  ])('asks for a health that exists, where it is served: %s', async (probe, service, periodSeconds) => {
    expect(HEALTH_SERVICES).toContain(service);
    const { port } = (await configIn(container)).healthAddress!;
    expect(container[probe]).toMatchObject({ grpc: service === '' ? { port } : { port, service }, periodSeconds });
    expect(container.ports).toEqual([{ name: 'health', containerPort: port }]);
  });

  test('of api-server has the token of its pod, and options that fit together', async () => {
    const [patch] = readManifest('components/api-server/daemonset.yaml');
    const { containers, initContainers, automountServiceAccountToken } = patch.spec.template.spec;
    expect([automountServiceAccountToken, initContainers[0].env]).toEqual([true, containers[0].env]);
    const config = await configIn({ env: [...container.env, ...containers[0].env] });
    expect(config).toMatchObject({ kubeconfig: { kind: 'in-cluster' }, kubeEvents: true, nodeCondition: true });
  });

  test('of monitoring serves metrics at the port that is scraped and let in', async () => {
    const [patch] = readManifest('components/monitoring/daemonset.yaml');
    const { containers, initContainers } = patch.spec.template.spec;
    expect(initContainers[0].env).toEqual(containers[0].env);
    const { port } = (await configIn({ env: [...container.env, ...containers[0].env] })).metricsAddress!;
    expect(containers[0].ports).toEqual([{ name: 'metrics', containerPort: port }]);
    const [monitor] = readManifest('monitoring/pod-monitor.yaml');
    expect(monitor.spec.selector.matchLabels).toEqual(daemonSet.spec.template.metadata.labels);
    expect(monitor.spec.podMetricsEndpoints).toMatchObject([{ port: 'metrics' }]);
    // The rules ask for up{job="cpusetd"}.
    expect(daemonSet.spec.template.metadata.labels[monitor.spec.jobLabel]).toBe('cpusetd');
    const [policy] = readManifest('components/monitoring/network-policy.yaml');
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } };
    expect(policy.spec.ingress).toEqual([
      { from: [{ namespaceSelector }], ports: [{ protocol: 'TCP', port: 'metrics' }] },
    ]);
  });

  test('of unprivileged lacks the mounts of what its options switch off', async () => {
    const [patch] = readManifest('components/unprivileged/daemonset.yaml');
    const { containers, initContainers, volumes, hostPID } = patch.spec.template.spec;
    expect([hostPID, initContainers[0].volumeMounts]).toEqual([null, containers[0].volumeMounts]);
    const config = await configIn({ env: [...container.env, ...containers[0].env] });
    expect(config.criEndpoint).toBeUndefined();
    const gone = volumes.map(({ name }: { name: string }) => name);
    const lacking = mounts.filter(({ name }) => gone.includes(name)).map(({ mountPath }) => mountPath);
    expect(containers[0].volumeMounts.map(({ mountPath }: any) => mountPath)).toEqual(lacking);
    expect(containers[0].securityContext).toEqual({ capabilities: { add: null } });
  });

  test('of cri-proxy runs nothing but probes of the service, and has its socket', async () => {
    const [shown] = readManifest('overlays/cri-proxy/daemonset.yaml');
    const [only, ...others] = shown.spec.template.spec.containers;
    expect([only.command, others]).toEqual([['sleep', 'infinity'], []]);
    const { adminSocket } = await configIn(container);
    expect(only.volumeMounts).toEqual([{ name: 'run', mountPath: dirname(adminSocket), readOnly: true }]);
    const { port, service } = only.readinessProbe.grpc;
    expect(HEALTH_SERVICES).toContain(service);
    for (const text of [readDeploy('overlays/cri-proxy/daemonset.yaml'), readPage('cri-proxy.md')])
      expect(text).toContain(`health-address: 0.0.0.0:${port}`);
    expect(shown.spec.updateStrategy).toEqual(daemonSet.spec.updateStrategy);
  });
});
/* eslint-enable @typescript-eslint/no-explicit-any */

/** Commands that do not run on the node. */
const ofTheCluster = /^(?:scheduling\/|cli\/commands\/(?:annotator|extender)\.ts)/;

/**
 * Files of the node that the daemon's code names itself, beside what every container has: /proc, /sys, its service
 * account.
 */
function listPathsInCode(): string[] {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !/^(?:app\/config|cli\/help)\//.test(name) && !ofTheCluster.test(name))
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8').replaceAll(/^\s*(?:\/?\*|\/\/).*$/gm, ''));
  const literals = sources.flatMap((text) => [...text.matchAll(/['"`](\/(?:run|var|etc|usr|opt|lib)\/[^'"`$\s]*)/g)]);
  const defaults = new Set(Object.values(OPTIONS).map((option) => option.default));
  return [...new Set(literals.map(([, path]) => path!))]
    .filter((path) => !defaults.has(path) && !path.startsWith('/var/run/secrets/kubernetes.io/'))
    .filter((path) => path !== DIRECTORY_IN_CONTAINER) // of the containers of others
    .sort();
}

/** The directives of a unit: `Section.Key` and its values in their order. */
function readUnit(name: string): Map<string, string[]> {
  const directives = new Map<string, string[]>();
  let section = '';
  for (const line of readDeploy(name).split('\n')) {
    const [, opened] = /^\[(\w+)\]$/.exec(line) ?? [];
    const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
    section = opened ?? section;
    if (key !== undefined)
      directives.set(`${section}.${key}`, [...(directives.get(`${section}.${key}`) ?? []), value!]);
  }
  return directives;
}

/** `security --offline` is there since systemd 250. */
const missingAnalyzer = /^systemd (?:2[5-9]|[3-9])\d/.test(
  spawnSync('systemd-analyze', ['--version']).stdout?.toString() ?? '',
)
  ? undefined
  : 'systemd-analyze of systemd 250 or later is needed';

/** DefaultTimeoutStopSec of systemd, for a unit that sets no TimeoutStopSec. */
const SYSTEMD_DEFAULT_STOP_SECONDS = 90;

describe.each(['cpusetd.service', 'cpusetd-cri-proxy.service'])('%s', (name) => {
  const unit = readUnit(name);
  const isProxy = name === 'cpusetd-cri-proxy.service';
  const single = (key: string): string => {
    const values = unit.get(key) ?? [];
    expect([key, values]).toEqual([key, [expect.any(String)]]);
    return values[0]!;
  };

  test('starts what the page installs, with options that exist', async () => {
    const [, program = '', line = ''] = /^(\S+) run (.+)$/.exec(single('Service.ExecStart')) ?? [];
    const args = line.replaceAll(/(--\S+) /g, '$1=').split(' ');
    const path = args.find((arg) => arg.startsWith('--config='))!.slice('--config='.length);
    const rest = args.filter((arg) => !arg.startsWith('--config='));
    await expect(configOf([...rest, '--reserved-cpus=0'])).resolves.toBeDefined();
    const installs = readPage(isProxy ? 'cri-proxy.md' : 'install.md');
    expect(installs).toContain(program);
    expect(installs).toContain(`deploy/etc/cpusetd.yaml ${path}`);
    expect(installs).toContain(`deploy/${name}`);
  });

  test('may write its state, its sockets and cgroups, and nothing else', async () => {
    const { stateDir, adminSocket, cgroupRoot } = await configOf(['--reserved-cpus=0']);
    expect(single('Service.ProtectSystem')).toBe('strict');
    expect(`/var/lib/${single('Service.StateDirectory')}`).toBe(stateDir);
    expect(`/run/${single('Service.RuntimeDirectory')}`).toBe(dirname(adminSocket));
    expect(single('Service.ReadWritePaths')).toBe(cgroupRoot);
    const [sys, ...tunables] = single('Service.ReadOnlyPaths').split(' ');
    expect(`${cgroupRoot}/`.startsWith(`${sys}/`)).toBe(true);
    expect(tunables).toEqual(['/proc/sys', '-/proc/sysrq-trigger']); // and not /proc/irq, which it steers
  });

  test('has the one capability of the DaemonSet', () => {
    const [daemonSet] = readManifest('base/daemonset.yaml');
    const { add } = daemonSet.spec.template.spec.containers[0].securityContext.capabilities;
    expect(single('Service.CapabilityBoundingSet')).toBe((add as string[]).map((name) => `CAP_${name}`).join(' '));
  });

  test.each([
    ['the kubelet starts when it is ready', 'Unit.Before', 'kubelet.service'],
    ['ready is what it says, not that it was forked', 'Service.Type', 'notify'],
    ['and a child of it says so', 'Service.NotifyAccess', 'all'],
    ['it comes back whatever ended it', 'Service.Restart', 'always'],
    ['and however often', 'Unit.StartLimitIntervalSec', '0'],
    ['rounds that hang end it', 'Service.WatchdogSec', '3min'],
    ['at once and without a core dump', 'Service.WatchdogSignal', 'SIGKILL'],
    ['the kubelet waits for a start for a minute at most', 'Service.TimeoutStartSec', '60'],
    ['nothing that it starts gets more rights', 'Service.NoNewPrivileges', 'yes'],
    ['homes are none of its business', 'Service.ProtectHome', 'yes'],
    ['it has temporary files of its own', 'Service.PrivateTmp', 'yes'],
    ['its state is root’s', 'Service.StateDirectoryMode', '0700'],
    ['its sockets are root’s', 'Service.RuntimeDirectoryMode', '0700'],
    ['the host starts it', 'Install.WantedBy', 'multi-user.target'],
    [
      'freed memory goes back to the kernel, and threads are few',
      'Service.Environment',
      'MALLOC_MMAP_THRESHOLD_=131072 MALLOC_TRIM_THRESHOLD_=131072 NODE_OPTIONS=--v8-pool-size=1',
    ],
  ])('%s: %s=%s', (_why, key, value) => expect(single(key)).toBe(value));

  test('it starts after the runtime, and is away for a second at most between two lives, later for some seconds', () => {
    expect(single('Unit.After').split(' ')).toContain('containerd.service');
    const pauses = ['RestartSec', 'RestartSteps', 'RestartMaxDelaySec'].map((key) => single(`Service.${key}`));
    expect(pauses).toEqual(isProxy ? ['100ms', '10', '2'] : ['1', '10', '5']);
  });

  test('the watchdog has the limit of the unit with the default period', async () => {
    const { reconcilePeriodMs } = await configOf(['--reserved-cpus=0']);
    const sent: string[] = [];
    const log = pino({ level: 'silent' });
    const limitMs = 3 * 60_000; // 3min
    new Watchdog({ limitMs, periodMs: reconcilePeriodMs, send: (fields) => sent.push(...fields), log }).noteEnd();
    expect(sent).toEqual(['WATCHDOG=1']); // without WATCHDOG_USEC
  });

  defineUnless(missingAnalyzer, () => {
    test('systemd knows its directives, but for those of later versions', () => {
      const { stderr } = spawnSync('systemd-analyze', ['verify', join(ROOT, 'deploy', name)], { encoding: 'utf8' });
      const complaints = stderr.split('\n').filter((line) => line.includes(`${name}:`) && /:\d+: /.test(line));
      expect(complaints.filter((line) => !/'Restart(?:Steps|MaxDelaySec)'/.test(line))).toEqual([]);
    });

    test('systemd-analyze security says 3.0 or less', () => {
      const args = ['security', '--offline=true', '--threshold=30', join(ROOT, 'deploy', name)];
      const { stdout, status } = spawnSync('systemd-analyze', args, { encoding: 'utf8' });
      const [, level] = /Overall exposure level for .*: ([\d.]+)/.exec(stdout) ?? [];
      expect([status, Number(level) <= 3]).toEqual([0, true]);
    });
  });

  test('systemd kills it later than all its parts together may take to close, and after the time that the page names', () => {
    const stopSeconds = Number(unit.get('Service.TimeoutStopSec')?.[0] ?? SYSTEMD_DEFAULT_STOP_SECONDS);
    const closeSeconds = CLOSE_MS / 1_000;
    expect(stopSeconds).toBeGreaterThanOrEqual(closeSeconds + 10);
    const page = readPage('commands.md').replaceAll(/\s+/g, ' ');
    expect(page).toContain(`SIGTERM and SIGINT stop it within ${closeSeconds} s`);
    expect(page).toContain(`${isProxy ? "the proxy's service" : `systemd kills \`${name}\``} after ${stopSeconds} s`);
  });
});

describe('the drop-in of kubelet.service', () => {
  const dropIn = readUnit('kubelet.service.d/10-cpusetd.conf');
  const [, program = '', script = ''] = /^-(\S+) -c '(.*)'$/.exec(dropIn.get('Service.ExecStartPre')![0]!) ?? [];

  test('starts cpusetd with the kubelet, and before it; the kubelet does not need it', () => {
    expect(dropIn.get('Unit.Wants')).toEqual(['cpusetd.service']);
    expect(dropIn.get('Unit.After')).toEqual(['cpusetd.service']);
    expect([...dropIn.keys()]).toEqual(['Unit.Wants', 'Unit.After', 'Service.ExecStartPre']);
  });

  test('the page installs it, and removes it on the way back', () => {
    const page = readPage('install.md');
    const path = 'kubelet.service.d/10-cpusetd.conf';
    expect(page).toContain(`install -D -m 0644 deploy/${path} /etc/systemd/system/${path}`);
    expect(page).toContain(`rm -f /etc/systemd/system/${path}`);
  });

  /** Runs the wait with a stand-in for `cpusetd health nri` that answers 1, and 0 from this call on. */
  function waitWith({ servingFrom, limitSeconds }: { servingFrom: number; limitSeconds: number }) {
    const stand = mkdtempSync(join(folder, 'kubelet-'));
    const health = [
      '#!/bin/sh',
      `echo "$*" >> ${stand}/calls`,
      `test $(wc -l < ${stand}/calls) -ge ${servingFrom} && exit 0`,
      'echo "cpusetd: not reachable" >&2',
      'exit 1',
    ];
    writeFileSync(join(stand, 'cpusetd'), `${health.join('\n')}\n`, { mode: 0o755 });
    const command = script
      .replace('/usr/local/bin/cpusetd', join(stand, 'cpusetd'))
      .replace('timeout 20 ', `timeout ${limitSeconds} `);
    const { status, stdout, stderr } = spawnSync(program, ['-c', command], { encoding: 'utf8' });
    const calls = readFileSync(join(stand, 'calls'), 'utf8').trim().split('\n');
    return { status, said: stdout + stderr, calls };
  }

  test('the kubelet waits until cpusetd serves, and its log has no line of that', () => {
    expect(script).toContain('timeout 20 ');
    expect(waitWith({ servingFrom: 3, limitSeconds: 60 })).toEqual({
      status: 0,
      said: '',
      calls: ['health nri', 'health nri', 'health nri'],
    });
  });

  test('a cpusetd that does not serve in time holds nothing up, and one line tells so', () => {
    const { status, said } = waitWith({ servingFrom: 1_000, limitSeconds: 1 });
    expect([status, said]).toEqual([0, 'cpusetd does not pin containers: the kubelet starts without it\n']);
  });
});

describe('cpusetd-cri-proxy.service and its socket', () => {
  const unit = readUnit('cpusetd-cri-proxy.service');
  const socket = readUnit('cpusetd-cri-proxy.socket');

  test('the socket is there before the service, is root’s, and stays when it stops', async () => {
    const { criListen } = await configOf(['--reserved-cpus=0', '--mode=cri-proxy']);
    expect(socket.get('Socket.ListenStream')).toEqual([(criListen as { path: string }).path]);
    expect(socket.get('Socket.SocketMode')).toEqual(['0600']);
    expect(socket.get('Socket.DirectoryMode')).toEqual(['0700']);
    expect(socket.get('Install.WantedBy')).toEqual(['sockets.target']);
    expect(unit.get('Unit.Requires')).toEqual(['cpusetd-cri-proxy.socket']);
    expect(unit.get('Unit.After')![0]!.split(' ')).toContain('cpusetd-cri-proxy.socket');
    expect(unit.get('Unit.Conflicts')).toEqual(['cpusetd.service']);
    expect(unit.get('Service.RuntimeDirectoryPreserve')).toEqual(['yes']);
    expect(unit.get('Service.ExecStart')![0]).toMatch(/ --cri-listen fd:3$/);
  });

  test('systemd waits for longer than calls in flight are let end, and as long as the page says they are', () => {
    const drainS = DRAIN_TIMEOUT_MS / 1_000;
    expect(Number(unit.get('Service.TimeoutStopSec')![0])).toBeGreaterThanOrEqual(drainS + 5);
    expect(readDeploy('cpusetd-cri-proxy.service')).toContain(`# Calls in flight get ${drainS} s to end.`);
    expect(readPage('cri-proxy.md')).toContain(`ends as usual, within ${drainS} s; then UNAVAILABLE`);
  });

  test('the kernel spares it', () => expect(unit.get('Service.OOMScoreAdjust')).toEqual(['-999']));
});

test('the image is built from what the README installs, and is asked for the health that counts', () => {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8');
  const [, probe] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(probe!)).toEqual(['/usr/local/bin/cpusetd', 'health', 'nri']);
  expect(dockerfile).toContain('\nENTRYPOINT ["/usr/local/bin/cpusetd"]\nCMD ["run"]\n');
  expect(dockerfile).toContain('COPY --from=build /src/dist/cpusetd.js /usr/local/bin/cpusetd\n');
  for (const unit of ['cpusetd.service', 'cpusetd-cri-proxy.service'])
    expect(dockerfile).toContain(`\nENV ${readUnit(unit).get('Service.Environment')![0]}\n`);
});
