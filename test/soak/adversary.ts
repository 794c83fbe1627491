import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeApiServer, type Json } from '../support/kube/api-server';
import { printMaskThenSleep, type RunningPod, type Runtime } from '../e2e/rig';

const PODS = '/api/v1/pods';
const NODE = 'n1';

/** The API server's limit for all annotations of one pod. */
const ANNOTATION_BYTES = 256 * 1024;
const POD_COUNT = 110;
const CONTAINERS_PER_POD = 200;
/** Interval of patches, as from a client without a rate limit. */
const PATCH_EVERY_MS = 50;
/** Number of changes from which a broken watch can resume. */
const PATCHES_KEPT = 100;

/** `limits.memory` of deploy/base/daemonset.yaml: a process that uses more is killed. */
export const MEMORY_LIMIT_MIB = Number(
  /limits: \{ memory: (\d+)Mi \}/.exec(readFileSync(join(process.cwd(), 'deploy/base/daemonset.yaml'), 'utf8'))?.[1],
);

/**
 * A tenant who attacks with pods on this node: as many pods as fit, each with the maximum of annotations and with
 * hundreds of containers, patched all the time. One of them also runs, so that every message of the runtime about it
 * has the annotations.
 */
export class Adversary {
  readonly counts = { patches: 0 };
  private readonly api = new FakeApiServer();
  private readonly folder = mkdtempSync(join(tmpdir(), 'cpusetd-s-'));
  private readonly timer: NodeJS.Timeout;
  private running: RunningPod | undefined;

  private constructor() {
    for (let i = 0; i < POD_COUNT; i++) this.api.put(PODS, hostilePod(i, 0));
    this.api.compact();
    this.timer = setInterval(() => this.patch(), PATCH_EVERY_MS);
  }

  static async start(): Promise<Adversary> {
    const adversary = new Adversary();
    await adversary.api.start();
    writeFileSync(join(adversary.folder, 'kubeconfig'), adversary.api.kubeconfig);
    return adversary;
  }

  /** The arguments of a daemon that follows these pods. */
  get args(): readonly string[] {
    return ['--kubeconfig', join(this.folder, 'kubeconfig'), '--node-name', NODE, '--pod-policies', 'all'];
  }

  /** Runs one of the pods. */
  async enter(runtime: Runtime): Promise<void> {
    const containers = [{ name: 'c0', cpuRequestMilli: 100, command: printMaskThenSleep }];
    this.running = await runtime.kubelet.runPod({ annotations: hostileAnnotations(0), containers });
    await this.running.startContainer('c0');
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.running?.remove();
    await this.api.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private patch(): void {
    this.counts.patches++;
    this.api.put(PODS, hostilePod(this.counts.patches % POD_COUNT, this.counts.patches));
    if (this.counts.patches % PATCHES_KEPT === 0) this.api.forgetAllBut(PATCHES_KEPT);
  }
}

function hostilePod(index: number, revision: number): Json {
  const containers = Array.from({ length: CONTAINERS_PER_POD }, (_, i) => {
    return { name: `c${i}`, resources: { requests: { cpu: '1m' } } };
  });
  return {
    metadata: {
      name: `hostile-${index}`,
      namespace: 'tenant',
      uid: `hostile-${index}`,
      annotations: hostileAnnotations(revision),
    },
    spec: { nodeName: NODE, restartPolicy: 'Always', containers },
    status: { phase: 'Running', qosClass: 'Burstable' },
  };
}

/** The longest possible result of a scheduler, a policy for every container, and noise up to the limit. */
function hostileAnnotations(revision: number): Record<string, string> {
  const zone = (i: number): string =>
    `{"name":"node${i}","type":"Node","resources":{"capacity":{"cpu":"${(revision % 7) + 1}"}}}`;
  const annotations: Record<string, string> = {
    'topology.crane.io/topology-result': `[${Array.from({ length: 900 }, (_, i) => zone(i)).join(',')}]`,
  };
  for (let i = 0; i < CONTAINERS_PER_POD; i++)
    annotations[`policy.cpusetd.io/container.c${i}`] = revision % 2 ? 'numa' : 'none';
  const used = Object.entries(annotations).reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  annotations['kubernetes.io/config.hash'] = `${revision} `.padEnd(ANNOTATION_BYTES - used - 64, '[');
  return annotations;
}
