import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerStatus, Status } from '../../../src/admin/model/status';
import { formatStatusTable } from '../../../src/cli/status/status-table';
import { PLAIN } from '../../../src/cli/format/terminal';
import { widthOf } from '../../../src/cli/format/width';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { sampleStatus } from '../../admin/sample-status';
import { formatPicture } from '../../../src/cli/topology/draw-map';
import { viewStatus } from '../../../src/admin/machine/machine-view';
import { statusOf } from '../topology/machines';
import { SCENES } from '../topology/scenes';

const FIXTURES = join(__dirname, '../../fixtures/cli');
const MACHINES = ['eight-cpus', 'every-kind-of-owner', 'four-sockets', 'eight-nodes', 'many-owners'] as const;
const WIDTHS = [80, 100, 160] as const;
const AT = '2026-11-21T10:00:00.000Z';

/** The status of a scene's node: its owners run, and containers with long names and every verdict are beside them. */
function statusOfScene(name: (typeof MACHINES)[number]): Status {
  const { node, assignments } = statusOf(SCENES[name]!);
  const owners = assignments.map((assignment, i): ContainerStatus => {
    const cpus = assignment.nodes ? node.sharedPool : assignment.cpus;
    return {
      ...assignment,
      id: `${String(i).padStart(4, '0')}${'c'.repeat(60)}`,
      placement: 'exclusive',
      promise: { cpus, mems: CpuSet.empty, since: AT },
      observation: { cpus, effectiveCpus: cpus, mems: CpuSet.empty, at: AT },
      verdict: { kind: 'kept', reason: '', since: AT },
    };
  });
  const seen = (list: string) => {
    const cpus = parseCpuList(list);
    return { cpus, effectiveCpus: cpus, mems: CpuSet.empty, at: AT };
  };
  const shared = (container: string, verdict: ContainerStatus['verdict']): ContainerStatus => ({
    id: container.padEnd(64, 'd'),
    podUid: '8b1c7f0e-5a37-4f2a-9d52-3f2f4a7f9b11',
    namespace: 'observability',
    pod: 'prometheus-node-exporter-7d9f8b6c5-x2x9q',
    container,
    placement: 'shared',
    promise: { cpus: node.sharedPool, mems: CpuSet.empty, since: AT },
    observation: { cpus: node.sharedPool, effectiveCpus: node.sharedPool, mems: CpuSet.empty, at: AT },
    verdict,
    because: 'the pod is Burstable, and only Guaranteed pods have exclusive CPUs',
    since: AT,
    requested: 0,
  });
  const reason =
    'the kernel allows 0, promised is the shared pool; likely cause: unknown writer: someone wrote its cgroup directly';
  return {
    ...sampleStatus,
    node: { ...node, alarms: name === 'eight-cpus' ? [] : node.alarms },
    containers: [
      ...owners,
      shared('exporter', { kind: 'kept', reason: '', since: AT }),
      { ...shared('config-reloader', { kind: 'drifted', reason, since: AT }), observation: seen('0') },
      shared('日本語', { kind: 'pending', reason: 'it has not started', since: AT }),
    ],
    idle: sampleStatus.idle,
  };
}

type Machine = (typeof MACHINES)[number];
const FORMS: Readonly<Record<string, (machine: Machine, width: number) => string>> = {
  status: (machine, width) => formatStatusTable(statusOfScene(machine), { terminal: { ...PLAIN, width } }),
  topology: (machine, width) => formatPicture(viewStatus(statusOf(SCENES[machine]!)), { ...PLAIN, width }),
};

test.each(Object.keys(FORMS))(
  'the %s of five machines at 80, 100 and 160 columns is that of the fixture; UPDATE_DOCS=1 writes it',
  (form) => {
    const fixture = join(FIXTURES, `${form}.txt`);
    const rendered = MACHINES.flatMap((machine) =>
      WIDTHS.map((width) => `=== ${machine}, ${width} columns\n${FORMS[form]!(machine, width)}`),
    ).join('\n');
    if (process.env['UPDATE_DOCS']) writeFileSync(fixture, rendered);
    expect(rendered).toBe(readFileSync(fixture, 'utf8'));
    const tooWide = rendered.split(/^=== .*, (\d+) columns\n/m).slice(1);
    for (let i = 0; i < tooWide.length; i += 2)
      for (const line of tooWide[i + 1]!.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(Number(tooWide[i]));
  },
);

test.each(MACHINES)(
  'no line of the status of %s is wider than the terminal, and no sentence loses a word',
  (machine) => {
    const status = statusOfScene(machine);
    const words = (text: string): string[] =>
      text
        .split(/\s+/)
        .filter((word) => /^[a-z]+[,;:]?$/.test(word))
        .sort();
    const whole = words(formatStatusTable(status, { terminal: PLAIN }));
    for (const width of [...WIDTHS, 72, 120, 200]) {
      const text = formatStatusTable(status, { terminal: { ...PLAIN, width } });
      const tooWide = text.split('\n').filter((line) => widthOf(line) > width);
      expect({ width, tooWide }).toEqual({ width, tooWide: [] });
      expect(words(text)).toEqual(expect.arrayContaining(whole));
    }
  },
);

test('the wide form has every column, whatever the terminal', () => {
  const [, header] = /\n(POD .*)\n/.exec(
    formatStatusTable(statusOfScene('eight-nodes'), { isWide: true, terminal: { ...PLAIN, width: 80 } }),
  )!;
  expect(header!.split(/ {2,}/)).toEqual([
    'POD',
    'CONTAINER',
    'ID',
    'PLACEMENT',
    'POLICY',
    'PROMISED',
    'KERNEL',
    'VERDICT',
    'SINCE',
    'POD UID',
    'BECAUSE',
  ]);
});

test('colours are by verdict and by the state of a part, and take no room', () => {
  const tones = new Map<string, string>();
  const text = formatStatusTable(statusOfScene('eight-cpus'), {
    terminal: {
      width: 100,
      paint: (cell, tone) => {
        if (tone !== undefined) tones.set(cell.trim(), tone);
        return tone === undefined ? cell : `<${cell}>`;
      },
    },
  });
  expect(Object.fromEntries(tones)).toMatchObject({
    kept: 'good',
    drifted: 'warning',
    pending: 'good',
    ok: 'good',
    warning: 'warning',
  });
  const plain = formatStatusTable(statusOfScene('eight-cpus'), { terminal: { ...PLAIN, width: 100 } });
  expect(text.replace(/[<>]/g, '')).toBe(plain);
});

test('an empty node', () => {
  const status: Status = { ...statusOfScene('eight-cpus'), containers: [], idle: [] };
  expect(formatStatusTable(status)).toMatch(/\npromises +ok +0 of 0 containers kept\n[^]*\nNo containers\.\n$/);
  expect(formatStatusTable({ ...status, node: { ...status.node, free: parseCpuList('') } })).toContain(
    '\nfree         none\n',
  );
});
