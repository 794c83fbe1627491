import { type KubeClient, STRATEGIC_MERGE_PATCH } from '../../../../src/kube/api/kube-client';
import { KubeError } from '../../../../src/kube/api/kube-error';
import type { NriRuntime } from '../../../support/nri-runtime';
import { ObjectTable } from './object-table';
import { type Pod, podsPath } from './objects';

export interface Refusal {
  readonly pod: string;
  readonly node: string;
  readonly because: string;
}

export interface StandInKubeletParts {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  readonly nodeName: string;
  readonly runtime: NriRuntime;
  /** A container of a pod got its CPUs. */
  readonly onAllocated?: (pod: string) => void;
  /** A pod is about to release its CPUs. */
  readonly onRelease?: () => void;
}

/**
 * The part of a kubelet that a scheduler sees: it runs the pods that are bound to its node, sets their status, and ends
 * those that are deleted. A pod that the runtime refuses stays Pending; it is not tried again.
 */
export class StandInKubelet {
  readonly refusals: Refusal[] = [];
  /** Pods whose image is being pulled, until the promise resolves. */
  readonly pulls = new Map<string, Promise<void>>();
  private readonly work = new Map<string, Promise<void>>();
  private readonly started = new Set<string>();

  constructor(private readonly parts: StandInKubeletParts) {
    const { client, signal, nodeName } = parts;
    new ObjectTable<Pod>({
      client,
      signal,
      path: podsPath,
      fieldSelector: `spec.nodeName=${nodeName}`,
      onEvent: (type, pod) => this.take(type, pod),
    });
  }

  /** Ends the pod's containers by themselves. */
  finish(pod: Pod, phase: 'Succeeded' | 'Failed'): Promise<void> {
    const exitCode = phase === 'Succeeded' ? 0 : 1;
    return this.inTurn(pod, async () => {
      await this.stop(pod);
      await this.setStatus(pod, phase, { terminated: { exitCode, reason: 'Completed' } });
    });
  }

  private take(type: string, pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata;
    if (type === 'DELETED') {
      if (this.started.delete(uid)) void this.inTurn(pod, () => this.stop(pod));
    } else if (deletionTimestamp !== undefined) {
      void this.inTurn(pod, () => this.end(pod));
    } else if (!this.started.has(uid) && pod.status.phase === 'Pending') {
      this.started.add(uid);
      void this.inTurn(pod, () => this.start(pod));
    }
  }

  private async start(pod: Pod): Promise<void> {
    const { runtime, nodeName, onAllocated } = this.parts;
    const { name, uid, annotations = {} } = pod.metadata;
    await this.pulls.get(name);
    const qos = QOS[pod.status.qosClass!];
    const sandbox = await runtime.runPod({ name, uid, qos, annotations });
    try {
      for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
        const { requests = {}, limits = {} } = container.resources;
        const made = await runtime.createContainer(sandbox, {
          name: container.name,
          milliCpu: Number(requests.cpu ?? 0) * 1000,
          memoryBytes: parseInt(limits.memory ?? '0', 10) * 2 ** 20,
        });
        if (requests.cpu !== undefined) onAllocated?.(name);
        await runtime.startContainer(made);
        const isInit = pod.spec.initContainers?.includes(container) === true && container.restartPolicy !== 'Always';
        if (isInit) await runtime.stopContainer(made);
      }
    } catch (error) {
      this.refusals.push({ pod: name, node: nodeName, because: (error as Error).message });
      await runtime.removePod(sandbox);
      return;
    }
    await this.setStatus(pod, 'Running', { running: { startedAt: new Date().toISOString() } });
  }

  private async end(pod: Pod): Promise<void> {
    await this.stop(pod);
    const query = { gracePeriodSeconds: '0' };
    await this.unlessGone({ method: 'DELETE', path: pathOf(pod), query });
  }

  private async stop({ metadata }: Pod): Promise<void> {
    const { runtime, onRelease } = this.parts;
    const sandbox = [...runtime.pods.values()].find(({ uid }) => uid === metadata.uid);
    if (!sandbox) return;
    onRelease?.();
    await runtime.removePod(sandbox);
  }

  private async setStatus(pod: Pod, phase: string, state: object): Promise<void> {
    const containerStatuses = pod.spec.containers.map(({ name }) => ({
      name,
      state,
      ready: phase === 'Running',
      restartCount: 0,
      image: 'none',
      imageID: '',
    }));
    const path = `${pathOf(pod)}/status`;
    const body = { status: { phase, containerStatuses } };
    await this.unlessGone({ method: 'PATCH', path, contentType: STRATEGIC_MERGE_PATCH, body });
  }

  private async unlessGone(call: Parameters<KubeClient['send']>[0]): Promise<void> {
    try {
      await this.parts.client.send(call);
    } catch (error) {
      if (this.parts.signal.aborted || (error instanceof KubeError && error.status === 404)) return;
      throw error;
    }
  }

  /** Work on one pod is done in order, that on different pods at once. */
  private inTurn({ metadata: { uid } }: Pod, run: () => Promise<void>): Promise<void> {
    const done = (this.work.get(uid) ?? Promise.resolve()).then(run);
    this.work.set(uid, done);
    return done;
  }
}

const QOS = { Guaranteed: 'guaranteed', Burstable: 'burstable', BestEffort: 'besteffort' } as const;

function pathOf({ metadata }: Pod): string {
  return `${podsPath}/${metadata.name}`;
}
