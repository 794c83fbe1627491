import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ForeignIrq, ForeignTask } from '../../../src/core/audit/judge-audit';
import type { Daemon } from '../../e2e/rig/daemon';
import { poll } from '../../support/wait-until';
import type { Claim } from '../claim';
import { askEveryMs, guestPatienceMs } from '../guest/patience';
import { pinned } from '../guest/specs';

const run = promisify(execFile);

interface Audit {
  readonly owners: readonly {
    readonly owner: { readonly containers: readonly string[]; readonly cpus: string };
    readonly foreign: readonly (Omit<ForeignTask, 'cpus'> & { readonly cpus: string })[];
    readonly irqs: readonly (Omit<ForeignIrq, 'cpus'> & { readonly cpus: string })[];
  }[];
}

/**
 * A task, a thread of the kernel and an interrupt that are put onto an exclusive CPU are found by `cpusetd audit`, with
 * what they did there.
 */
export const auditFinds: Claim = {
  name: 'audit finds who is there',
  when: ({ name }) => name === '2x4x2-2numa',
  dependsOn: {
    traits: ['cgroup'],
    because:
      'Tasks of a container are told from foreign ones by their cgroups, which v2 shows in another form; test/e2e/audit shows it on the cgroups of the host. Threads of RCU and the interrupt of the console may be moved only in a machine of our own.',
  },
  async run(context) {
    const daemon = await context.usualDaemon();
    const db = await context.startOne(pinned(2));
    const own = await db.firstLine();
    const cpu = own.split(/[-,]/)[0]!;

    const quiet = await audit(daemon);
    assert.deepEqual(quiet.owner.containers, ['db']);
    assert.equal(quiet.owner.cpus, own);
    context.step('audited before');

    const [thread, name] = findKernelThread();
    const before = (await run('taskset', ['-p', String(thread)])).stdout.trim().split(' ').at(-1)!;
    const irq = findConsoleIrq();
    const file = `/proc/irq/${irq}/smp_affinity_list`;
    const irqBefore = readFileSync(file, 'utf8').trim();
    const task = spawn('taskset', ['-c', cpu, 'sh', '-c', 'while :; do :; done'], { stdio: 'ignore' });
    try {
      await run('taskset', ['-pc', cpu, String(thread)]);
      writeFileSync(file, cpu);
      // The line of the console needs its interrupt.
      const printing = setInterval(() => context.step('a line that makes the console ask for the CPU'), 300);
      const loud = await audit(daemon).finally(() => clearInterval(printing));

      const intruder = loud.foreign.find(({ pid }) => pid === task.pid);
      assert.equal(intruder?.kind, 'process');
      assert.ok(intruder.ran && intruder.ranMs > 50, JSON.stringify(intruder));
      assert.ok(!quiet.foreign.some(({ pid }) => pid === task.pid));
      const kernel = loud.foreign.find(({ pid }) => pid === thread);
      assert.deepEqual([kernel?.kind, kernel?.cpus, kernel?.ran], ['kernel', cpu, true]);
      const interrupt = loud.irqs.find((each) => each.irq === irq);
      assert.equal(interrupt?.cpus, cpu);
      assert.ok(interrupt.count > 0, JSON.stringify(loud.irqs));
      assert.ok(loud.foreign.some(({ kind, cpus }) => kind === 'bound' && cpus === cpu));
      context.note(
        `on CPU ${cpu} of ${own}: a task for ${Math.round(intruder.ranMs)} ms, ${name} for ${kernel!.ranMs.toFixed(1)} ms, interrupt ${irq} ${interrupt.count} times`,
      );
    } finally {
      writeFileSync(file, irqBefore);
      await run('taskset', ['-p', before, String(thread)]);
      const closed = once(task, 'close');
      task.kill('SIGKILL');
      await closed;
    }
  },
};

/** An audit is asked again when the daemon did not answer the command in time: the emulated machine is slow. */
async function audit({ adminSocket }: Daemon): Promise<Audit['owners'][number]> {
  const args = ['/in/cpusetd.js', 'audit', '--all', '--duration', '2s', '-o', 'json', '--admin-socket', adminSocket];
  const stdout = await poll('an answer to audit', () => askAudit(args), guestPatienceMs, askEveryMs);
  return (JSON.parse(stdout) as Audit).owners[0]!;
}

/** Exit status 1 with a report is an answer too. Undefined: the daemon has not answered in time. */
async function askAudit(args: readonly string[]): Promise<string | undefined> {
  try {
    return (await run(process.execPath, args)).stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    assert.equal(code, 1, stderr);
    if (stdout !== '') return stdout;
    assert.match(stderr, /has not answered within/);
    return undefined;
  }
}

/** A thread of the kernel that may be moved and that always has something to do. */
function findKernelThread(): readonly [pid: number, name: string] {
  for (const pid of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const name = readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
    if (name === 'rcu_preempt' || name === 'rcu_sched') return [Number(pid), name];
  }
  throw new Error('no thread of RCU');
}

/** The interrupt of the console. */
function findConsoleIrq(): number {
  const [, irq] = /^ *(\d+):.*\bttyS0$/m.exec(readFileSync('/proc/interrupts', 'utf8')) ?? [];
  if (irq === undefined) throw new Error('no interrupt of the console');
  return Number(irq);
}
