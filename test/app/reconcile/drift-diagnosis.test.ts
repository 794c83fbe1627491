import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DriftDiagnosis } from '../../../src/app/reconcile/drift-diagnosis';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import { listProcessNames, type Cgroups } from '../../../src/host';
import { NodeDriver } from '../../core/transition/node-driver';
import { containerCgroups } from '../../support/container-cgroups';

const { model } = new NodeDriver();
const cgroups = { readCpus: () => ({ kind: 'gone' }) } as unknown as Cgroups; // no parent cgroup that restricts it
const promise = { cpus: parseCpuList('2-3'), mems: CpuSet.empty };
const seen = { kind: 'seen', cpus: parseCpuList('5'), effective: parseCpuList('5'), mems: CpuSet.empty } as const;
const containerAt = (cgroupsPath: string): Container => ({
  id: 'c',
  sandboxId: 's',
  podUid: 'p',
  name: 'c',
  cgroupsPath,
  phase: 'running',
  resources: {},
  placement: 'exclusive',
  entitledCpus: 2,
  promise,
  freshAssignment: false,
  because: '',
});
const onSystemd = containerAt('kubepods-podp.slice:cri-containerd:c');

const folder = mkdtempSync(join(tmpdir(), 'clues-'));
const unitsLoadedFile = join(folder, 'systemd-units-load');
afterAll(() => rmSync(folder, { recursive: true }));

describe('a reload of systemd, by the time of the file that it touches', () => {
  const explain = (container: Container) => {
    const diagnosis = new DriftDiagnosis({
      model,
      cgroups: containerCgroups(cgroups, model),
      hasStaticKubelet: () => false,
      unitsLoadedFile,
    });
    return diagnosis.diagnose(container, { seen, repairs: 0, nowMs: 0 }).cause;
  };

  test('without the file: unknown writer', () => {
    rmSync(unitsLoadedFile, { force: true });
    expect(explain(onSystemd)).toBe('unknown-writer');
  });

  test.each`
    name                                       | agoS     | cause
    ${'just now: systemd reload'}              | ${0.5}   | ${'systemd-reload'}
    ${'an hour ago: unknown writer'}           | ${3_600} | ${'unknown-writer'}
    ${'an hour in the future: unknown writer'} | ${-60}   | ${'unknown-writer'}
  `('touched $name', ({ agoS, cause }: { agoS: number; cause: string }) => {
    writeFileSync(unitsLoadedFile, '');
    const atS = Date.now() / 1000 - agoS;
    utimesSync(unitsLoadedFile, atS, atS);
    expect(explain(onSystemd)).toBe(cause);
    expect(explain(containerAt('/kubepods/podp/c'))).toBe('unknown-writer');
  });
});

test('a CPU that left all cpusets counts as offline, also while the kernel lists it as online', () => {
  const diagnosis = new DriftDiagnosis({
    model,
    cgroups: containerCgroups(cgroups, model),
    hasStaticKubelet: () => false,
  });
  const left = { ...seen, cpus: parseCpuList('2'), effective: parseCpuList('2') };
  const explain = (active: string) =>
    diagnosis.diagnose(containerAt('/a'), { seen: { ...left, active: parseCpuList(active) }, repairs: 0, nowMs: 0 });
  expect(explain('0-2,4-7')).toEqual({ cause: 'cpu-offline', because: 'CPUs 3 went offline' });
  expect(explain('0-7').cause).toBe('unknown-writer');
});

test('process names are read after an undone repair, at most every 30 s', () => {
  let reads = 0;
  const names = () => {
    reads++;
    return new Set(['systemd', 'koordlet', 'node']);
  };
  const diagnosis = new DriftDiagnosis({
    model,
    cgroups: containerCgroups(cgroups, model),
    hasStaticKubelet: () => false,
    listProcessNames: names,
  });
  const explain = (repairs: number, nowMs: number) =>
    diagnosis.diagnose(containerAt('/kubepods/podp/c'), { seen, repairs, nowMs });
  expect(explain(0, 0).cause).toBe('unknown-writer');
  expect(reads).toBe(0);
  for (const nowMs of [0, 10, 29_999]) expect(explain(3, nowMs).because).toMatch(/koordlet/);
  expect(reads).toBe(1);
  explain(3, 30_000);
  expect(reads).toBe(2);
});

test('the process names are those of the kernel, and none for a folder without processes', () => {
  expect([...listProcessNames()].some((name) => /node|jest/.test(name))).toBe(true);
  expect(listProcessNames(folder)).toEqual(new Set());
});
