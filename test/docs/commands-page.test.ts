import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdminBackend } from '../../src/admin/model/backend';
import type { NodeStatus, Status } from '../../src/admin/model/status';
import { formatTop } from '../../src/cli/top/format-top';
import type { TopContainer, TopFigures } from '../../src/cli/top/top';
import { parseCpuList } from '../../src/core/cpuset';
import { runInProcess as cpusetd } from '../support/run-cli';
import { listCommandWords } from './command-list';
import { playNode, showSession, type Session } from './node';
import { listExamples, readPage, readTable } from './markdown';

/** Output of the commands on the node of the pages. */
const SESSIONS: Readonly<Record<string, Session>> = {
  explain: { commands: ['cpusetd explain db', 'cpusetd explain --cpus 12'] },
  refused: { commands: ['cpusetd explain big'] },
  events: { commands: ['cpusetd events --kind pinned,idle,moved,refused'] },
  replay: { commands: ['cpusetd replay /var/lib/cpusetd/journal --set reserved-cpus=0-3,8-11'] },
};

/** The node of the pages, measured while it is busy, with a rule in force. */
async function measuredNode(stateDir: string): Promise<AdminBackend> {
  const backend = await playNode(stateDir);
  const show = (status: Status): Status => ({ ...status, node: { ...status.node, ...MEASURED } });
  return { ...backend, status: () => show(backend.status()) };
}

const BUSY = 'batch/cpu is triggered: cpu_total_utilization is 82, above 75';
const MEASURED: Pick<NodeStatus, 'usage' | 'qos' | 'lent'> = {
  usage: {
    at: '2026-11-21T05:59:10Z',
    busyMs: 3.4,
    cpuCores: 16,
    cpuPercent: 82,
    memoryBytes: 5.5 * 2 ** 30,
    memoryTotalBytes: 16 * 2 ** 30,
    load1: 14.25,
    exclusiveIdleMilliCpu: 2_850,
    sets: [
      {
        namespace: 'default',
        pod: 'db',
        container: 'postgres',
        containerId: 'db',
        cpus: parseCpuList('1-2,9-10'),
        usedMilliCpu: 3_150,
        waitMsPerSecond: 4.2,
      },
    ],
  },
  qos: {
    mode: 'enforce',
    because: '',
    rules: [
      {
        rule: 'batch/cpu',
        state: 'triggered',
        action: 'slow-down',
        because: 'cpu_total_utilization is 82, above 75, in 3 of 3 readings',
      },
      {
        rule: 'batch/memory',
        state: 'restored',
        action: 'clear',
        because: 'memory_total_utilization is 34, not above 90',
      },
    ],
    schedulingDisabled: { because: BUSY, since: '2026-11-21T05:58:50Z' },
    throttled: [
      {
        namespace: 'batch',
        pod: 'report',
        container: 'main',
        containerId: 'report',
        originalQuotaUs: 200_000,
        quotaUs: 120_000,
        periodUs: 100_000,
        because: BUSY,
        since: '2026-11-21T05:58:50Z',
      },
    ],
    recent: [
      {
        at: '2026-11-21T05:58:50Z',
        action: 'throttle',
        subject: 'batch/report/main',
        outcome: 'done',
        because: BUSY,
      },
    ],
    actionsLeft: 58,
    evictionsLeft: 5,
  },
  lent: {
    cpuMilli: 0,
    memoryBytes: 4.1 * 2 ** 30,
    because: '40 % of the node is kept back',
    since: '2026-11-21T05:59:10Z',
  },
};

/** Output of a command on the measured node. */
const showMeasured = (): Promise<string> => showSession({ commands: ['cpusetd qos'] }, measuredNode);

/** The terminal of `cpusetd top`, three containers of which have CPUs of their own. */
function showTop(): string {
  const own = (pod: string, container: string, cpus: string, figures: TopFigures): TopContainer => ({
    namespace: 'default',
    pod,
    podUid: pod,
    container,
    containerId: pod,
    placement: 'exclusive',
    cpus: parseCpuList(cpus),
    verdict: { kind: pod === 'feed' ? 'drifted' : 'kept', reason: '' },
    ...figures,
  });
  const top = {
    nodeName: 'worker-1',
    at: '2026-11-21T05:59:10Z',
    seconds: 2,
    busyMs: 24,
    containers: [
      own('db', 'postgres', '1-2,9-10', {
        usedMilliCpu: 3_150,
        usedPercent: 78.75,
        waitMsPerSecond: 4.2,
        foreign: { percent: 0.1, threads: 2, most: 'kworker/2:1' },
      }),
      own('feed', 'parser', '3,11', {
        usedMilliCpu: 1_060,
        usedPercent: 53,
        waitMsPerSecond: 612,
        throttledPercent: 0,
        foreign: { percent: 41.5, threads: 3, most: 'backup' },
      }),
      own('ring', 'relay', '4,12', {
        usedMilliCpu: 1_990,
        usedPercent: 99.5,
        waitMsPerSecond: 0.3,
        throttledPercent: 12,
        foreign: { percent: 0, threads: 0, most: '' },
      }),
    ],
  };
  const order = { by: 'verdict', isReversed: false } as const;
  return `$ cpusetd top\n${formatTop(top, { order, hasKeys: true })}`.trimEnd();
}

let page = readPage('commands.md');
const optionsPage = readPage('options.md');

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'docs-'))));
beforeAll(async () => {
  if (!process.env['UPDATE_DOCS']) return;
  const shown = new Map(listExamples(page));
  for (const [name, session] of Object.entries(SESSIONS)) shown.set(name, await showSession(session));
  shown.set('config-explain', await explainGroups());
  shown.set('qos', await showMeasured());
  shown.set('top', showTop());
  page = readPage('commands.md', (name) => shown.get(name)!);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The options of run, which have a table of their own. */
const optionsOfRun = new Set(readTable(optionsPage, '## All options').map(([flag]) => flag!));

/**
 * The example of a file with groups, explained for one of the nodes that it names; without the options that have their
 * defaults.
 */
async function explainGroups(): Promise<string> {
  const path = join(folder, 'cpusetd.yaml');
  writeFileSync(path, listExamples(optionsPage).get('config-groups')!);
  const args = ['config', 'explain', '--config', path, '--node-name', 'gpu-17', '--node-labels', 'pool=latency'];
  const { stdout } = await cpusetd(args);
  const shown = `$ cpusetd ${args.join(' ')} | grep -v default\n${stdout}`.replaceAll(folder, '/etc');
  return shown
    .split('\n')
    .filter((line) => !line.endsWith('  default'))
    .join('\n')
    .trimEnd();
}

/** The chapter on a command: of the page, or of that for the commands of the cluster. */
function readChapter(command: string): string | undefined {
  const pages = [page, readPage('load-aware-scheduling.md')];
  return pages.flatMap((text) => text.split(new RegExp(`\\n###? \`cpusetd ${command}`))[1]?.split(/\n##/)[0] ?? [])[0];
}

describe('commands', () => {
  /** Explained once, for all. */
  const COMMON = ['--admin-socket', '--help'];

  test('each has a chapter that names it and all its options', async () => {
    const commands = await listCommandWords();
    expect(commands).toContainEqual(['run']);
    const faults: string[] = [];
    for (const words of commands) {
      const command = words.join(' ');
      const chapter = readChapter(words[0]!);
      if (chapter === undefined) faults.push(`cpusetd ${words[0]!} has no chapter`);
      else if (words.length > 1 && !chapter.includes(`\`${command}`)) faults.push(`${command} is not named`);
      const { stdout } = await cpusetd([...words, '--help']);
      const flags = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag!);
      // The options of run have their own table.
      const isOfRun = (flag: string): boolean =>
        ['run', 'check', 'report', 'config explain'].includes(command) && optionsOfRun.has(flag);
      for (const flag of flags.filter((each) => !isOfRun(each))) {
        if (!COMMON.includes(flag) && chapter?.includes(flag) === false) faults.push(`${command} ${flag} is not named`);
      }
    }
    expect(faults).toEqual([]);
  });

  test('config explain prints what the page shows of the example of groups', async () => {
    expect(listExamples(page).get('config-explain')).toBe(await explainGroups());
  });

  test('allocate answers as the page shows', async () => {
    const example = listExamples(page).get('allocate')!;
    const [, machine, request, answer] = example.split('\n');
    const path = join(folder, 'machine.jsonl');
    writeFileSync(path, `${machine!}\n`);
    const input = /^\$ echo '(.*)' \| cpusetd allocate --batch - --topology machine\.jsonl$/.exec(request!)![1]!;
    const { stdout } = await cpusetd(['allocate', '--batch', '-', '--topology', path], { input });
    expect(stdout.trim()).toBe(answer);
  });

  test('qos prints what the page shows, of a node that is measured', async () => {
    expect(listExamples(page).get('qos')).toBe(await showMeasured());
  });

  test('top shows what the page shows, of containers that were measured', () => {
    expect(listExamples(page).get('top')).toBe(showTop());
  });

  test.each(Object.keys(SESSIONS))('%s prints what the page shows', async (name) => {
    expect(listExamples(page).get(name)).toBe(await showSession(SESSIONS[name]!));
  });
});
