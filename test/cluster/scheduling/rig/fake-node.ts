import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { connectAdmin } from '../../../../src/admin/client/admin-client';
import { CpuSet, parseCpuList } from '../../../../src/core/cpuset';
import { ContainerState } from '../../../../gen/nri/v1alpha1/nri';
import { Daemon } from '../../../e2e/rig/daemon';
import { makeCgroupRoot } from '../../../support/daemon-paths';
import { NriRuntime } from '../../../support/nri-runtime';
import { loadMachine, type SysfsTree, writeTree } from '../../../support/sysfs-tree';
import type { Cluster } from './cluster';
import { createNode } from './create-node';
import { type DocumentedFor, readDocumentedCommand } from './documented';
import { StandInKubelet } from './stand-in-kubelet';

const MIB = 2 ** 20;

export interface FakeNodeOptions {
  readonly cluster: Cluster;
  readonly name: string;
  /** A captured machine of test/fixtures/sysfs. */
  readonly machine: string;
  /** The heading in docs/scheduling.md whose command line starts cpusetd. Default: that of scheduler-plugins. */
  readonly documentedFor?: DocumentedFor;
  /** A container of a pod got its CPUs. */
  readonly onAllocated?: (pod: string) => void;
  /** A pod is about to release its CPUs. */
  readonly onRelease?: () => void;
}

/**
 * A node of the cluster on a captured machine: its Node, cpusetd as a process, a stand-in runtime and a stand-in
 * kubelet.
 */
export class FakeNode {
  readonly kubelet: StandInKubelet;
  private readonly folder = mkdtempSync(join(tmpdir(), 'cpusetd-node-'));
  private readonly numaNodes: readonly CpuSet[];
  private daemon: Daemon | undefined;

  private constructor(
    private readonly options: FakeNodeOptions,
    private readonly runtime: NriRuntime,
    private readonly nriSocket: string,
  ) {
    const { cluster, name, machine, onAllocated, onRelease } = options;
    const tree = loadMachine(machine);
    writeTree(this.folder, tree);
    this.numaNodes = numaNodesOf(tree).map(({ cpus }) => cpus);
    makeCgroupRoot(join(this.folder, 'cgroup'), tree['/sys/devices/system/cpu/online']!);
    writeFileSync(join(this.folder, 'kubelet.yaml'), JSON.stringify(kubeletConfig));
    const { client, signal } = cluster;
    this.kubelet = new StandInKubelet({
      client,
      signal,
      nodeName: name,
      runtime,
      ...(onAllocated && { onAllocated }),
      ...(onRelease && { onRelease }),
    });
  }

  static async start(options: FakeNodeOptions): Promise<FakeNode> {
    const nriSocket = join(mkdtempSync(join(tmpdir(), 'cpusetd-nri-')), 'nri.sock');
    const node = new FakeNode(options, await NriRuntime.listen({ socketPath: nriSocket }), nriSocket);
    try {
      await registerNode(options.cluster, options.name, loadMachine(options.machine));
      await node.startDaemon();
      return node;
    } catch (error) {
      await node.stop();
      throw error;
    }
  }

  get name(): string {
    return this.options.name;
  }

  /** The number of CPUs that containers have for themselves. */
  get allocated(): number {
    return this.listCpusets().reduce((sum, cpus) => sum + cpus.size, 0);
  }

  /** The cpuset of each container with CPUs of its own that has not ended: all of Guaranteed pods are such. */
  listCpusets(): CpuSet[] {
    const guaranteed = [...this.runtime.containers.values()].filter(
      ({ podSandboxId, state }) =>
        state !== ContainerState.CONTAINER_STOPPED &&
        !/burstable|besteffort/.test(this.runtime.pods.get(podSandboxId)?.linux?.cgroupParent ?? ''),
    );
    return guaranteed.map((container) => parseCpuList(this.runtime.cpusOf(container)));
  }

  /** The number of CPUs that the pod has on each NUMA node, ascending by node; none without CPUs. */
  countByNumaNode(podName: string): Map<number, number> {
    const pod = [...this.runtime.pods.values()].find(({ name }) => name === podName);
    const containers = [...this.runtime.containers.values()].filter(({ podSandboxId }) => podSandboxId === pod?.id);
    const cpus = CpuSet.unionOf(containers.map((container) => parseCpuList(this.runtime.cpusOf(container))));
    return new Map(
      this.numaNodes.map((node, id) => [id, node.countIn(cpus)] as const).filter(([, count]) => count > 0),
    );
  }

  /** True when cpusetd says that a container of so many CPUs would get them now. */
  async fits(count: number): Promise<boolean> {
    const admin = await connectAdmin(this.daemon!.adminSocket);
    try {
      const explanation = await admin.explain({ kind: 'cpus', count });
      return explanation.kind === 'what-if' && explanation.fits;
    } finally {
      admin.close();
    }
  }

  /** The contradictions in the CPUs that containers have: shared by two, reserved, or of two NUMA nodes. */
  findFaults(): string[] {
    const cpusets = this.listCpusets();
    return [
      ...this.findOverlaps(),
      ...cpusets
        .filter((cpus) => !this.numaNodes.some((node) => cpus.isSubsetOf(node)))
        .map((cpus) => `${String(cpus)} is of several NUMA nodes`),
    ];
  }

  /** The CPUs of containers that another one has too, or that are reserved. */
  findOverlaps(): string[] {
    const cpusets = this.listCpusets();
    return cpusets.flatMap((cpus, i) => [
      ...cpusets
        .slice(i + 1)
        .flatMap((other) => (cpus.intersect(other).isEmpty ? [] : [`${String(cpus)} and ${String(other)} overlap`])),
      ...(cpus.has(0) ? [`${String(cpus)} has a reserved CPU`] : []),
    ]);
  }

  /** Starts cpusetd again, with these options beside the documented ones. */
  async restartDaemon(...args: readonly string[]): Promise<void> {
    await this.daemon?.dispose();
    await this.startDaemon(...args);
  }

  /** Stops the process of cpusetd, as on a node that is overloaded, until `resume` is called. */
  pause(): { readonly resume: () => void } {
    const { pid } = this.daemon!;
    process.kill(pid, 'SIGSTOP');
    return { resume: () => void process.kill(pid, 'SIGCONT') };
  }

  async stop(): Promise<void> {
    await this.daemon?.dispose();
    await this.runtime.close();
    for (const folder of [this.folder, dirname(this.nriSocket)]) rmSync(folder, { recursive: true, force: true });
  }

  private async startDaemon(...args: readonly string[]): Promise<void> {
    const { folder, options } = this;
    const documented = readDocumentedCommand(options.documentedFor ?? 'For scheduler-plugins', {
      'in-cluster': options.cluster.kubeconfigOf('cpusetd', 'cpusetd'),
      '/var/lib/kubelet/config.yaml': join(folder, 'kubelet.yaml'),
    });
    const daemon = (this.daemon = new Daemon({
      args: [
        ...documented,
        ...args,
        ...['--node-name', options.name, '--sysfs-root', join(folder, 'sys'), '--nri-socket', this.nriSocket],
        // There are no cgroups and no CRI: the stand-in runtime has a table instead of processes.
        ...['--cgroup-root', join(folder, 'cgroup'), '--cgroup-writes', 'off', '--cri-endpoint', 'off'],
        ...['--kubelet-root-dir', join(folder, 'kubelet')],
      ],
    }));
    daemon.start();
    await Promise.all([daemon.ready(), daemon.waitForLog('the API server sent the pods of this node')]);
  }
}

/** The reservation of all nodes: that of the documented `--kubelet-config`. */
const kubeletConfig = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  reservedSystemCPUs: '0',
  evictionHard: { 'memory.available': '100Mi' },
};

function registerNode({ client }: Cluster, name: string, tree: SysfsTree): Promise<void> {
  const numaNodes = numaNodesOf(tree);
  const cpus = numaNodes.reduce((sum, node) => sum + node.cpus.size, 0);
  const memoryMib = numaNodes.reduce((sum, node) => sum + Math.floor(node.memoryBytes / MIB), 0);
  return createNode(client, { name, cpus, reservedCpus: 1, memoryMib, reservedMemoryMib: 100 });
}

function numaNodesOf(tree: SysfsTree): { readonly cpus: CpuSet; readonly memoryBytes: number }[] {
  const cpulist = /^\/sys\/devices\/system\/node\/node(\d+)\/cpulist$/;
  return Object.entries(tree).flatMap(([path, cpus]) => {
    const id = cpulist.exec(path)?.[1];
    if (id === undefined) return [];
    const meminfo = tree[`/sys/devices/system/node/node${id}/meminfo`] ?? '';
    const kib = Number(/MemTotal:\s+(\d+) kB/.exec(meminfo)?.[1]);
    return [{ cpus: parseCpuList(cpus.trim()), memoryBytes: kib * 1024 }];
  });
}
