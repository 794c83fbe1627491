import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import type { ContainerCgroups } from '../../../src/app/cgroups/container-cgroups';
import type { Container } from '../../../src/core/model/container';
import { planQuotas } from '../../../src/core/plan/plan-quotas';
import { openCgroups, type Cgroups } from '../../../src/host';
import { cpus, NodeDriver } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

/** A cgroup v2 tree of plain files with a pinned container in it, whose quota was lifted with its CPUs. */
let root: string;
let node: NodeDriver;
let logged: { readonly level: number; readonly of: string; readonly msg: string }[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'lift-'));
  writeFileSync(join(root, 'cgroup.controllers'), 'cpuset cpu');
  node = new NodeDriver(undefined, { liftCpuQuota: true }).run('make p/a 2');
  logged = [];
});
afterEach(() => rmSync(root, { recursive: true }));

const LIMIT = '200000 100000';
const LIFTED = /^max 100000/; // a plain file keeps what a shorter text leaves

function place(dir: string, quota: string): () => string {
  mkdirSync(join(root, dir), { recursive: true });
  writeFileSync(join(root, dir, 'cpu.max'), quota);
  return () => readFileSync(join(root, dir, 'cpu.max'), 'utf8');
}

/** As the reconciler does it: with what it has seen of the container, a limit unless told otherwise. */
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

test('the quota of the container and that of its pod are lifted, each in its own cgroup, and each is told', () => {
  const [pod, own] = [place('kubepods/podp', LIMIT), place('kubepods/podp/a', LIMIT)];
  expect(lift({ cgroupsPath: '/kubepods/podp/a' })).toBe(true);
  expect(own()).toMatch(LIFTED);
  expect(pod()).toMatch(LIFTED);
  expect(logged).toMatchObject([
    { level: 30, of: 'container', msg: 'quota lifted' },
    { level: 30, of: 'pod', msg: 'quota lifted' },
  ]);
});

test.each`
  name                        | quotas                       | own       | pod
  ${'only the container has'} | ${{ own: 200_000, pod: -1 }} | ${LIFTED} | ${LIMIT}
  ${'only the pod has'}       | ${{ own: -1, pod: 200_000 }} | ${LIMIT}  | ${LIFTED}
  ${'neither has'}            | ${{ own: -1, pod: -1 }}      | ${LIMIT}  | ${LIMIT}
`('a quota that $name is what is written', ({ quotas, own, pod }) => {
  const files = [place('kubepods/podp/a', LIMIT), place('kubepods/podp', LIMIT)];
  expect(lift({ cgroupsPath: '/kubepods/podp/a' }, quotas)).toBe(own === LIFTED || pod === LIFTED);
  expect(files.map((read) => read())).toEqual(
    [own, pod].map((text) => (text === LIFTED ? expect.stringMatching(LIFTED) : text)),
  );
});

test('what was lifted meanwhile by somebody else is nothing that was written', () => {
  place('kubepods/podp', 'max 100000');
  place('kubepods/podp/a', 'max 100000');
  expect(lift({ cgroupsPath: '/kubepods/podp/a' })).toBe(false);
  expect(logged).toEqual([]);
});

test('a parent that is not this pod’s is left alone', () => {
  const [parent, own] = [place('kubepods/podother', LIMIT), place('kubepods/podother/a', LIMIT)];
  expect(lift({ cgroupsPath: '/kubepods/podother/a' })).toBe(true);
  expect(own()).toMatch(LIFTED);
  expect(parent()).toBe(LIMIT);
});

test('a container that is gone, or whose path is none of a cgroup, is passed over', () => {
  expect(lift({ cgroupsPath: '/kubepods/podp/gone' })).toBe(false);
  expect(lift({ cgroupsPath: '/../etc' })).toBe(false);
  expect(logged.filter(({ level }) => level >= 30)).toEqual([]);
});

test('where quotas are not lifted by choice nothing is written', () => {
  const own = place('kubepods/podp/a', LIMIT);
  node = new NodeDriver().run('make p/a 2');
  expect(lift({ cgroupsPath: '/kubepods/podp/a' })).toBe(false);
  expect(own()).toBe(LIMIT);
});

describe('what the kernel refuses', () => {
  let because: string | undefined;
  let writer: ContainerCgroups;
  const step = {
    containerId: 'p/a#1', podUid: 'p', cgroupsPath: '/kubepods/podp/a', of: 'pod', to: { quotaUs: 300_000 },
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

  const told = () => logged.filter(({ level }) => level >= 30).map(({ msg }) => msg);

  test('is said once, however often it is tried and for however many containers of the pod', () => {
    for (let i = 0; i < 100; i++) expect(writer.writeQuota({ ...step, containerId: `p/a#${i}` })).toBe(false);
    expect(told()).toEqual(['quota not written']);
  });

  test('is said again with another reason, and when it could be written', () => {
    writer.writeQuota(step);
    because = 'EBUSY';
    writer.writeQuota(step);
    because = undefined;
    expect(writer.writeQuota(step)).toBe(true);
    expect(told()).toEqual(['quota not written', 'quota not written', 'quota set again']);
  });

  test('is forgotten with its container', () => {
    writer.writeQuota(step);
    writer.keepOnly(new Set(['p/a#1']));
    writer.writeQuota(step);
    expect(told()).toHaveLength(1);
    writer.keepOnly(new Set());
    writer.writeQuota(step);
    expect(told()).toHaveLength(2);
  });
});
