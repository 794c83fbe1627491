import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';

import { HEALTH_SERVICES } from '../../src/admin/health-state';
import { listOffered, loadConfig, nameOf, OPTIONS, type Config } from '../../src/app/config';
import { readPage, ROOT } from './markdown';

const readDeploy = (name: string): string => readFileSync(join(ROOT, 'deploy', name), 'utf8');

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'deploy-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What `cpusetd run` makes of these arguments. */
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
  const lines = readDeploy('cpusetd.yaml').split('\n');
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

describe('the DaemonSet', () => {
  const [namespace, daemonSet] = parseAllDocuments(readDeploy('daemonset.yaml')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  const pod = daemonSet.spec.template.spec;
  const [container] = pod.containers;
  const hostPathOf = (name: string): string => pod.volumes.find((volume: any) => volume.name === name).hostPath.path; // eslint-disable-line @typescript-eslint/no-explicit-any
  const mounts: { name: string; mountPath: string; readOnly?: true }[] = container.volumeMounts;

  test('is one, in the namespace that allows it what it needs', () => {
    expect([namespace.kind, daemonSet.kind]).toEqual(['Namespace', 'DaemonSet']);
    expect(daemonSet.metadata.namespace).toBe(namespace.metadata.name);
    expect(daemonSet.spec.selector.matchLabels).toEqual(daemonSet.spec.template.metadata.labels);
    expect(pod.containers).toHaveLength(1);
  });

  test('never has two of them on a node', () => {
    expect(daemonSet.spec.updateStrategy.rollingUpdate).toEqual({ maxUnavailable: 1, maxSurge: 0 });
  });

  test('starts it with arguments that it takes', async () => {
    const [command, ...args] = container.args as string[];
    expect(command).toBe('run');
    expect((await configOf(args)).reservedCpus?.toString()).toBe('0-1');
  });

  test('mounts every folder of the node that its options name, at the same place, and sockets by their folders', async () => {
    const { stateDir, cgroupRoot, kubeletRootDir, nriSocket, criEndpoint, adminSocket } = await configOf(
      (container.args as string[]).slice(1),
    );
    const needed = [stateDir, cgroupRoot, kubeletRootDir, ...[nriSocket, criEndpoint!, adminSocket].map(dirname)];
    expect(mounts.map(({ mountPath }) => mountPath).sort()).toEqual(needed.sort());
    expect(mounts.map(({ name }) => hostPathOf(name))).toEqual(mounts.map(({ mountPath }) => mountPath));
    expect(mounts.filter(({ readOnly }) => readOnly).map(({ name }) => name)).toEqual(['kubelet']);
  });

  test.each(['readinessProbe', 'livenessProbe'])('asks for a health that exists: %s', (probe) => {
    const [program, command, service = ''] = container[probe].exec.command as string[];
    expect([program, command]).toEqual([expect.stringMatching(/\/cpusetd$/), 'health']);
    expect(HEALTH_SERVICES).toContain(service);
  });
});

describe.each(['cpusetd.service', 'cpusetd-cri-proxy.service'])('%s', (name) => {
  const unit = readDeploy(name);

  test('starts what the page installs, with options that exist', async () => {
    const [, program = '', line = ''] = /^ExecStart=(\S+) run (.+)$/m.exec(unit) ?? [];
    const args = line.replaceAll(/(--\S+) /g, '$1=').split(' ');
    const path = args.find((arg) => arg.startsWith('--config='))!.slice('--config='.length);
    const rest = args.filter((arg) => !arg.startsWith('--config='));
    await expect(configOf([...rest, '--reserved-cpus=0'])).resolves.toBeDefined();
    const installs = [readPage('operations.md'), readPage('cri-proxy.md')].join('\n');
    expect(installs).toContain(program);
    expect(installs).toContain(`deploy/cpusetd.yaml ${path}`);
  });

  test('may write its state, its sockets and cgroups, and nothing else', async () => {
    const { stateDir, adminSocket, cgroupRoot } = await configOf(['--reserved-cpus=0']);
    expect(unit).toContain('\nProtectSystem=strict\n');
    expect(`/var/lib/${/^StateDirectory=(.+)$/m.exec(unit)?.[1]}`).toBe(stateDir);
    expect(`/run/${/^RuntimeDirectory=(.+)$/m.exec(unit)?.[1]}`).toBe(dirname(adminSocket));
    expect(/^ReadWritePaths=(.+)$/m.exec(unit)?.[1]).toBe(cgroupRoot);
  });
});
