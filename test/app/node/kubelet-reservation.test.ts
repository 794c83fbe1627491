import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { loadConfig, type Config } from '../../../src/app/config';
import { loadKubeletConfig } from '../../../src/app/node/kubelet-config-cache';
import { adoptReservation, withReservation } from '../../../src/app/node/kubelet-reservation';
import { toSettings } from '../../../src/app/config/settings';
import { Transactor } from '../../../src/app/transaction/transactor';
import { NodeModel } from '../../../src/core/model/node-model';
import type { KubeletConfig } from '../../../src/kube/kubelet/kubelet-config';
import { machineOf } from '../../core/transition/node-driver';

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
/** Nine aliases of nine aliases, and so on. */
function aliasBomb(): string {
  const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`);
  return `kind: KubeletConfiguration\na0: &a0 [x]\n${levels.join('\n')}\n`;
}
const reservedBy = (config: Config, kubelet?: KubeletConfig): string =>
  toSettings(withReservation(config, kubelet), machineOf(4, 2)).reserved.toString();

test.each([
  ['a list is taken as it is', 'reservedSystemCPUs: 2,6', '2,6'],
  [
    'counts are added, rounded up, and the CPUs chosen',
    'kubeReserved: {cpu: 600m}\nsystemReserved: {cpu: 600m}',
    '0,4',
  ],
  ['nothing reserved: one CPU, since the policy needs it', 'maxPods: 110', '0'],
])('of the file: %s', async (_name, text, reserved) => {
  write(`apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${text}\n`);
  const config = await configOf();
  expect(reservedBy(config, await loadKubeletConfig(config, { log }))).toBe(reserved);
});

test('a reservation of our own wins', async () => {
  write('kind: KubeletConfiguration\nreservedSystemCPUs: 2,6\n');
  const config = await configOf({ 'reserved-cpus': '1' });
  expect(reservedBy(config, await loadKubeletConfig(config, { log }))).toBe('1');
});

test.each([
  [
    'it is missing',
    undefined,
    /no such file; no CPU is reserved without it: name the configuration file of the kubelet, or set --reserved-cpus$/,
  ],
  [
    'it reserves what no kubelet does',
    'kind: KubeletConfiguration\nkubeReserved: {gpu: 1}',
    /kubelet-config \S+: kubeReserved names "gpu"; the kubelet reserves only cpu, memory/,
  ],
  ['it is something else', 'kind: Pod', /it is not a KubeletConfiguration/],
  ['it is no YAML', '{{{', /kubelet-config/],
  ['it is too large', `kind: KubeletConfiguration\n#${' '.repeat(1 << 16)}`, /is larger than 64 KiB/],
  ['its aliases grow without end', aliasBomb(), /[Aa]lias/],
  // These ended the process: the YAML library goes down by calls, and V8 can't compile an expression at the end of the stack.
  ['lists are nested too deep', `kind: KubeletConfiguration\na: ${'['.repeat(60_000)}`, /nested deeper than 32 levels/],
  ['dashes are nested too deep', '- '.repeat(30_000), /nested deeper than 32 levels/],
  ['keys are nested too deep', '? '.repeat(30_000), /nested deeper than 32 levels/],
])('without a reservation of our own a file that can’t be used ends the start: %s', async (_name, text, problem) => {
  if (text !== undefined) write(text);
  await expect(loadKubeletConfig(await configOf(), { log })).rejects.toThrow(problem);
  expect(await loadKubeletConfig(await configOf({ 'reserved-cpus': '0' }), { log })).toBeUndefined();
});

test('with a reservation of our own such a file is a warning: the comparison that was asked for is not made', async () => {
  const lines: string[] = [];
  const told = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  expect(await loadKubeletConfig(await configOf({ 'reserved-cpus': '0' }), { log: told })).toBeUndefined();
  expect(lines).toEqual([
    expect.stringMatching(
      /config.yaml: .*no such file; name the configuration file of the kubelet, or leave the option out.*nothing is compared with it/,
    ),
  ]);
});

test('under the policy none the reservation hangs on the file as soon as pods may choose', async () => {
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
])('a reservation of the kubelet that does not fit is quoted as it has it: %s', async (text, problem) => {
  write(`kind: KubeletConfiguration\n${text}\n`);
  const config = await configOf();
  const found = await loadKubeletConfig(config);
  expect(() => toSettings(withReservation(config, found), machineOf(4, 2))).toThrow(problem);
});

test('a FIFO in its place does not hang the start', async () => {
  spawnSync('mkfifo', [join(dir, 'config.yaml')]);
  await expect(loadKubeletConfig(await configOf(), { log })).rejects.toThrow(/is not a regular file/);
});

test('a list that is none ends the start', async () => {
  write('kind: KubeletConfiguration\nreservedSystemCPUs: all\n');
  const config = await configOf();
  expect(() =>
    reservedBy(config, { cpuManagerPolicy: 'none', reservedSystemCpus: 'all', reservedMilliCpu: 0 }),
  ).toThrow(/"all" is not a CPU list/);
});

describe('asked through the API server', () => {
  const configz = () => configOf({ 'kubelet-config': 'configz', kubeconfig: '/somewhere' });

  function adopt(given: Config, model: NodeModel, alarms: Alarms, found: KubeletConfig): void {
    const transactor = new Transactor({
      model,
      save: () => undefined,
      mover: { move: () => undefined },
      now: () => '',
      log,
    });
    adoptReservation({ given, found, model, transactor, alarms, log });
  }
  const alarmsOf = (): Alarms => new Alarms({ log, now: () => '', onChange: () => undefined });

  test('one CPU is kept until the kubelet has answered; the answer is taken over and remembered', async () => {
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
    ['the kubelet’s reservation of CPUs', {}],
    ['one of our own', { 'reserved-cpus': '0' }],
  ])('all of the answer is remembered, also what is published only; with %s', async (_name, own) => {
    const given = await configOf({ 'kubelet-config': 'configz', kubeconfig: '/somewhere', ...own });
    const topology = machineOf(4, 2);
    const model = new NodeModel(topology, toSettings(withReservation(given, undefined), topology));
    const found: KubeletConfig = {
      cpuManagerPolicy: 'none',
      reservedMilliCpu: 500,
      reserved: { memory: 2 ** 30, pid: 100 },
      evictionMemory: '5%',
      reservedMemory: { 0: 2 ** 30, 1: 5 },
    };
    adopt(given, model, alarmsOf(), found);
    expect(await loadKubeletConfig(given)).toEqual(found);
  });

  test('a difference to our own is an alarm as long as it lasts', async () => {
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

  test('a fault of our own in taking it over is no alarm about the kubelet', async () => {
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
    expect(() => adoptReservation({ given, found, model, transactor, alarms, log })).toThrow(TypeError);
    expect(alarms.list()).toEqual([]);
  });

  test('a reservation that can’t be taken over leaves what is, and is told', async () => {
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
});
