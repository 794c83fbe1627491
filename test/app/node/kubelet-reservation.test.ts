import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { loadConfig, type Config } from '../../../src/app/config';
import { loadKubeletConfig } from '../../../src/app/node/kubelet-config-cache';
import { Kubelet, adoptReservation, withReservation } from '../../../src/app/node/kubelet-reservation';
import { RunningSettings } from '../../../src/app/config/running-settings';
import { toSettings } from '../../../src/app/config/settings';
import { KubeletCpuManagerWatch } from '../../../src/app/node/kubelet-cpu-manager';
import { Transactor } from '../../../src/app/transaction/transactor';
import { NodeModel } from '../../../src/core/model/node-model';
import type { KubeletConfig } from '../../../src/kube/kubelet/kubelet-config';
import type { Cgroups } from '../../../src/host';
import { machineOf, NodeDriver, without } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

const log = pino({ level: 'silent' });
let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'reservation-'))));
afterEach(() => rmSync(dir, { recursive: true }));

async function configOf(options: Record<string, string> = {}): Promise<Config> {
  const given = { 'kubelet-config': join(dir, 'config.yaml'), 'state-dir': dir, ...options };
  const flags = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, [value]]));
  const loaded = await loadConfig({ flags, env: {} });
  if (!loaded.ok) throw new Error(loaded.problems.join());
  return loaded.config;
}
const write = (text: string): void => writeFileSync(join(dir, 'config.yaml'), text);
/** YAML in which each alias stands for nine others. */
function aliasBomb(): string {
  const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`);
  return `kind: KubeletConfiguration\na0: &a0 [x]\n${levels.join('\n')}\n`;
}
const reservedBy = (config: Config, kubelet?: KubeletConfig): string =>
  toSettings(withReservation(config, kubelet), machineOf(4, 2)).reserved.toString();

test.each([
  ['reservedSystemCPUs: these CPUs', 'reservedSystemCPUs: 2,6', '2,6'],
  [
    'kubeReserved and systemReserved: the sum, rounded up to whole CPUs',
    'kubeReserved: {cpu: 600m}\nsystemReserved: {cpu: 600m}',
    '0,4',
  ],
  ['nothing reserved: one CPU, because the static policy needs one', 'maxPods: 110', '0'],
])('the reservation in the kubelet’s file, %s', async (_name, text, reserved) => {
  write(`apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${text}\n`);
  const config = await configOf();
  expect(reservedBy(config, await loadKubeletConfig(config, { log }))).toBe(reserved);
});

test('--reserved-cpus overrides the kubelet’s reservation', async () => {
  write('kind: KubeletConfiguration\nreservedSystemCPUs: 2,6\n');
  const config = await configOf({ 'reserved-cpus': '1' });
  expect(reservedBy(config, await loadKubeletConfig(config, { log }))).toBe('1');
});

test.each([
  [
    'missing',
    undefined,
    /no such file; no CPU is reserved without it: name the configuration file of the kubelet, or set --reserved-cpus$/,
  ],
  [
    'a resource that no kubelet reserves',
    'kind: KubeletConfiguration\nkubeReserved: {gpu: 1}',
    /kubelet-config \S+: kubeReserved names "gpu"; the kubelet reserves only cpu, memory/,
  ],
  ['another kind', 'kind: Pod', /it is not a KubeletConfiguration/],
  ['no YAML', '{{{', /kubelet-config/],
  ['too large', `kind: KubeletConfiguration\n#${' '.repeat(1 << 16)}`, /is larger than 64 KiB/],
  ['exponential aliases', aliasBomb(), /[Aa]lias/],
  // Deeper nesting overflows the stack of the YAML parser and would end the process.
  ['lists nested too deep', `kind: KubeletConfiguration\na: ${'['.repeat(60_000)}`, /nested deeper than 32 levels/],
  ['dashes nested too deep', '- '.repeat(30_000), /nested deeper than 32 levels/],
  ['keys nested too deep', '? '.repeat(30_000), /nested deeper than 32 levels/],
])('an unusable kubelet file without --reserved-cpus stops the start: %s', async (_name, text, problem) => {
  if (text !== undefined) write(text);
  await expect(loadKubeletConfig(await configOf(), { log })).rejects.toThrow(problem);
  expect(await loadKubeletConfig(await configOf({ 'reserved-cpus': '0' }), { log })).toBeUndefined();
});

test('an unusable kubelet file with --reserved-cpus is a warning that nothing is compared with it', async () => {
  const lines: string[] = [];
  const warnings = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  expect(await loadKubeletConfig(await configOf({ 'reserved-cpus': '0' }), { log: warnings })).toBeUndefined();
  expect(lines).toEqual([
    expect.stringMatching(
      /config.yaml: .*no such file; name the configuration file of the kubelet, or leave the option out.*nothing is compared with it/,
    ),
  ]);
});

test('under the policy none the kubelet’s file is needed as soon as pods may choose a policy', async () => {
  const none = { 'cpu-manager-policy': 'none' };
  expect(await loadKubeletConfig(await configOf(none))).toBeUndefined();
  await expect(loadKubeletConfig(await configOf({ ...none, 'pod-policies': 'exclusive' }))).rejects.toThrow(
    /no CPU is reserved without it/,
  );
});

test.each([
  [
    'kubeReserved: {cpu: 3001m}\nsystemReserved: {cpu: 4}',
    /^the kubelet's kubeReserved and systemReserved of 7001m CPU: all 8/,
  ],
  ['reservedSystemCPUs: 9,1', /^the kubelet's reservedSystemCPUs 9,1: /],
])('a kubelet reservation that does not fit the node is quoted in the error: %s', async (text, problem) => {
  write(`kind: KubeletConfiguration\n${text}\n`);
  const config = await configOf();
  const found = await loadKubeletConfig(config);
  expect(() => toSettings(withReservation(config, found), machineOf(4, 2))).toThrow(problem);
});

test('a FIFO as the kubelet’s file is an error, and the start does not hang', async () => {
  spawnSync('mkfifo', [join(dir, 'config.yaml')]);
  await expect(loadKubeletConfig(await configOf(), { log })).rejects.toThrow(/is not a regular file/);
});

test('a kubelet reservation that is no CPU list stops the start', async () => {
  write('kind: KubeletConfiguration\nreservedSystemCPUs: all\n');
  const config = await configOf();
  expect(() =>
    reservedBy(config, { cpuManagerPolicy: 'none', reservedSystemCpus: 'all', reservedMilliCpu: 0 }),
  ).toThrow(/"all" is not a CPU list/);
});

describe('with --kubelet-config configz', () => {
  const configz = () => configOf({ 'kubelet-config': 'configz', kubeconfig: '/somewhere' });

  function adopt(given: Config, model: NodeModel, alarms: Alarms, found: KubeletConfig): void {
    const transactor = new Transactor({
      model,
      save: () => undefined,
      mover: { move: () => undefined },
      now: () => '',
      log,
    });
    const rules = new RunningSettings(withReservation(given, undefined), model.topology);
    const context = contextOf({ model, alarms, cgroups: {} as Cgroups });
    const manager = new KubeletCpuManagerWatch(dir, alarms);
    new Kubelet({ context, transactor, given: () => given, rules, manager }).accept(found);
  }
  const alarmsOf = (): Alarms => new Alarms({ log, now: () => '', onChange: () => undefined });

  test('one CPU is reserved until the kubelet answers; then its reservation is adopted and cached', async () => {
    const given = await configz();
    expect(await loadKubeletConfig(given, { log })).toBeUndefined();
    const topology = machineOf(4, 2);
    const model = new NodeModel(topology, toSettings(withReservation(given, undefined), topology));
    expect(model.settings.reserved.toString()).toBe('0');
    const alarms = alarmsOf();
    const found: KubeletConfig = { cpuManagerPolicy: 'none', reservedSystemCpus: '0-1', reservedMilliCpu: 0 };
    adopt(given, model, alarms, found);
    expect(model.settings.reserved.toString()).toBe('0-1');
    expect(alarms.list()).toEqual([]);
    expect(await loadKubeletConfig(given, { log })).toEqual(found);
  });

  test.each<[string, Record<string, string>]>([
    ['with the kubelet’s reservation', {}],
    ['with --reserved-cpus', { 'reserved-cpus': '0' }],
  ])('the whole answer is cached, also the parts that are only published: %s', async (_name, own) => {
    const given = await configOf({ 'kubelet-config': 'configz', kubeconfig: '/somewhere', ...own });
    const topology = machineOf(4, 2);
    const model = new NodeModel(topology, toSettings(withReservation(given, undefined), topology));
    const found: KubeletConfig = {
      cpuManagerPolicy: 'none',
      reservedMilliCpu: 500,
      reserved: { memory: 2 ** 30, pid: 100 },
      evictionMemory: '5%',
      reservedMemory: { 0: 2 ** 30, 1: 5 },
      cgroupRoot: '/system',
      cgroupDriver: 'systemd',
      cgroupsPerQos: false,
    };
    adopt(given, model, alarmsOf(), found);
    expect(await loadKubeletConfig(given)).toEqual(found);
  });

  test('a reservation that differs from --reserved-cpus is an alarm until they agree', async () => {
    const given = await configOf({ 'kubelet-config': 'configz', kubeconfig: '/somewhere', 'reserved-cpus': '0' });
    const topology = machineOf(4, 2);
    const model = new NodeModel(topology, toSettings(given, topology));
    const alarms = alarmsOf();
    adopt(given, model, alarms, { cpuManagerPolicy: 'none', reservedSystemCpus: '0-1', reservedMilliCpu: 0 });
    expect(alarms.list()).toMatchObject([
      {
        kind: 'kubelet-reservation',
        because: expect.stringMatching(/the kubelet reserves CPUs 0-1, cpusetd CPUs 0: /),
      },
    ]);
    adopt(given, model, alarms, { cpuManagerPolicy: 'none', reservedMilliCpu: 2000 });
    expect(alarms.list()).toMatchObject([{ because: expect.stringMatching(/reserves 2000m CPU/) }]);
    adopt(given, model, alarms, { cpuManagerPolicy: 'none', reservedMilliCpu: 900 });
    expect(alarms.list()).toEqual([]);
    expect(model.settings.reserved.toString()).toBe('0');
  });

  test('an internal fault while adopting a reservation is thrown, and is no alarm about the kubelet', async () => {
    const given = await configz();
    const topology = machineOf(4, 2);
    const model = new NodeModel(topology, toSettings(withReservation(given, undefined), topology));
    const alarms = alarmsOf();
    const found: KubeletConfig = { cpuManagerPolicy: 'none', reservedSystemCpus: '0-1', reservedMilliCpu: 0 };
    const transactor = {
      change: () => {
        throw new TypeError('x is undefined');
      },
    };
    const rules = new RunningSettings(withReservation(given, undefined), topology);
    expect(() => adoptReservation({ given, found, rules, model, transactor, alarms, log })).toThrow(TypeError);
    expect(alarms.list()).toEqual([]);
  });

  test('a reservation that can’t be adopted changes nothing and is an alarm', async () => {
    const given = await configz();
    const topology = machineOf(4, 2);
    const model = new NodeModel(topology, toSettings(withReservation(given, undefined), topology));
    const alarms = alarmsOf();
    adopt(given, model, alarms, { cpuManagerPolicy: 'none', reservedSystemCpus: '0-7', reservedMilliCpu: 0 });
    expect(model.settings.reserved.toString()).toBe('0');
    expect(alarms.list()).toMatchObject([
      { because: expect.stringMatching(/can't be taken over: .*all 8 online CPUs/) },
    ]);
  });

  /** A node of 8 CPUs whose kubelet reserves so much. */
  async function follow(milliCpu: number) {
    const given = await configz();
    const driver = new NodeDriver(machineOf(4, 2), { reserved: '0' });
    const alarms = alarmsOf();
    const context = contextOf({ model: driver.model, alarms, cgroups: {} as Cgroups });
    const rules = new RunningSettings(withReservation(given, undefined), driver.model.topology);
    const manager = new KubeletCpuManagerWatch(dir, alarms);
    const kubelet = new Kubelet({ context, transactor: driver, given: () => given, rules, manager });
    const answer = (found: Partial<KubeletConfig>): string => {
      kubelet.accept({ cpuManagerPolicy: 'none', reservedMilliCpu: milliCpu, ...found });
      return driver.model.settings.reserved.toString();
    };
    return { driver, kubelet, tell: answer, alarms: () => alarms.list().map(({ because }) => because) };
  }

  test('a poll that brings the same numbers changes nothing, whatever CPUs are online', async () => {
    const { driver, tell: answer, alarms } = await follow(2_000);
    driver.model.apply({ kind: 'set-synchronized', synchronized: true });
    expect(answer({})).toBe('0,4');
    driver.run('make p/app 2');
    driver.setTopology(without(machineOf(4, 2), '4'));
    const { state } = driver;
    expect([answer({}), driver.state, alarms()]).toEqual(['0,4', state, []]);
    driver.setTopology(machineOf(4, 2));
    expect([answer({}), alarms()]).toEqual(['0,4', []]);
  });

  test('another number is taken over, and keeps the CPUs that are reserved, offline ones too', async () => {
    const { driver, tell: answer, alarms } = await follow(2_000);
    answer({});
    driver.setTopology(without(machineOf(4, 2), '4'));
    expect([answer({ reservedMilliCpu: 3_000 }), alarms()]).toEqual(['0-1,4', []]);
    expect([answer({ reservedMilliCpu: 1_000 }), alarms()]).toEqual(['0', []]);
  });

  test('a list with a CPU that is not there is taken over as soon as it is', async () => {
    const { driver, kubelet, tell: answer, alarms } = await follow(2_000);
    expect(answer({ reservedSystemCpus: '0,8' })).toBe('0');
    expect(alarms()).toEqual([expect.stringMatching(/can't be taken over: .*8 not online/)]);
    driver.setTopology(machineOf(9, 1));
    kubelet.adoptAgain();
    expect([driver.model.settings.reserved.toString(), alarms()]).toEqual(['0,8', []]);
  });
});
