import { parseCpuList } from '../../../src/core/cpuset';
import { CgroupFiles, CHANGED, type WriteOutcome } from '../../../src/host/cgroup/cgroup-file';
import { CpusetFiles } from '../../../src/host/cgroup/cpuset-files';

// Changes by the kernel between two of our steps, which real cgroups can't show at the right time.

/** Cgroup files whose texts are given for each read. */
class ScriptedFiles extends CgroupFiles {
  readonly reads: string[] = [];
  readonly writes: string[] = [];

  constructor(
    private readonly cpus: string[],
    private readonly effective: string[],
    private readonly outcomes: WriteOutcome[] = [],
  ) {
    super();
  }

  override read(path: string): string {
    this.reads.push(path);
    return (path.endsWith('cpuset.cpus') ? this.cpus : this.effective).shift()!;
  }

  override write(_path: string, value: string): WriteOutcome {
    this.writes.push(value);
    return this.outcomes.shift()!;
  }
}

const cpusetFilesOf = (files: ScriptedFiles, version: 1 | 2): CpusetFiles =>
  new CpusetFiles(files, { version, cpusetRoot: '/cpuset' } as ConstructorParameters<typeof CpusetFiles>[1]);

describe('readCpus reads configured and effective CPUs of the same moment', () => {
  test.each`
    name                                                                 | cpus                    | effective          | want
    ${'no write in between: two reads'}                                  | ${['2-3']}              | ${['2-3']}         | ${{ cpus: '2-3', effectiveCpus: '2-3', reads: 2 }}
    ${'a lasting difference, because the parent has fewer: three reads'} | ${['2-3', '2-3']}       | ${['0-1']}         | ${{ cpus: '2-3', effectiveCpus: '0-1', reads: 3 }}
    ${'a write in between: read again'}                                  | ${['2-3', '0-1']}       | ${['0-1', '0-1']}  | ${{ cpus: '0-1', effectiveCpus: '0-1', reads: 4 }}
    ${'writes all the time: the last reading'}                           | ${['0', '1', '2', '3']} | ${['5', '6', '7']} | ${{ cpus: '2', effectiveCpus: '7', reads: 6 }}
  `('$name', ({ cpus, effective, want }) => {
    const files = new ScriptedFiles(cpus as string[], effective as string[]);
    const reading = cpusetFilesOf(files, 2).readCpus('/c1');
    const shown = JSON.parse(JSON.stringify(reading)) as object;
    expect({ ...shown, reads: files.reads.length }).toEqual({ kind: 'found', ...(want as object) });
  });
});

describe('writeList of a CPU that has just come online', () => {
  const refused = (errno: string): WriteOutcome => ({ kind: 'refused', errno, because: 'refused by the kernel' });

  test.each`
    name                                                               | version | outcomes                                  | want         | writes
    ${'version 1, refused once: the second write succeeds'}            | ${1}    | ${[refused('EACCES'), CHANGED]}           | ${'ok'}      | ${2}
    ${'version 1, the parent lacks the CPU: refused after two writes'} | ${1}    | ${[refused('EACCES'), refused('EACCES')]} | ${'refused'} | ${2}
    ${'version 1, another error: refused after one write'}             | ${1}    | ${[refused('EBUSY')]}                     | ${'refused'} | ${1}
    ${'version 2: refused after one write'}                            | ${2}    | ${[refused('EACCES')]}                    | ${'refused'} | ${1}
  `('$name', ({ version, outcomes, want, writes }) => {
    const files = new ScriptedFiles([], [], outcomes as WriteOutcome[]);
    const cpusets = cpusetFilesOf(files, version as 1 | 2);
    expect(cpusets.writeList('/c1/cpuset.cpus', parseCpuList('0-3'), parseCpuList('0-2')).kind).toBe(want);
    expect(files.writes).toEqual(Array.from({ length: writes as number }, () => '0-3'));
  });
});
