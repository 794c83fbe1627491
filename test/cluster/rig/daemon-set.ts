import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { poll } from '../../e2e/rig';
import { projectRoot } from '../../e2e/rig/project-root';
import type { ClusterNode } from './cluster-node';
import { kubeApi, kubectl } from './kube-api';
import type { KubePod } from './objects';

const run = promisify(execFile);
const namespace = 'cpusetd';

/** Builds the image of a release and imports it into the containerd of a node. */
export async function importImage({ runtime }: ClusterNode): Promise<void> {
  await run(process.execPath, [join(projectRoot(), 'scripts/cluster/image.mjs'), join(runtime.work, 'run/image.tar')]);
  const inside = ['nsenter', `--mount=/proc/${runtime.namespacePid}/ns/mnt`, '--'];
  const local = runtime.suite === 'trixie' ? [] : ['--local'];
  const import_ = ['ctr', '-n', 'k8s.io', 'images', 'import', ...local, '/run/image.tar'];
  const [command = '', ...args] = [...inside, ...import_];
  await run(command, args, { env: { PATH: `/run/bin:${process.env['PATH'] ?? ''}` } });
  rmSync(join(runtime.work, 'run/image.tar'));
}

/** The pod of deploy/daemonset.yaml on one node. */
export class DaemonSetPod {
  constructor(private readonly node: ClusterNode) {}

  /**
   * Applies the DaemonSet with a kustomization that changes the image and the options, and runs it on this node only. Waits until its pod is
   * ready. `patch` is a strategic merge patch of the pod's spec.
   */
  async apply(args: readonly string[], patch: object = {}): Promise<void> {
    const dir = mkdtempSync(join(tmpdir(), 'cpusetd-kustomize-'));
    try {
      copyFileSync(join(projectRoot(), 'deploy/daemonset.yaml'), join(dir, 'daemonset.yaml'));
      const spec = {
        nodeSelector: { 'kubernetes.io/hostname': this.node.name },
        serviceAccountName: 'cpusetd',
        terminationGracePeriodSeconds: 5,
        initContainers: [{ name: 'check', args: ['check', '--report-only', '-o', 'json', ...args] }],
        containers: [{ name: 'cpusetd', args: ['run', ...args] }],
      };
      const of = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'cpusetd', namespace } };
      const patches = [spec, patch].map((part) => ({
        patch: JSON.stringify({ ...of, spec: { template: { spec: part } } }),
      }));
      const images = [{ name: 'cpusetd', newName: 'localhost/cpusetd', newTag: 'test' }];
      writeFileSync(
        join(dir, 'kustomization.yaml'),
        JSON.stringify({ kind: 'Kustomization', resources: ['daemonset.yaml'], images, patches }),
      );
      await kubectl('apply', '--validate=strict', '-k', dir);
    } finally {
      rmSync(dir, { recursive: true });
    }
    const rollout = ['rollout', 'status', 'daemonset/cpusetd', '--namespace', namespace, '--timeout', '120s'];
    await kubectl(...rollout).catch(async (error: unknown) => {
      const described = await kubectl('describe', 'pods', '--namespace', namespace);
      throw new Error(`${String(error)}\n${described}`, { cause: error });
    });
  }

  async pod(): Promise<KubePod> {
    return poll('the pod of the DaemonSet', async () => {
      const selector = {
        labelSelector: 'app.kubernetes.io/name=cpusetd',
        fieldSelector: `spec.nodeName=${this.node.name}`,
      };
      const { items } = await kubeApi.get<{ items: KubePod[] }>(`/api/v1/namespaces/${namespace}/pods`, selector);
      return items.find(({ status }) => status.phase === 'Running');
    });
  }

  /** Runs a command of cpusetd in its pod. Gives its standard output. @throws unless it exits with 0 */
  async exec(...command: string[]): Promise<string> {
    const { metadata } = await this.pod();
    return kubectl('exec', '--namespace', namespace, metadata.name, '--', '/usr/local/bin/cpusetd', ...command);
  }

  async log(container = 'cpusetd'): Promise<string> {
    return kubectl('logs', '--namespace', namespace, (await this.pod()).metadata.name, '--container', container);
  }

  async remove(): Promise<void> {
    await kubectl(
      'delete',
      'daemonset',
      'cpusetd',
      '--namespace',
      namespace,
      '--ignore-not-found',
      '--cascade=foreground',
    );
  }
}
