/**
 * Prints how long a container runs on wrong CPUs: from a foreign write of its cpuset until the kernel has the promised
 * value again, on a real containerd. Beside it, in turns: a process that does nothing but watch one cgroup and write it
 * back, which is what this machine allows at all; and a bare update through the runtime. Needs root.
 *
 * Arguments: --quick, and the Debian suite whose containerd is asked, `trixie` or `sid`.
 *
 * No container is tampered with so often that the restraint against fights would come into it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { IMMEDIATE_REPAIRS } from '../src/core/verdict/repair-backoff';
import { cpusetDirOf, poll, type RunningContainer, startDaemon, startRuntime, type Suite } from '../test/e2e/rig';

const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true });
const CONTAINERS = values.quick === true ? 5 : 50;
const suite = (positionals[0] ?? 'trixie') as Suite;

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

    const bystander = await startBystander(promised);
    const repairsMs: number[] = [];
    const bareMs: number[] = [];
    try {
      for (let round = 0; round < IMMEDIATE_REPAIRS; round++) {
        for (const container of containers) {
          bareMs.push(await timeRepair(bystander.file, promised));
          repairsMs.push(await timeRepair(`${cpusetDirOf(container.cgroupPath)}/cpuset.cpus`, promised));
          await delay(100); // the record is written then, by a runc: an idle machine is what is measured
        }
      }
    } finally {
      await bystander.end();
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
    console.log(`${runtime.label}, ${CONTAINERS} containers, reconcile-period 1h`);
    print('the same, a bare process', bareMs);
    print('foreign write → repaired', repairsMs);
    print('bare update through the runtime', updatesMs);
    await pod.remove();
  } finally {
    await daemon.dispose();
    await runtime.stop();
  }
}

/** Writes the file as a foreign process, and gives the time until it has the promised value again. */
async function timeRepair(file: string, promised: string): Promise<number> {
  const start = performance.now();
  writeFileSync(file, '1');
  while (readFileSync(file, 'utf8').trim() !== promised) await delay(0);
  return performance.now() - start;
}

/** A cgroup, and a process that watches it and writes it back. */
async function startBystander(promised: string) {
  const file = `${cpusetDirOf(`/cpusetd-bench-${process.pid}`)}/cpuset.cpus`;
  mkdirSync(dirname(file));
  writeFileSync(file.replace(/cpus$/, 'mems'), '0');
  writeFileSync(file, promised);
  const script = `
    const { readFileSync, watch, writeFileSync } = require('node:fs');
    const [file, promised] = process.argv.slice(1);
    watch(file, () => { if (readFileSync(file, 'utf8').trim() !== promised) writeFileSync(file, promised); });
    console.log('watching');`;
  const child = spawn(process.execPath, ['-e', script, file, promised], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const end = async (): Promise<void> => {
    child.kill();
    await once(child, 'exit');
    rmdirSync(dirname(file));
  };
  return { file, end };
}

function print(what: string, timesMs: number[]): void {
  const sorted = [...timesMs].sort((a, b) => a - b);
  const at = (share: number): string =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]!.toFixed(2);
  console.log(
    `${what.padEnd(34)} n ${String(sorted.length).padStart(4)}   p50 ${at(0.5).padStart(7)} ms   p99 ${at(0.99).padStart(7)} ms   max ${at(1).padStart(7)} ms`,
  );
}
