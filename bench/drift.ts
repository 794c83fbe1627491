/**
 * How long a container runs where somebody else put it: a foreign write of its cpuset until the kernel has what was
 * promised again, on a real containerd, beside the time of a bare update through the runtime. Needs root.
 *
 * No container is tampered with so often that the restraint against fights would come into it.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FREE_REPAIRS } from '../src/core/verdict/restraint';
import { poll, type RunningContainer, startDaemon, startRuntime, type Suite } from '../test/e2e/rig';

const CONTAINERS = 50;
const suite = (process.argv[2] ?? 'trixie') as Suite;

void main();

async function main(): Promise<void> {
  const runtime = await startRuntime({ suite, nri: true });
  const daemon = startDaemon({ runtime, args: ['--reserved-cpus', '0', '--reconcile-period', '1h'] });
  try {
    await daemon.waitForLog('synchronized with the runtime');
    const specs = Array.from({ length: CONTAINERS }, (_, i) => ({ name: `c${i}`, cpuRequestMilli: 10 }));
    const pod = await runtime.kubelet.runPod({ containers: specs });
    const containers: RunningContainer[] = [];
    for (const { name } of specs) containers.push(await pod.startContainer(name));
    const promised = containers[0]!.cpuset().cpus;

    const repairsMs: number[] = [];
    for (let round = 0; round < FREE_REPAIRS; round++) {
      for (const container of containers) {
        const start = performance.now();
        container.writeCpuset('1');
        while (container.cpuset().cpus !== promised) await delay(0);
        repairsMs.push(performance.now() - start);
        await delay(100); // the record is written then, by a runc: an idle machine is what is measured
      }
    }
    await poll('the records to be written', () =>
      daemon.log.lines.some(({ msg }) => msg === 'repaired') ? true : undefined,
    );
    await delay(2_000); // the runtime is busy with records; its own speed is measured without that
    const updatesMs: number[] = [];
    for (const container of containers) {
      const start = performance.now();
      await container.update({ cpusetCpus: promised });
      updatesMs.push(performance.now() - start);
    }
    console.log(`containerd ${runtime.packages['containerd'] ?? '?'}, ${CONTAINERS} containers, reconcile-period 1h`);
    print('foreign write → repaired', repairsMs);
    print('bare update through the runtime', updatesMs);
    await pod.remove();
  } finally {
    await daemon.dispose();
    await runtime.stop();
  }
}

function print(what: string, timesMs: number[]): void {
  const sorted = [...timesMs].sort((a, b) => a - b);
  const at = (share: number): string =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(2);
  console.log(
    `${what.padEnd(34)} n ${String(sorted.length).padStart(4)}   p50 ${at(0.5).padStart(7)} ms   p99 ${at(0.99).padStart(7)} ms   max ${at(1).padStart(7)} ms`,
  );
}
