import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { poll } from '../e2e/rig';

/**
 * Maximum growth of a process from its first quarter to its end, when all containers are gone. Garbage is collected
 * before each measurement. The heap is without compiled code, of which V8 makes more for minutes; RSS has compiled
 * code, native libraries and the reserve of the allocator.
 */
const MAX_GROWTH = { heapKiB: 2048, externalKiB: 1024, rssMiB: 16, descriptors: 0, watches: 0, stateBytes: 0 };

type Sizes = { readonly [Name in keyof typeof MAX_GROWTH]: number };

/** Number of rounds for a measurement: each makes the daemon collect garbage. */
const ROUNDS_PER_LOOK = 6;
const LEAST_LOOKS = 8;
/** Number of counts per measurement. The least of them counts, since a file may be open while it is written. */
const COUNTS = 5;
const COUNT_EVERY_MS = 50;

interface Look extends Sizes {
  readonly pid: number;
  readonly containers: number;
}

/** The resources of one process of the daemon: memory, descriptors, inotify watches, state. */
export class Footprint {
  private readonly looks: Look[] = [];
  private rounds = 0;

  constructor(
    private readonly daemon: { readonly pid: number; readonly stateDir: string },
    private readonly memoryFile: string,
  ) {}

  /**
   * Measures after the first round of this process, and after every few more. Measurements of earlier processes are
   * dropped.
   */
  async look(containers: number, { now = false } = {}): Promise<void> {
    if (!now && this.rounds++ % ROUNDS_PER_LOOK !== 0) return;
    const { pid } = this.daemon;
    if (this.looks[0] && this.looks[0].pid !== pid) this.looks.length = 0;
    const memory = await this.collectGarbage(pid);
    this.looks.push({ pid, containers, ...memory, ...(await measure(pid, join(this.daemon.stateDir, 'state.json'))) });
  }

  /** True when there are enough measurements of this process to find growth. */
  get isConclusive(): boolean {
    return this.looks.length >= LEAST_LOOKS;
  }

  /** Finds growth: compares the end, when all containers are gone, with the maximum of the first quarter. */
  findGrowth(): string[] {
    const last = this.looks.at(-1);
    if (!last || !this.isConclusive) return [`only ${this.looks.length} measurements: the run was too short`];
    const early = this.looks.slice(0, Math.ceil(this.looks.length / 4));
    return NAMES.flatMap((name) => {
      const before = Math.max(...early.map((look) => look[name]));
      return last[name] > before + MAX_GROWTH[name] ? [`${name} grew from ${before} to ${last[name]}`] : [];
    });
  }

  /** A table of a few measurements. */
  toString(): string {
    const { length } = this.looks;
    const rows = [0, 0.25, 0.5, 0.75, 1].map((part) => this.looks[Math.round(part * (length - 1))]);
    return [
      `last life, ${length} measurements, after a collection of garbage each:`,
      ['containers', ...NAMES].map((name) => name.padStart(12)).join(''),
      ...rows.flatMap((look) =>
        look ? [[look.containers, ...NAMES.map((name) => look[name])].map((n) => String(n).padStart(12)).join('')] : [],
      ),
    ].join('\n');
  }

  private async collectGarbage(pid: number): Promise<Pick<Sizes, 'heapKiB' | 'externalKiB' | 'rssMiB'>> {
    rmSync(this.memoryFile, { force: true });
    process.kill(pid, 'SIGUSR2');
    const text = await poll('the report on memory', () => readIfThere(this.memoryFile));
    const { rss, heapUsed, code, external, arrayBuffers } = JSON.parse(text) as NodeJS.MemoryUsage & {
      readonly code: number;
    };
    return {
      heapKiB: Math.round((heapUsed - code) / 1024),
      externalKiB: Math.round((external + arrayBuffers) / 1024),
      rssMiB: Math.round(rss / 1024 / 1024),
    };
  }
}

const NAMES = Object.keys(MAX_GROWTH) as (keyof Sizes)[];

/** The environment of a daemon that writes its memory into the file at SIGUSR2. */
export function environmentOf(memoryFile: string): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--require ${join(process.cwd(), 'test/soak/report-memory.cjs')}`,
    SOAK_MEMORY_FILE: memoryFile,
  };
}

async function measure(pid: number, stateFile: string): Promise<Pick<Sizes, 'descriptors' | 'watches' | 'stateBytes'>> {
  const counts: { readonly descriptors: number; readonly watches: number }[] = [];
  for (let n = 0; n < COUNTS; n++) {
    if (n > 0) await delay(COUNT_EVERY_MS);
    const fds = readdirSync(`/proc/${pid}/fd`);
    const watches = fds.reduce((sum, fd) => sum + countWatches(`/proc/${pid}/fdinfo/${fd}`), 0);
    counts.push({ descriptors: fds.length, watches });
  }
  return {
    descriptors: Math.min(...counts.map(({ descriptors }) => descriptors)),
    watches: Math.min(...counts.map(({ watches }) => watches)),
    stateBytes: statSync(stateFile, { throwIfNoEntry: false })?.size ?? 0,
  };
}

function countWatches(fdinfo: string): number {
  try {
    return readFileSync(fdinfo, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('inotify ')).length;
  } catch {
    return 0; // closed meanwhile
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
