import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

import { HEALTH_SERVICES } from '../../src/admin/health-state';
import { DIRECTORY_IN_CONTAINER } from '../../src/core/identity/where';
import { CLOSE_MS } from '../../src/app/lifecycle/closers';
import { DRAIN_TIMEOUT_MS } from '../../src/app/runtime/proxy-attachment';
import { envNameOf, listOffered, loadConfig, nameOf, OPTIONS, type Config } from '../../src/app/config';
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

  test.each(listOffered().map((key) => [nameOf(key), key] as const))('has %s, with its default', (name, key) => {
    expect(rows.has(name)).toBe(true);
    if (OPTIONS[key].default) expect(rows.get(name)).toBe(OPTIONS[key].default);
  });

  test('has no other option, and each once', () => {
    expect([...rows.keys()]).toEqual(listOffered().map(nameOf));
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
    (of) => {
      const { resources = [], components = [], patches = [], configMapGenerator = [] } = readKustomization(of);
      const files = configMapGenerator.flatMap(({ files }) => files.map((file) => file.split('=').at(-1)!));
      const paths = [...resources, ...patches.map(({ path }) => path), ...files].map((path) => join(of, path));
      for (const path of paths) expect([path, existsSync(join(ROOT, 'deploy', path))]).toEqual([path, true]);
      const kinds = (names: readonly string[]): string[] =>
        names
          .map((name) => join(of, name))
          .flatMap((path) => (folders.includes(path) ? readKustomization(path).kind : []));
      expect(kinds(resources).filter((kind) => kind !== 'Kustomization')).toEqual([]);
      expect(kinds(components)).toEqual(components.map(() => 'Component'));
    },
  );

  test.each(folders.filter((of) => !['scheduling', 'monitoring'].includes(of)))(
    '%s: each manifest in it is named',
    (of) => {
      const manifests = readdirSync(join(ROOT, 'deploy', of)).filter((name) => /\.ya?ml$/.test(name));
      const text = readDeploy(`${of}/kustomization.yaml`);
      const unnamed = manifests.filter((name) => name !== 'kustomization.yaml' && !text.includes(name));
      expect(unnamed).toEqual([]);
    },
  );

  test('the pages and the README apply what is there', () => {
    const pages = ['../README.md', '../deploy/README.md', 'operations.md', 'scheduling.md', 'load-aware-scheduling.md'];
    const applied = pages.flatMap((page) =>
      [...readPage(page).matchAll(/kubectl apply ((?:-[fk] deploy\/\S+ ?)+)/g)].map(([, files]) => ({
        page,
        files: files!,
      })),
    );
    expect(applied.length).toBeGreaterThan(5);
    for (const { page, files } of applied)
      for (const [, flag, path] of files.matchAll(/-([fk]) (deploy\/[^\s`]+)/g)) {
        const found = join(ROOT, path!, flag === 'k' ? 'kustomization.yaml' : '');
        expect([page, path, existsSync(found)]).toEqual([page, path, true]);
      }
  });

  test('the table of the folder has each overlay and each component', () => {
    const page = readPage('../deploy/README.md');
    for (const of of folders.filter((name) => /^(?:overlays|components)\//.test(name)))
      expect([of, page.includes(`\`${of}\``)]).toEqual([of, true]);
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
    expect(readPage('operations.md')).toContain(`kubectl -n ${daemonSet.metadata.namespace} logs POD -c ${check.name}`);
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
    expect(policy.spec.ingress).toEqual([{ ports: [{ protocol: 'TCP', port: 'metrics' }] }]);
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

/** Files of the node that the daemon's code names itself, beside what every container has: /proc, /sys, its service account. */
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

/** DefaultTimeoutStopSec of systemd, for a unit that sets no TimeoutStopSec. */
const SYSTEMD_DEFAULT_STOP_SECONDS = 90;

describe.each(['cpusetd.service', 'cpusetd-cri-proxy.service'])('%s', (name) => {
  const unit = readUnit(name);
  const isProxy = name === 'cpusetd-cri-proxy.service';
  const one = (key: string): string => {
    const values = unit.get(key) ?? [];
    expect([key, values]).toEqual([key, [expect.any(String)]]);
    return values[0]!;
  };

  test('starts what the page installs, with options that exist', async () => {
    const [, program = '', line = ''] = /^(\S+) run (.+)$/.exec(one('Service.ExecStart')) ?? [];
    const args = line.replaceAll(/(--\S+) /g, '$1=').split(' ');
    const path = args.find((arg) => arg.startsWith('--config='))!.slice('--config='.length);
    const rest = args.filter((arg) => !arg.startsWith('--config='));
    await expect(configOf([...rest, '--reserved-cpus=0'])).resolves.toBeDefined();
    const installs = readPage(isProxy ? 'cri-proxy.md' : 'operations.md');
    expect(installs).toContain(program);
    expect(installs).toContain(`deploy/etc/cpusetd.yaml ${path}`);
    expect(installs).toContain(`deploy/${name}`);
  });

  test('may write its state, its sockets and cgroups, and nothing else', async () => {
    const { stateDir, adminSocket, cgroupRoot } = await configOf(['--reserved-cpus=0']);
    expect(one('Service.ProtectSystem')).toBe('strict');
    expect(`/var/lib/${one('Service.StateDirectory')}`).toBe(stateDir);
    expect(`/run/${one('Service.RuntimeDirectory')}`).toBe(dirname(adminSocket));
    expect(one('Service.ReadWritePaths')).toBe(cgroupRoot);
  });

  test.each([
    ['the kubelet starts when it is ready', 'Unit.Before', 'kubelet.service'],
    ['ready is what it says, not that it was forked', 'Service.Type', 'notify'],
    ['and a child of it says so', 'Service.NotifyAccess', 'all'],
    ['it comes back whatever ended it', 'Service.Restart', 'always'],
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
  ])('%s: %s=%s', (_why, key, value) => expect(one(key)).toBe(value));

  test('it starts after the runtime, and is away for a second at most between two lives', () => {
    expect(one('Unit.After').split(' ')).toContain('containerd.service');
    expect(one('Service.RestartSec')).toBe(isProxy ? '100ms' : '1');
  });

  test('systemd kills it later than all its parts together may take to close, and after the time that the page names', () => {
    const stopSeconds = Number(unit.get('Service.TimeoutStopSec')?.[0] ?? SYSTEMD_DEFAULT_STOP_SECONDS);
    const closeSeconds = CLOSE_MS / 1_000;
    expect(stopSeconds).toBeGreaterThanOrEqual(closeSeconds + 10);
    const page = readPage('operations.md').replaceAll(/\s+/g, ' ');
    expect(page).toContain(`SIGTERM and SIGINT stop it within ${closeSeconds} s`);
    expect(page).toContain(`${isProxy ? "the proxy's service" : `systemd kills \`${name}\``} after ${stopSeconds} s`);
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
