import type { Cluster } from '../../scheduling/rig/cluster';
import { AlternatingServer } from './alternating-server';
import { Extender } from './extender';
import { formatSchedulerConfig } from './scheduler-config';

/** Two extenders that answer the requests of kube-scheduler in turn, for NUMA nodes alone. */
export class Replicas {
  private constructor(
    readonly extenders: readonly [Extender, Extender],
    private readonly service: Awaited<ReturnType<typeof AlternatingServer.start>>,
  ) {}

  /** Starts them, and kube-scheduler with them. */
  static async start(cluster: Cluster): Promise<Replicas> {
    const args = [
      ...['--policy-config-path', 'deploy/scheduling/policy.yaml', '--plugins', 'NodeResourceTopologyMatch=2'],
      ...['--kubeconfig', cluster.kubeconfigOf('cpusetd-extender', 'cpusetd-scheduling')],
    ];
    const extenders = [await Extender.start(args), await Extender.start(args)] as const;
    const service = await AlternatingServer.start(extenders.map(({ port }) => port));
    await cluster.startScheduler(formatSchedulerConfig({ urlPrefix: `http://127.0.0.1:${service.port}` }));
    return new Replicas(extenders, service);
  }

  /** The number of requests by path. */
  get counts(): ReadonlyMap<string, number> {
    return this.service.server.counts;
  }

  async stop(): Promise<void> {
    await this.service.stop();
    for (const extender of this.extenders) await extender.stop();
  }
}
