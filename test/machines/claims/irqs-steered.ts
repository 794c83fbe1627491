import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { parseCpuList } from '../../../src/core/cpuset';
import type { Claim } from '../claim';
import { pinned } from '../guest/specs';

/**
 * With `--irq-affinity steer`, interrupts are off exclusive CPUs, and back when these are released, when cpusetd ends,
 * and when it was killed and started again. Those that the kernel manages stay, and are named.
 */
export const irqsSteered: Claim = {
  name: 'interrupts steered',
  when: ({ name }) => ['1x4x2', '2x4x2-v1'].includes(name),
  dependsOn: {
    traits: ['cgroup'],
    because:
      'The kernel moves interrupts or refuses to: the machines with cgroup v1 have an older one. The interrupts of the host are not for tests.',
  },
  async run(context) {
    const before = readAffinities();
    const daemon = await context.startDaemon('--irq-affinity', 'steer', '--reconcile-period', '1s');
    const own = parseCpuList(await (await context.startOne(pinned(2))).firstLine());
    const onOwn = (): string[] =>
      [...readAffinities()].flatMap(([irq, list]) => (parseCpuList(list).overlaps(own) ? [irq] : []));

    const line = await context.waitForLog(daemon, ({ msg }) => msg?.startsWith('the kernel refuses to move') ?? false);
    const managed = (line['irqs'] as string[]).map((text) => /^\d+/.exec(text)![0]);
    assert.ok((line['irqs'] as string[]).every((text) => /: (EIO|EPERM)$/.test(text)));
    const ms = await context.until('interrupts to leave', () => onOwn().every((irq) => managed.includes(irq)));
    assert.ok(managed.every((irq) => readAffinities().get(irq) === before.get(irq)));
    const moved = [...readAffinities()].filter(([irq, list]) => list !== before.get(irq));
    assert.ok(moved.length > 0);
    const isMoved = (): boolean => moved.every(([irq, list]) => readAffinities().get(irq) === list);
    const isBack = (): boolean => [...before].every(([irq, list]) => readAffinities().get(irq) === list);
    context.note(
      `${moved.length} interrupts off ${own.toString()} ${ms} ms later; managed and named: ${managed.join(', ')}`,
    );

    await daemon.stop('SIGTERM', 60_000);
    assert.ok(isBack(), 'back after SIGTERM');

    let from = daemon.mark();
    daemon.start();
    await Promise.all([context.synchronized(daemon, from), context.waitForLog(daemon, 'started', from)]);
    await context.until('interrupts to leave again', isMoved);
    await daemon.kill();
    assert.ok(isMoved(), 'still away after SIGKILL');

    from = daemon.mark();
    daemon.start();
    await Promise.all([context.synchronized(daemon, from), context.waitForLog(daemon, 'started', from)]);
    await context.removePods();
    await context.until('interrupts to be back when their CPUs are released', isBack);
    context.note('back after SIGTERM, and after SIGKILL, a start and the end of the pod');
  },
};

/** The affinity of each interrupt that has a handler, and that of new ones. */
export function readAffinities(): ReadonlyMap<string, string> {
  const hasHandler = (irq: string): boolean =>
    readdirSync(`/proc/irq/${irq}`, { withFileTypes: true }).some((entry) => entry.isDirectory());
  const irqs = readdirSync('/proc/irq').filter((name) => /^\d+$/.test(name) && hasHandler(name));
  return new Map([
    ...irqs.map((irq): [string, string] => [irq, readFileSync(`/proc/irq/${irq}/smp_affinity_list`, 'utf8').trim()]),
    ['default', toList(readFileSync('/proc/irq/default_smp_affinity', 'utf8').trim())],
  ]);
}

/** A mask of up to 32 CPUs in list format. */
function toList(mask: string): string {
  const bits = Number.parseInt(mask, 16);
  return Array.from({ length: 32 }, (_, cpu) => cpu)
    .filter((cpu) => (bits >>> cpu) & 1)
    .join(',');
}
