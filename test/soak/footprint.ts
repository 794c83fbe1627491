import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { poll } from '../e2e/rig';

/**
 * What one life may have more at its end, when all containers are gone, than in its first quarter; all of it after a
 * collection of garbage. The heap is told without compiled code, of which V8 makes more for minutes; RSS is with it, and with
 * what native libraries and the allocator keep.
 */
const MAX_GROWTH = { heapKiB: 2048, externalKiB: 1024, rssMiB: 16, descriptors: 0, watches: 0, stateBytes: 0 };

type Sizes = { readonly [Name in keyof typeof MAX_GROWTH]: number };

/** A look makes the daemon collect garbage: not after every round. */
const LOOK_EVERY_MS = 3_000;
const LEAST_LOOKS = 8;
/** A file that is open while it is written is no growth: the least of some counts. */
const COUNTS = 5;
const COUNT_EVERY_MS = 50;

interface Look extends Sizes {
  readonly pid: number;
  readonly containers: number;
}

/** What one life of the daemon takes: memory, descriptors, inotify watches, state. */
export class Footprint {
  private readonly looks: Look[] = [];
  private lookedAtMs = 0;

  constructor(
    private readonly daemon: { readonly pid: number; readonly stateDir: string },
    private readonly memoryFile: string,
  ) {}

  /** Measures, if it is time. Lives before this one are forgotten. */
  async look(containers: number, { now = false } = {}): Promise<void> {
    if (!now && Date.now() - this.lookedAtMs < LOOK_EVERY_MS) return;
    const { pid } = this.daemon;
    if (this.looks[0] && this.looks[0].pid !== pid) this.looks.length = 0;
    const memory = await this.collectGarbage(pid);
    this.looks.push({ pid, containers, ...memory, ...(await measure(pid, join(this.daemon.stateDir, 'state.json'))) });
    this.lookedAtMs = Date.now();
  }

  /** Whether this life was looked at often enough to tell growth. */
  get isConclusive(): boolean {
    return this.looks.length >= LEAST_LOOKS;
  }

  /** What has grown: the end, when all containers are gone, beside the most of the first quarter of the life. */
  findGrowth(): string[] {
    const last = this.looks.at(-1);
    if (!last || !this.isConclusive) return [`only ${this.looks.length} measurements: the run was too short`];
    const early = this.looks.slice(0, Math.ceil(this.looks.length / 4));
    return NAMES.flatMap((name) => {
      const before = Math.max(...early.map((look) => look[name]));
      return last[name] > before + MAX_GROWTH[name] ? [`${name} grew from ${before} to ${last[name]}`] : [];
    });
  }

  /** The whole life at a few points. */
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

/** Has a daemon report its memory into the file when it is asked to. */
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
