import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listIrqAffinities, readInterrupts, readSoftirqs } from '../../../src/host/proc/interrupts';
import { useTempDirs } from '../../state/support/temp-dir';

const makeDir = useTempDirs();

const INTERRUPTS = `            CPU0       CPU2
   1:          0          9   IO-APIC   1-edge      i8042
  24:        100        200   PCI-MSIX-0000:00:03.0   0-edge      virtio0-input.0
 LOC:       5000       6000   Local timer interrupts
 ERR:          0
 MIS:          0
`;

test('interrupts by CPU: lines of devices and of the kernel; totals of the machine are left out', () => {
  const root = makeDir();
  writeFileSync(join(root, 'interrupts'), INTERRUPTS);
  expect(readInterrupts(root)).toEqual([
    {
      name: '1',
      source: 'IO-APIC 1-edge i8042',
      counts: new Map([
        [0, 0],
        [2, 9],
      ]),
    },
    {
      name: '24',
      source: 'PCI-MSIX-0000:00:03.0 0-edge virtio0-input.0',
      counts: new Map([
        [0, 100],
        [2, 200],
      ]),
    },
    {
      name: 'LOC',
      source: 'Local timer interrupts',
      counts: new Map([
        [0, 5000],
        [2, 6000],
      ]),
    },
  ]);
});

test('softirqs have no source', () => {
  const root = makeDir();
  writeFileSync(
    join(root, 'softirqs'),
    '                    CPU0       CPU1\n          HI:          1          0\n      NET_RX:         12         34\n',
  );
  expect(readSoftirqs(root)).toEqual([
    {
      name: 'HI',
      source: '',
      counts: new Map([
        [0, 1],
        [1, 0],
      ]),
    },
    {
      name: 'NET_RX',
      source: '',
      counts: new Map([
        [0, 12],
        [1, 34],
      ]),
    },
  ]);
});

test('affinities: the effective one where the kernel tells it; an interrupt without one is left out', () => {
  const root = makeDir();
  const write = (irq: string, files: Readonly<Record<string, string>>): void => {
    mkdirSync(join(root, 'irq', irq), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(root, 'irq', irq, name), text);
  };
  write('24', { smp_affinity_list: '0-3\n', effective_affinity_list: '2\n' });
  write('3', { smp_affinity_list: '0-1\n', effective_affinity_list: '\n' });
  write('9', {});
  writeFileSync(join(root, 'irq/default_smp_affinity'), 'f\n');
  const shown = listIrqAffinities(root).map(({ irq, allowed, effective }) => [
    irq,
    allowed.toString(),
    effective?.toString(),
  ]);
  expect(shown).toEqual([
    [3, '0-1', undefined],
    [24, '0-3', '2'],
  ]);
});

test('this machine has interrupts and softirqs', () => {
  expect(readInterrupts().length).toBeGreaterThan(0);
  expect(readSoftirqs().map(({ name }) => name)).toContain('TIMER');
  expect(listIrqAffinities().length).toBeGreaterThan(0);
});
