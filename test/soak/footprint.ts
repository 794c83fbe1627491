import { readdirSync, readFileSync, statSync } from 'node:fs';

/** Of the process when there is nothing left to remember, above what it had in its first quarter. */
const MAX_GROWTH = { rssMiB: 12, descriptors: 4, watches: 0, stateBytes: 4096 };

type Sizes = { readonly [Name in keyof typeof MAX_GROWTH]: number };

/** What one life of the daemon takes: memory, descriptors, inotify watches, state. */
export class Footprint {
  private readonly looks: (Sizes & { readonly pid: number; readonly containers: number })[] = [];

  constructor(
    private readonly pid: () => number,
    private readonly stateFile: string,
  ) {}

  /** Measures. Lives before this one are forgotten. */
  look(containers: number): void {
    const pid = this.pid();
    if (this.looks[0] && this.looks[0].pid !== pid) this.looks.length = 0;
    this.looks.push({ pid, containers, ...measure(pid, this.stateFile) });
  }

  /** What has grown: the end, when all containers are gone, beside the most of the first quarter of the life. */
  findGrowth(): string[] {
    const last = this.looks.at(-1);
    if (!last || this.looks.length < 8) return [`only ${this.looks.length} measurements: the run was too short`];
    const early = this.looks.slice(0, Math.ceil(this.looks.length / 4));
    return NAMES.flatMap((name) => {
      const before = Math.max(...early.map((look) => look[name]));
      return last[name] > before + MAX_GROWTH[name] ? [`${name} grew from ${before} to ${last[name]}`] : [];
    });
  }

  toString(): string {
    const at = (index: number): string => {
      const look = this.looks.at(index);
      return look
        ? `${NAMES.map((name) => `${name} ${look[name]}`).join(', ')} (${look.containers} containers)`
        : 'none';
    };
    return `last life, ${this.looks.length} measurements: first ${at(0)}; last ${at(-1)}`;
  }
}

const NAMES = Object.keys(MAX_GROWTH) as (keyof Sizes)[];

function measure(pid: number, stateFile: string): Sizes {
  const rssKiB = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '0';
  const descriptors = readdirSync(`/proc/${pid}/fd`);
  const watches = descriptors.reduce((sum, fd) => sum + countWatches(`/proc/${pid}/fdinfo/${fd}`), 0);
  const stateBytes = statSync(stateFile, { throwIfNoEntry: false })?.size ?? 0;
  return { rssMiB: Math.round(Number(rssKiB) / 1024), descriptors: descriptors.length, watches, stateBytes };
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
