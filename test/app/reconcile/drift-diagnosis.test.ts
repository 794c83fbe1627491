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
const cgroups = { readCpus: () => ({ kind: 'gone' }) } as unknown as Cgroups; // no parent to be narrower
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

describe('a reload of systemd is told by the file that it touches then', () => {
  const explain = (container: Container) => {
    const diagnosis = new DriftDiagnosis({
      model,
      cgroups: containerCgroups(cgroups, model),
      hasStaticKubelet: () => false,
      unitsLoadedFile,
    });
    return diagnosis.diagnose(container, { seen, repairs: 0, nowMs: 0 }).cause;
  };

  test('where there is none, nothing is told', () => {
    rmSync(unitsLoadedFile, { force: true });
    expect(explain(onSystemd)).toBe('unknown-writer');
  });

  test.each`
    name                         | agoS     | cause
    ${'just now'}                | ${0.5}   | ${'systemd-reload'}
    ${'an hour ago'}             | ${3_600} | ${'unknown-writer'}
    ${'in an hour, by its time'} | ${-60}   | ${'unknown-writer'}
  `('touched $name', ({ agoS, cause }: { agoS: number; cause: string }) => {
    writeFileSync(unitsLoadedFile, '');
    const atS = Date.now() / 1000 - agoS;
    utimesSync(unitsLoadedFile, atS, atS);
    expect(explain(onSystemd)).toBe(cause);
    expect(explain(containerAt('/kubepods/podp/c'))).toBe('unknown-writer');
  });
});

test('a CPU that the kernel has taken out of cpusets is going offline, also before the kernel calls it so', () => {
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

test('who runs on the node is looked up when a repair was undone, and not each time', () => {
  let looked = 0;
  const names = () => {
    looked++;
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
  expect(looked).toBe(0);
  for (const nowMs of [0, 10, 29_999]) expect(explain(3, nowMs).because).toMatch(/koordlet/);
  expect(looked).toBe(1);
  explain(3, 30_000);
  expect(looked).toBe(2);
});

test('the names of processes are the kernel’s', () => {
  expect([...listProcessNames()].some((name) => /node|jest/.test(name))).toBe(true);
  expect(listProcessNames(folder)).toEqual(new Set());
});
