import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { ContainerCgroups } from '../../../src/app/cgroups/container-cgroups';
import type { Container } from '../../../src/core/model/container';
import { planQuotas } from '../../../src/core/verdict/plan-quotas';
import { openCgroups, type Cgroups } from '../../../src/host';
import { cpus, NodeDriver } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

/** A cgroup v2 tree of plain files, and a node with one pinned container whose quota is to be lifted. */
let root: string;
let node: NodeDriver;
let logged: ({ readonly level: number } & Readonly<Record<'of' | 'msg', string>>)[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'lift-'));
  writeFileSync(join(root, 'cgroup.controllers'), 'cpuset cpu');
  node = new NodeDriver(undefined, { liftCpuQuota: true }).run('make p/a 2');
  logged = [];
});
afterEach(() => rmSync(root, { recursive: true }));

const LIMIT = '200000 100000';
const LIFTED = /^max 100000/; // a plain file keeps the rest of a longer text

function createQuotaFile(dir: string, quota: string): () => string {
  mkdirSync(join(root, dir), { recursive: true });
  writeFileSync(join(root, dir, 'cpu.max'), quota);
  return () => readFileSync(join(root, dir, 'cpu.max'), 'utf8');
}

/** Plans and writes the quota steps as the reconciler does, for a container and a pod that have these quotas. */
function lift(more: Partial<Container> = {}, quotas = { own: 200_000, pod: 200_000 }): boolean {
  const log = pino(
    { level: 'debug' },
    { write: (line) => void logged.push(JSON.parse(line) as (typeof logged)[number]) },
  );
  const container: Container = { ...node.container('p/a')!, ...more };
  const [quota, podQuota] = [quotas.own, quotas.pod].map((quotaUs) => ({ quotaUs, periodUs: 100_000 }));
  const steps = planQuotas(node.model, container, {
    kind: 'seen', cpus: cpus('1,5'), effective: cpus('1,5'), mems: cpus(''), quota: quota!, podQuota: podQuota!,
  }); // prettier-ignore
  const writer = containerCgroups(openCgroups({ cgroupRoot: root }), node.model, { log });
  return steps.map((step) => writer.writeQuota(step)).includes(true);
}

test('the quotas of a container and of its pod are lifted, each in its own cgroup, and both are logged', () => {
  const [pod, own] = [createQuotaFile('kubepods/podp', LIMIT), createQuotaFile('kubepods/podp/a', LIMIT)];
  expect(lift({ cgroupsPath: '/kubepods/podp/a' })).toBe(true);
  expect(own()).toMatch(LIFTED);
  expect(pod()).toMatch(LIFTED);
  expect(logged).toMatchObject([
    { level: 30, of: 'container', msg: 'quota lifted' },
    { level: 30, of: 'pod', msg: 'quota lifted' },
  ]);
});

test.each`
  name                                                   | quotas                       | own       | pod
  ${'only the container has a quota: only it is lifted'} | ${{ own: 200_000, pod: -1 }} | ${LIFTED} | ${LIMIT}
  ${'only the pod has a quota: only it is lifted'}       | ${{ own: -1, pod: 200_000 }} | ${LIMIT}  | ${LIFTED}
  ${'neither has a quota: nothing is written'}           | ${{ own: -1, pod: -1 }}      | ${LIMIT}  | ${LIMIT}
`('$name', ({ quotas, own, pod }) => {
  const files = [createQuotaFile('kubepods/podp/a', LIMIT), createQuotaFile('kubepods/podp', LIMIT)];
  expect(lift({ cgroupsPath: '/kubepods/podp/a' }, quotas)).toBe(own === LIFTED || pod === LIFTED);
  expect(files.map((read) => read())).toEqual(
    [own, pod].map((text) => (text === LIFTED ? expect.stringMatching(LIFTED) : text)),
  );
});

test('a quota that was lifted by another process meanwhile: nothing is written or logged', () => {
  createQuotaFile('kubepods/podp', 'max 100000');
  createQuotaFile('kubepods/podp/a', 'max 100000');
  expect(lift({ cgroupsPath: '/kubepods/podp/a' })).toBe(false);
  expect(logged).toEqual([]);
});

test('a parent cgroup of another pod is not written', () => {
  const [parent, own] = [createQuotaFile('kubepods/podother', LIMIT), createQuotaFile('kubepods/podother/a', LIMIT)];
  expect(lift({ cgroupsPath: '/kubepods/podother/a' })).toBe(true);
  expect(own()).toMatch(LIFTED);
  expect(parent()).toBe(LIMIT);
});

test('a container that is gone, or whose path is no cgroup path, is skipped', () => {
  expect(lift({ cgroupsPath: '/kubepods/podp/gone' })).toBe(false);
  expect(lift({ cgroupsPath: '/../etc' })).toBe(false);
  expect(logged.filter(({ level }) => level >= 30)).toEqual([]);
});

test('without the option to lift quotas nothing is written', () => {
  const own = createQuotaFile('kubepods/podp/a', LIMIT);
  node = new NodeDriver().run('make p/a 2');
  expect(lift({ cgroupsPath: '/kubepods/podp/a' })).toBe(false);
  expect(own()).toBe(LIMIT);
});

describe('a quota that the kernel refuses', () => {
  let because: string | undefined;
  let writer: ContainerCgroups;
  const step = {
    containerId: 'p/a#1', podUid: 'p', cgroupsPath: '/kubepods/podp/a', scope: 'pod', to: { quotaUs: 300_000 },
  } as const; // prettier-ignore

  beforeEach(() => {
    because = 'EINVAL';
    const log = pino(
      { level: 'debug' },
      { write: (line) => void logged.push(JSON.parse(line) as (typeof logged)[number]) },
    );
    const cgroups = {
      writeQuota: () =>
        because === undefined ? { kind: 'ok', changed: true } : { kind: 'refused', errno: because, because },
    } as unknown as Cgroups;
    writer = containerCgroups(cgroups, node.model, { log });
  });

  const messages = () => logged.filter(({ level }) => level >= 30).map(({ msg }) => msg);

  test('is logged once for all attempts and all containers of the pod', () => {
    for (let i = 0; i < 100; i++) expect(writer.writeQuota({ ...step, containerId: `p/a#${i}` })).toBe(false);
    expect(messages()).toEqual(['quota not written']);
  });

  test('is logged again when the reason changes, and when it could be written', () => {
    writer.writeQuota(step);
    because = 'EBUSY';
    writer.writeQuota(step);
    because = undefined;
    expect(writer.writeQuota(step)).toBe(true);
    expect(messages()).toEqual(['quota not written', 'quota not written', 'quota set again']);
  });

  test('is forgotten with its container, and then logged again', () => {
    writer.writeQuota(step);
    writer.keepOnly(new Set(['p/a#1']));
    writer.writeQuota(step);
    expect(messages()).toHaveLength(1);
    writer.keepOnly(new Set());
    writer.writeQuota(step);
    expect(messages()).toHaveLength(2);
  });
});
