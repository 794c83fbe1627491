import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { DEFAULT_IRQ } from '../../../src/core/irq-affinity/plan-irq-affinity';
import { readIrqs, writeIrqAffinity } from '../../../src/host/proc/irq-affinity';
import { TimeSlices } from '../../../src/host/proc/time-slices';
import { defineAsRoot } from '../../support/not-run';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();

function makeProc(): string {
  const root = makeDir();
  const add = (irq: string, list: string, ...handlers: readonly string[]): void => {
    mkdirSync(join(root, 'irq', irq), { recursive: true });
    writeFileSync(join(root, 'irq', irq, 'smp_affinity_list'), `${list}\n`);
    for (const handler of handlers) mkdirSync(join(root, 'irq', irq, handler));
  };
  add('24', '0-3', 'eth0-rx', 'aer');
  add('9', '1', 'acpi');
  add('30', '');
  mkdirSync(join(root, 'irq/31')); // is being freed
  writeFileSync(join(root, 'irq/default_smp_affinity'), 'f\n');
  return root;
}

test('interrupts by number, with their handlers; the affinity of new ones is the first', async () => {
  const readings = await readIrqs(new TimeSlices(1), makeProc());
  expect(readings.map(({ irq, device, affinity }) => [irq, device, affinity.toString()])).toEqual([
    [DEFAULT_IRQ, 'default', '0-3'],
    [9, 'acpi', '1'],
    [24, 'aer eth0-rx', '0-3'],
  ]);
});

test('an affinity is written as a list, that of new interrupts as a mask', () => {
  const root = makeProc();
  expect(writeIrqAffinity(24, parseCpuList('0,2-3'), root)).toEqual({ ok: true });
  expect(readFileSync(join(root, 'irq/24/smp_affinity_list'), 'utf8')).toContain('0,2-3\n');
  expect(writeIrqAffinity(DEFAULT_IRQ, parseCpuList('1,33'), root)).toEqual({ ok: true });
  expect(readFileSync(join(root, 'irq/default_smp_affinity'), 'utf8')).toBe('00000002,00000002\n');
});

test('an interrupt that is gone is told, and no file is made for it', () => {
  const root = makeProc();
  expect(writeIrqAffinity(31, parseCpuList('0'), root)).toMatchObject({ ok: false, kind: 'gone', code: 'ENOENT' });
  chmodSync(root, 0o755);
  expect(() => writeIrqAffinity(24, CpuSet.empty, root)).toThrow(RangeError);
});

defineAsRoot(() => {
  test.each`
    mode     | kind           | what
    ${0o444} | ${'fixed'}     | ${'one that nobody may write is the kernel’s own'}
    ${0o644} | ${'read-only'} | ${'one that root may write'}
  `('without rights, $what: $kind', ({ mode, kind }: { mode: number; kind: string }) => {
    const root = makeProc();
    const file = join(root, 'irq/24/smp_affinity_list');
    for (const path of [root, join(root, 'irq'), join(root, 'irq/24')]) chmodSync(path, 0o755);
    chmodSync(file, mode);
    const before = readFileSync(file, 'utf8');
    process.seteuid!(65_534);
    try {
      expect(writeIrqAffinity(24, parseCpuList('0'), root)).toEqual({ ok: false, kind, code: 'EACCES', path: file });
    } finally {
      process.seteuid!(0);
    }
    expect(readFileSync(file, 'utf8')).toBe(before);
  });
});

test('the interrupts of this machine are read', async () => {
  expect((await readIrqs(new TimeSlices(1))).length).toBeGreaterThan(1);
});
