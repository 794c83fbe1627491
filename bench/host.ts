/**
 * Measures host operations on this machine: cgroup reads and writes on 500 cgroups of the real kernel (made and
 * removed here; needs root and CPUs 0 and 1), and the topology of a machine with 1024 CPUs.
 *
 * Alternatives are interleaved in each round: compare ratios, not runs. `BENCH_ROUNDS` sets the number of rounds.
 */
import { mkdirSync, mkdtempSync, openSync, closeSync, readSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseCpuList } from '../src/core/cpuset';
import { openCgroups, readOnline, readTopology } from '../src/host';
import { median } from './nri/figures';

const CONTAINERS = 500;
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 15);

benchCgroups();
benchTopology();

function benchCgroups(): void {
  const cgroups = openCgroups({ cgroupRoot: '/sys/fs/cgroup' });
  const root = cgroups.version === 1 ? '/sys/fs/cgroup/cpuset' : '/sys/fs/cgroup';
  const parent = `/cpusetd-bench-${process.pid}`;
  const dirs = Array.from({ length: CONTAINERS }, (_, i) => `${parent}/c${i}`);
  const made: string[] = [];
  try {
    for (const dir of [parent, ...dirs]) {
      mkdirSync(root + dir);
      made.push(root + dir);
      writeFileSync(`${root}${dir}/cpuset.cpus`, '0-1');
      writeFileSync(`${root}${dir}/cpuset.mems`, '0');
      if (dir === parent && cgroups.version === 2) writeFileSync(`${root}${dir}/cgroup.subtree_control`, '+cpuset');
    }
    const narrow = { cpus: parseCpuList('0') };
    const wide = { cpus: parseCpuList('0-1') };
    const buffer = Buffer.alloc(4096);
    const effective = cgroups.version === 1 ? 'cpuset.effective_cpus' : 'cpuset.cpus.effective';
    measure(CONTAINERS, {
      'bare open+read+close of one file': () => dirs.forEach((dir) => readBare(`${root}${dir}/cpuset.cpus`, buffer)),
      'bare, two files': () => {
        for (const dir of dirs) {
          readBare(`${root}${dir}/cpuset.cpus`, buffer);
          readBare(`${root}${dir}/${effective}`, buffer);
        }
      },
      readCpus: () => dirs.forEach((dir) => cgroups.readCpus(dir)),
      'readCpuset (cpus, mems, both effective)': () => dirs.forEach((dir) => cgroups.readCpuset(dir)),
      'writeCpuset, shrinking': () => dirs.forEach((dir) => cgroups.writeCpuset(dir, narrow)),
      'writeCpuset, the same value': () => dirs.forEach((dir) => cgroups.writeCpuset(dir, narrow)),
      'writeCpuset, growing': () => dirs.forEach((dir) => cgroups.writeCpuset(dir, wide)),
      'readQuota of a missing cgroup': () => dirs.forEach((dir) => cgroups.readQuota(`${dir}x`)),
    });
    const watch = cgroups.watch({ onChange: () => undefined, onLost: (_dir, because) => console.log(because) });
    measure(CONTAINERS, {
      'watch.add': () => dirs.forEach((dir) => watch.add(dir)),
      'watch.remove': () => dirs.forEach((dir) => watch.remove(dir)),
    });
    watch.close();
  } finally {
    for (const folder of made.reverse()) rmdirSync(folder);
  }
}

function readBare(path: string, buffer: Buffer): void {
  const fd = openSync(path, 'r');
  readSync(fd, buffer, 0, buffer.length, 0);
  closeSync(fd);
}

function benchTopology(): void {
  const folder = mkdtempSync(join(tmpdir(), 'sysfs-'));
  try {
    writeBigMachine(join(folder, 'sys'));
    measure(1, {
      'readTopology of this machine (µs in all)': () => void readTopology({ sysfsRoot: '/sys' }),
      'readOnline of this machine (µs in all)': () => void readOnline('/sys'),
      'readTopology of 1024 CPUs (µs in all)': () => void readTopology({ sysfsRoot: join(folder, 'sys') }),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** 1024 CPUs: 2 sockets, 16 nodes, 2 threads a core with siblings n and n+512, an L3 for 8 cores. */
function writeBigMachine(sysfsRoot: string): void {
  const write = (path: string, content: string): void => {
    const target = join(sysfsRoot, 'devices/system', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, `${content}\n`);
  };
  const both = (first: number, count: number): string =>
    `${first}-${first + count - 1},${first + 512}-${first + 512 + count - 1}`;
  write('cpu/online', '0-1023');
  write('node/online', '0-15');
  for (let node = 0; node < 16; node++) {
    write(`node/node${node}/cpulist`, both(node * 32, 32));
    write(`node/node${node}/distance`, Array.from({ length: 16 }, (_, other) => (other === node ? 10 : 20)).join(' '));
    write(`node/node${node}/meminfo`, `Node ${node} MemTotal:  65536000 kB`);
  }
  for (let cpu = 0; cpu < 1024; cpu++) {
    const core = cpu % 512;
    write(`cpu/cpu${cpu}/topology/core_cpus_list`, `${core},${core + 512}`);
    write(`cpu/cpu${cpu}/topology/physical_package_id`, `${core < 256 ? 0 : 1}`);
    ['1', '1', '2', '3'].forEach((level, index) => write(`cpu/cpu${cpu}/cache/index${index}/level`, level));
    write(`cpu/cpu${cpu}/cache/index3/shared_cpu_list`, both(core - (core % 8), 8));
    write(`cpu/cpu${cpu}/cache/index3/id`, `${Math.floor(core / 8)}`);
  }
}

/** Runs all in turn, round after round, and prints the median and the fastest round of each. */
function measure(operations: number, cases: Readonly<Record<string, () => void>>): void {
  const times = new Map<string, number[]>(Object.keys(cases).map((name) => [name, []]));
  for (let round = -2; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(cases)) {
      const start = process.hrtime.bigint();
      run();
      const us = Number(process.hrtime.bigint() - start) / 1000 / operations;
      if (round >= 0) times.get(name)!.push(us); // the first rounds warm up
    }
  }
  for (const [name, rounds] of times) {
    const [p50, min] = [median(rounds), Math.min(...rounds)].map((us) => us.toFixed(1).padStart(9));
    console.log(`${name.padEnd(42)} p50 ${p50!} µs   min ${min!} µs`);
  }
}
