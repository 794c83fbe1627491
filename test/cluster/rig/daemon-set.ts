import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import { KubeError } from '../../../src/kube/api/kube-error';
import { poll } from '../../e2e/rig';
import { projectRoot } from '../../e2e/rig/project-root';
import { loadScript } from '../../support/load-script';
import type { ClusterNode } from './cluster-node';
import { findCgroup } from './find-cgroup';
import { kubeApi, kubectl } from './kube-api';
import type { ContainerStatus, KubePod } from './objects';

const run = promisify(execFile);
const namespace = 'cpusetd';

/** The image of `DaemonSetPod`. */
const image = { name: 'localhost/cpusetd', tag: 'test' };
const imageName = `${image.name}:${image.tag}`;

/** Builds the image of a release as an archive in this folder. Gives its path. */
export async function buildImage(folder: string, name = imageName): Promise<string> {
  const archive = join(folder, 'image.tar');
  await run(process.execPath, [join(projectRoot(), 'scripts/cluster/image.mjs'), archive, '--name', name]);
  return archive;
}

/** The part of scripts/runtime/kinds.mjs that is used here. */
interface RuntimeKind {
  readonly listImports: (options: {
    archive: string;
    names: string[];
    criSocket: string;
    major: number;
  }) => [string, ...string[]][];
}

/** Imports the image of that name into the runtime of a node. */
export async function importImage({ runtime }: ClusterNode, archive: string, name = imageName): Promise<void> {
  const { suite, work, namespacePid, criSocketInside: criSocket, packages } = runtime;
  const { kindOf } = await loadScript<{ readonly kindOf: (suite: string) => RuntimeKind }>('runtime/kinds.mjs');
  const major = Number.parseInt(packages['containerd'] ?? '', 10);
  copyFileSync(archive, join(work, 'run/image.tar'));
  for (const command of kindOf(suite).listImports({ archive: '/run/image.tar', names: [name], criSocket, major }))
    await run('nsenter', [`--mount=/proc/${namespacePid}/ns/mnt`, '--', ...command], {
      env: { PATH: `/run/bin:${process.env['PATH'] ?? ''}` },
    });
  rmSync(join(work, 'run/image.tar'));
}

/** An overlay of `deploy` and what a test changes in it. */
export interface Applied {
  readonly overlay: 'cri-proxy' | 'nri' | 'nri-api' | 'unprivileged';
  readonly components?: readonly 'crio'[];
  /** The text of cpusetd.yaml, instead of that of deploy/base. */
  readonly options?: string;
  /** A strategic merge patch of the pod's spec. */
  readonly patch?: object;
}

const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'daemon-set-of-tests' },
  spec: {},
};
/** The time for the tests of other files that have the DaemonSet. */
const claimMs = 400_000;

/**
 * The pod of the DaemonSet of `deploy` on one node. There is one such DaemonSet in the cluster: files of tests have it
 * one after the other.
 */
export class DaemonSetPod {
  private isClaimed = false;

  constructor(private readonly node: ClusterNode) {}

  /** Waits until no other test has the DaemonSet. It is this one's until `remove`. */
  private async claim(): Promise<void> {
    if (this.isClaimed) return;
    const tryIt = async (): Promise<true | undefined> => {
      try {
        await kubeApi.create(leases, lease);
        return true;
      } catch (error) {
        if (error instanceof KubeError && error.status === 409) return undefined;
        throw error;
      }
    };
    await poll('other tests of the DaemonSet to end', tryIt, claimMs, 500);
    this.isClaimed = true;
  }

  /** `apply`, and waits until its pod is ready. */
  async run(applied: Applied): Promise<void> {
    await this.apply(applied);
    const rollout = ['rollout', 'status', 'daemonset/cpusetd', '--namespace', namespace, '--timeout', '120s'];
    await kubectl(...rollout).catch(async (error: unknown) => {
      const described = await kubectl('describe', 'pods', '--namespace', namespace);
      throw new Error(`${String(error)}\n${described}`, { cause: error });
    });
  }

  /**
   * Applies the overlay as an operator does: with a kustomization that names it, the image and the options. On this
   * node only. The policies that limit its service account are left out: the daemons of other tests use that account
   * too, with tokens that are bound to nothing.
   */
  async apply({ overlay, components = [], options, patch = {} }: Applied): Promise<void> {
    await this.claim();
    const dir = mkdtempSync(join(tmpdir(), 'cpusetd-kustomize-'));
    try {
      const inDeploy = (...path: string[]): string => relative(dir, join(projectRoot(), 'deploy', ...path));
      const spec = { nodeSelector: { 'kubernetes.io/hostname': this.node.name } };
      const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'cpusetd', namespace } };
      const patches = [spec, patch].map((part) => ({
        patch: JSON.stringify({ ...owner, spec: { template: { spec: part } } }),
      }));
      if (options !== undefined) writeFileSync(join(dir, 'cpusetd.yaml'), options);
      const kustomization = {
        kind: 'Kustomization',
        resources: [inDeploy('overlays', overlay)],
        components: components.map((name) => inDeploy('components', name)),
        images: [{ name: 'cpusetd', newName: image.name, newTag: image.tag }],
        ...(options !== undefined && {
          configMapGenerator: [{ name: 'cpusetd', namespace, behavior: 'replace', files: ['cpusetd.yaml'] }],
        }),
        patches: [...patches, ...(overlay === 'nri-api' ? withoutPolicies : [])],
      };
      writeFileSync(join(dir, 'kustomization.yaml'), JSON.stringify(kustomization));
      await kubectl('apply', '--server-side', '--force-conflicts', '--validate=strict', '-k', dir);
    } finally {
      rmSync(dir, { recursive: true });
    }
  }

  async pod(): Promise<KubePod> {
    return poll('the pod of the DaemonSet', async () => {
      const selector = {
        labelSelector: 'app.kubernetes.io/name=cpusetd',
        fieldSelector: `spec.nodeName=${this.node.name}`,
      };
      const { items } = await kubeApi.get<{ items: KubePod[] }>(`/api/v1/namespaces/${namespace}/pods`, selector);
      return items.find(
        ({ status, metadata }) => status.phase === 'Running' && metadata.deletionTimestamp === undefined,
      );
    });
  }

  /** The kubelet's report of its container. */
  async container(): Promise<ContainerStatus> {
    const { status } = await this.pod();
    return status.containerStatuses!.find(({ name }) => name === 'cpusetd')!;
  }

  /** Its cgroup, by which the figures of all its processes can be read. */
  async cgroup(): Promise<string> {
    const { containerID = '' } = await this.container();
    return findCgroup(this.node.runtime.cgroupRoot, containerID.replace(/^.*:\/\//, ''));
  }

  /** The messages of the Events on its pod with this reason. */
  async events(reason: string): Promise<string[]> {
    const { metadata } = await this.pod();
    const fieldSelector = `involvedObject.uid=${metadata.uid},reason=${reason}`;
    const path = `/api/v1/namespaces/${namespace}/events`;
    const { items } = await kubeApi.get<{ items: { message: string }[] }>(path, { fieldSelector });
    return items.map(({ message }) => message);
  }

  /** The number of liveness probes of its container with this result, as the metrics of the kubelet have it. */
  async countLivenessProbes(result: 'successful' | 'failed'): Promise<number> {
    const { metadata } = await this.pod();
    const text = await kubectl('get', '--raw', `/api/v1/nodes/${this.node.name}/proxy/metrics/probes`);
    const line = text.split('\n').find((each) => {
      const labels = [
        `container="cpusetd"`,
        `pod_uid="${metadata.uid}"`,
        `probe_type="Liveness"`,
        `result="${result}"`,
      ];
      return each.startsWith('prober_probe_total{') && labels.every((label) => each.includes(label));
    });
    return line === undefined
      ? 0
      : Number(
          line
            .slice(line.lastIndexOf('}') + 1)
            .trim()
            .split(' ')[0],
        );
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
    if (this.isClaimed) await kubeApi.delete(`${leases}/${lease.metadata.name}`);
    this.isClaimed = false;
  }
}

const withoutPolicies = ['own-node', 'own-events'].flatMap((name) =>
  ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].map((kind) => ({
    patch: JSON.stringify({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind,
      metadata: { name: `cpusetd-${name}` },
      $patch: 'delete',
    }),
  })),
);
