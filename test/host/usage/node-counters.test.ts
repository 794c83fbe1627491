import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { useTempDirs } from '../../state/support/temp-dir';
import { readStage, V2_MACHINE, writeFiles, type Files } from './stage';

const makeDir = useTempDirs();

async function readWith(files: Files, interfaces: readonly string[] = []) {
  const root = makeDir();
  writeFiles(root, { ...V2_MACHINE, ...files });
  return (await readStage(root, { interfaces })).sample;
}

test('ticks of each online CPU: waiting for I/O is busy, guests are in their hosts, and the sum of all CPUs is no CPU', async () => {
  // user nice system idle iowait irq softirq steal guest guest_nice
  const { cpus } = await readWith({
    'proc/stat': 'cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 50 5 6 7 8 9 10\ncpu17 0 0 0 70 30 0 0 0 0 0\nintr 5\n',
  });
  expect(cpus).toEqual(
    new Map([
      [0, { busy: 32, idle: 50 }],
      [17, { busy: 30, idle: 70 }],
    ]),
  );
});

test('a machine without /proc/stat is an error', async () => {
  const root = makeDir();
  writeFiles(root, V2_MACHINE);
  rmSync(join(root, 'proc/stat'));
  await expect(readStage(root)).rejects.toThrow(/ENOENT.*proc\/stat/);
});

test.each`
  name                      | text                                   | want
  ${'as the kernel has it'} | ${'0.80 12.86 2.50 3/139 6358\n'}      | ${[0.8, 12.86, 2.5]}
  ${'two figures'}          | ${'0.80 0.86\n'}                       | ${undefined}
  ${'a word'}               | ${'low 0.86 2.50 3/139 6358\n'}        | ${undefined}
  ${'a very long text'}     | ${`0.80 0.86 2.50 ${'3'.repeat(1e6)}`} | ${undefined}
  ${'no file'}              | ${undefined}                           | ${undefined}
`('load averages: $name', async ({ text, want }: { text: string | undefined; want: unknown }) => {
  expect((await readWith(text === undefined ? {} : { 'proc/loadavg': text })).load).toEqual(want);
});

test.each`
  name                          | text                                                                            | want
  ${'as the kernel has it'}     | ${'MemTotal:       24684084 kB\nMemFree:  1 kB\nMemAvailable:   23827828 kB\n'} | ${{ totalBytes: 24684084 * 1024, availableBytes: 23827828 * 1024 }}
  ${'a kernel without the sum'} | ${'MemTotal: 24684084 kB\nMemFree: 22064216 kB\n'}                              | ${undefined}
  ${'another unit'}             | ${'MemTotal: 24 MB\nMemAvailable: 23 MB\n'}                                     | ${undefined}
`('memory: $name', async ({ text, want }: { text: string; want: unknown }) => {
  expect((await readWith({ 'proc/meminfo': text })).memory).toEqual(want);
});

describe('disks', () => {
  const line = (name: string, fields: string): string => ` 254       0 ${name} ${fields}\n`;
  const USED = '10 1 80 5 20 2 160 6 0 77 11 1 2 3 4 5 6';
  const used = { reads: 10, writes: 20, readBytes: 40_960, writtenBytes: 81_920, busyMs: 77 };
  const readDisks = async (diskstats: string, ...block: string[]) => {
    const root = makeDir();
    for (const name of block) mkdirSync(join(root, 'sys/block', name), { recursive: true });
    writeFiles(root, { ...V2_MACHINE, 'proc/diskstats': diskstats });
    return Object.fromEntries((await readStage(root)).sample.disks);
  };

  test.each`
    name                                     | diskstats                                                                        | block                | want
    ${'a disk and its partition'}            | ${line('vda', USED) + line('vda1', USED)}                                        | ${['vda']}           | ${{ vda: used }}
    ${'a kernel of version 2.6 to 4.17'}     | ${line('sda', '10 1 80 5 20 2 160 6 0 77 11')}                                   | ${['sda']}           | ${{ sda: used }}
    ${'a name with a slash'}                 | ${line('cciss/c0d0', USED)}                                                      | ${['cciss!c0d0']}    | ${{ 'cciss!c0d0': used }}
    ${'a loop device and a RAM disk unused'} | ${line('loop0', '0 '.repeat(17).trim()) + line('ram1', '0 0 0 0 0 0 0 0 0 0 0')} | ${['loop0', 'ram1']} | ${{}}
    ${'a loop device in use'}                | ${line('loop0', USED)}                                                           | ${['loop0']}         | ${{ loop0: used }}
    ${'another disk unused'}                 | ${line('zram0', '0 0 0 0 0 0 0 0 0 0 0')}                                        | ${['zram0']}         | ${{ zram0: { reads: 0, writes: 0, readBytes: 0, writtenBytes: 0, busyMs: 0 } }}
    ${'a short line'}                        | ${line('vda', '10 1 80 5 20 2 160')}                                             | ${['vda']}           | ${{}}
    ${'a word among the figures'}            | ${line('vda', USED.replace('77', 'x'))}                                          | ${['vda']}           | ${{}}
    ${'a negative figure'}                   | ${line('vda', USED.replace('77', '-77'))}                                        | ${['vda']}           | ${{}}
    ${'no list of whole disks'}              | ${line('vda', USED)}                                                             | ${[]}                | ${{}}
  `('$name', async ({ diskstats, block, want }: { diskstats: string; block: string[]; want: unknown }) => {
    expect(await readDisks(diskstats, ...block)).toEqual(want);
  });
});

describe('network interfaces', () => {
  const HEAD =
    'Inter-|   Receive        |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes\n';
  const dev = (...lines: string[]): string => HEAD + lines.map((each) => `${each}\n`).join('');
  const ETH0 = '  eth0: 1000 10 1 2 3 4 5 6 2000 20 7 8 9 10 11 12';
  const eth0 = {
    receivedBytes: 1000,
    receivedPackets: 10,
    droppedIn: 2,
    sentBytes: 2000,
    sentPackets: 20,
    droppedOut: 8,
  };

  test.each`
    name                                        | files                                                                                                        | want
    ${'the named one, not the others'}          | ${{ 'proc/1/net/dev': dev('    lo: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9', ETH0, ETH0.replace('eth0', 'eth01')) }} | ${{ eth0 }}
    ${'no space after the colon'}               | ${{ 'proc/1/net/dev': dev(ETH0.replace(': ', ':')) }}                                                        | ${{ eth0 }}
    ${'those of process 1 rather than our own'} | ${{ 'proc/1/net/dev': dev(ETH0), 'proc/net/dev': dev(ETH0.replace('1000', '5')) }}                           | ${{ eth0 }}
    ${'our own where those can not be read'}    | ${{ 'proc/net/dev': dev(ETH0) }}                                                                             | ${{ eth0 }}
    ${'a short line'}                           | ${{ 'proc/1/net/dev': dev('  eth0: 1000 10 1') }}                                                            | ${{}}
    ${'a word among the figures'}               | ${{ 'proc/1/net/dev': dev(ETH0.replace('2000', 'x')) }}                                                      | ${{}}
    ${'no file'}                                | ${{}}                                                                                                        | ${{}}
  `('$name', async ({ files, want }: { files: Files; want: unknown }) => {
    const { interfaces } = await readWith(files, ['eth0', 'ens5']);
    expect(Object.fromEntries(interfaces)).toEqual(want);
  });
});
