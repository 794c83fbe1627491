import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../scheduling/rig/cluster';
import { formatSchedulerConfig } from './scheduler-config';

/** The name of the scheduler in deploy/scheduling/scheduler-config.yaml. */
export const pinnedScheduler = 'cpusetd-scheduler';

/** The second kube-scheduler of deploy/scheduling, with its account and its rights. */
export class PinnedScheduler {
  private constructor(private readonly child: ChildProcess) {}

  /** @param urlPrefix of the extender */
  static start(cluster: Cluster, urlPrefix: string): PinnedScheduler {
    const { programs, work } = cluster.plane;
    const kubeconfig = cluster.kubeconfigOf('cpusetd-scheduler', 'cpusetd-scheduling');
    const path = join(work, 'pinned-scheduler.yaml');
    writeFileSync(path, formatSchedulerConfig({ urlPrefix }, { kubeconfig, isOwn: true }));
    const lease = ['resource-name=cpusetd-scheduler', 'resource-namespace=cpusetd-scheduling', 'lease-duration=4s'];
    const times = [...lease, 'renew-deadline=3s', 'retry-period=500ms'].map((flag) => `--leader-elect-${flag}`);
    const log = openSync(join(work, 'pinned-scheduler.log'), 'a');
    const args = [`--config=${path}`, '--secure-port=0', '--v=2', ...times];
    return new PinnedScheduler(spawn(join(programs, 'kube-scheduler'), args, { stdio: ['ignore', log, log] }));
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await ended;
  }
}
