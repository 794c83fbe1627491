import { pino } from 'pino';
import { LiveOptions, loadConfig, type Loaded, type LoadedConfig } from '../../../src/app/config';
import { RunningSettings } from '../../../src/app/config/running-settings';
import { toSettings } from '../../../src/app/config/settings';
import { withReservation } from '../../../src/app/node/kubelet-reservation';
import { Reloader } from '../../../src/app/reload/reloader';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { Transaction } from '../../../src/app/transaction/transaction';
import { NodeModel } from '../../../src/core/model/node-model';
import { buildTopology } from '../../../src/core/topology';
import type { Cgroups } from '../../../src/host';
import type { KubeletConfig } from '../../../src/kube/kubelet/kubelet-config';
import { machineOf, without } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

const log = pino({ level: 'silent' });
const machine = machineOf(4, 2);

async function load(options: Readonly<Record<string, string>>): Promise<LoadedConfig> {
  const flags = Object.fromEntries(Object.entries(options).map(([name, value]) => [name, [value]]));
  return loadConfig({ flags, env: {} });
}

/** A daemon that runs with these options on a machine of 8 CPUs. */
async function startWith(options: Readonly<Record<string, string>>, kubelet?: KubeletConfig) {
  const loaded = (await load(options)) as Loaded;
  const config = withReservation(loaded.config, kubelet);
  const model = new NodeModel(machine, toSettings(config, machine));
  const lines: { readonly msg: string }[] = [];
  const context = contextOf({
    model,
    cgroups: {} as Cgroups,
    log: pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line) as { msg: string }) }),
  });
  const done: Transaction[] = [];
  const transactor = new Transactor({
    model,
    mover: { move: () => undefined },
    save: () => undefined,
    now: context.now,
    log,
    observer: { onTransaction: (each) => done.push(each) },
  });
  const live = new LiveOptions(loaded);
  let reported = kubelet;
  const followed: unknown[] = [];
  context.events.on('optionsChanged', 'following', (config) => followed.push(config));
  const files: (() => Promise<LoadedConfig>)[] = [];
  const reloader = new Reloader({
    context,
    transactor,
    options: live,
    rules: new RunningSettings(config, machine),
    load: () => files.shift()!(),
    withReservation: (each) => withReservation(each, reported),
  });
  const report = (config: KubeletConfig): void => void (reported = config);
  const change = async (to: Readonly<Record<string, string>>): Promise<void> => {
    files.push(() => load(to));
    await reloader.reload();
  };
  const alarms = (): readonly string[] => context.alarms.list().map(({ kind, because }) => `${kind}: ${because}`);
  return { model, live, change, tell: report, alarms, done, followed, lines, reloader, files };
}

test('options that differ are taken over in one transaction, which reports them', async () => {
  const { model, change, done, followed, alarms } = await startWith({ 'reserved-cpus': '0' });
  await change({ 'reserved-cpus': '0-1', 'cpu-manager-policy': 'none', 'log-level': 'warn' });
  expect(model.settings.reserved.toString()).toBe('0-1');
  expect(model.settings.cpuManagerPolicy).toBe('none');
  expect(done.map(({ event, reported }) => ({ event, reported }))).toEqual([
    {
      event: 'internal',
      reported: [
        {
          kind: 'settings-changed',
          changes: [
            { option: 'cpu-manager-policy', from: 'static', to: 'none' },
            { option: 'reserved-cpus', from: '0', to: '0-1' },
            { option: 'log-level', from: 'info', to: 'warn' },
          ],
        },
      ],
    },
  ]);
  expect(followed).toMatchObject([{ logLevel: 'warn' }]);
  expect(alarms()).toEqual([]);
});

test('an option that decides no placement is reported without new rules', async () => {
  const { model, change, done } = await startWith({ 'reserved-cpus': '0' });
  const { settings } = model;
  await change({ 'reserved-cpus': '0', 'log-level': 'warn' });
  expect(model.settings).toBe(settings);
  expect(done).toHaveLength(1);
});

test('options with a fault change nothing, and the alarm ends with options that are right', async () => {
  const { model, change, done, followed, alarms, live } = await startWith({ 'reserved-cpus': '0' });
  const { settings } = model;
  await change({ 'reserved-cpus': '0-1', 'log-level': 'loud' });
  expect([model.settings, done, followed, live.config.reservedCpus?.toString()]).toEqual([settings, [], [], '0']);
  expect(alarms()).toEqual([
    'config-refused: the options were read again and can\'t be taken, so nothing was changed: --log-level: "loud" is not a known value; choose one of trace, debug, info, warn, error, fatal',
  ]);
  await change({ 'reserved-cpus': '0' });
  expect(alarms()).toEqual([]);
});

test('options that this machine can not have change nothing', async () => {
  const { model, change, done, alarms } = await startWith({ 'reserved-cpus': '0' });
  await change({ 'reserved-cpus': '0-9', 'min-shared-cpus': '3' });
  expect([model.settings.minSharedCpus, done]).toEqual([1, []]);
  expect(alarms()).toEqual([expect.stringMatching(/^config-refused: .*nothing was changed: --reserved-cpus 0-9: /)]);
});

test('options that need a restart are told once, and again when they are others', async () => {
  const { change, live, lines, done } = await startWith({ 'reserved-cpus': '0' });
  const reported = () => lines.filter(({ msg }) => msg.startsWith('options were changed that need a restart')).length;
  const given = { 'reserved-cpus': '0', 'state-dir': '/elsewhere' };
  await change(given);
  await change(given);
  expect([reported(), live.config.stateDir, done]).toEqual([1, '/var/lib/cpusetd', []]);
  await change({ ...given, 'state-dir': '/other' });
  expect(reported()).toBe(2);
  expect(live.pending).toMatchObject([{ option: 'state-dir', inForce: '/var/lib/cpusetd', configured: '/other' }]);
});

test('a reservation that is taken away leaves that of the kubelet', async () => {
  const kubelet = {
    cpuManagerPolicy: 'none',
    reservedSystemCPUs: '2',
    reservedSystemCpus: '2',
    reservedMilliCpu: 0,
  } as const;
  const options = { 'kubelet-config': '/etc/kubelet.yaml' };
  const { model, change } = await startWith({ ...options, 'reserved-cpus': '0' }, kubelet);
  await change(options);
  expect(model.settings.reserved.toString()).toBe('2');
  await change({ ...options, 'reserved-cpus': '1' });
  expect(model.settings.reserved.toString()).toBe('1');
});

test('requests while options are read lead to one more reading, and the last file counts', async () => {
  const { model, reloader, files } = await startWith({ 'reserved-cpus': '0' });
  let read: () => void = () => undefined;
  let readings = 0;
  files.push(async () => {
    readings++;
    await new Promise<void>((resolve) => (read = resolve));
    return load({ 'reserved-cpus': '1' });
  });
  for (const list of ['2', '3'])
    files.push(() => {
      readings++;
      return load({ 'reserved-cpus': list });
    });
  const all = [reloader.reload(), reloader.reload(), reloader.reload()];
  read();
  await Promise.all(all);
  expect([readings, model.settings.reserved.toString()]).toEqual([2, '2']);
});

test('a fault in reading is contained, and the next reading works', async () => {
  const { model, reloader, files } = await startWith({ 'reserved-cpus': '0' });
  files.push(
    () => Promise.reject(new TypeError('a fault')),
    () => load({ 'reserved-cpus': '1' }),
  );
  await reloader.reload();
  expect(model.settings.reserved.toString()).toBe('0');
  await reloader.reload();
  expect(model.settings.reserved.toString()).toBe('1');
});

describe('with a reserved CPU offline', () => {
  const setOnline = (model: NodeModel, offline: string): void =>
    void model.apply({ kind: 'set-topology', topology: without(machine, offline) });

  test.each([
    ['a list', { 'reserved-cpus': '0,4' }],
    ['a count', { 'reserved-cpu-count': '2' }],
  ])('%s stays as it was decided, and another option is taken', async (_name, reservation) => {
    const { model, change, alarms } = await startWith({ ...reservation });
    setOnline(model, '4');
    await change({ ...reservation, 'min-shared-cpus': '2' });
    expect([model.settings.reserved.toString(), model.settings.minSharedCpus, alarms()]).toEqual(['0,4', 2, []]);
  });

  test('the reservation of the kubelet stays as it was decided, also when what it says now can not be had', async () => {
    const kubelet = { cpuManagerPolicy: 'none', reservedMilliCpu: 2_000 } as const;
    const given = { 'kubelet-config': '/etc/kubelet.yaml' };
    const { model, change, alarms, tell: report } = await startWith(given, kubelet);
    setOnline(model, '4');
    report({ ...kubelet, reservedMilliCpu: 64_000 });
    await change({ ...given, 'min-shared-cpus': '2' });
    expect([model.settings.reserved.toString(), model.settings.minSharedCpus, alarms()]).toEqual(['0,4', 2, []]);
  });

  test.each([
    ['more: the reserved ones stay', '3', '0-1,4'],
    ['fewer: some of the reserved ones', '1', '0'],
  ])('another number is chosen on the machine with all its CPUs, %s', async (_name, count, reserved) => {
    const { model, change } = await startWith({ 'reserved-cpu-count': '2' });
    setOnline(model, '4');
    await change({ 'reserved-cpu-count': count });
    expect(model.settings.reserved.toString()).toBe(reserved);
  });

  test('a number that is the size of a list keeps the CPUs of the list', async () => {
    const { model, change } = await startWith({ 'reserved-cpus': '1,5' });
    setOnline(model, '5');
    await change({ 'reserved-cpu-count': '2' });
    expect(model.settings.reserved.toString()).toBe('1,5');
  });

  test('CPUs that are offline can be listed, and leaving only those that are offline is not leaving none', async () => {
    const { model, change, alarms } = await startWith({ 'reserved-cpus': '0' });
    setOnline(model, '4');
    await change({ 'reserved-cpus': '0-3,5-7' });
    expect([model.settings.reserved.toString(), alarms()]).toEqual(['0-3,5-7', []]);
    await change({ 'reserved-cpus': '0-7' });
    expect(alarms()).toEqual([expect.stringContaining('all 8 CPUs are reserved')]);
  });

  test('an option that the machine allowed at the start is not asked about again', async () => {
    const options = { 'reserved-cpus': '0', 'cpu-manager-policy-options': 'align-by-socket=true' };
    const { model, change, alarms } = await startWith(options);
    const cpus = machine.cpus.map((cpu) => ({ ...cpu, socket: cpu.core % 2 }));
    model.apply({
      kind: 'set-topology',
      topology: buildTopology({ cpus: [...cpus, { ...cpus[0]!, id: 8, core: 8 }] }),
    });
    await change({ ...options, 'min-shared-cpus': '2' });
    expect([model.settings.minSharedCpus, alarms()]).toEqual([2, []]);
    await change({ 'reserved-cpus': '0' });
    await change(options);
    expect(alarms()).toEqual([expect.stringContaining('align-by-socket needs')]);
  });
});

test('options that the machine could not have are tried again when it has changed, and the alarm ends', async () => {
  const { model, change, alarms, reloader, files } = await startWith({ 'reserved-cpus': '0' });
  const wanted = { 'reserved-cpus': '0,8' };
  await change(wanted);
  expect(alarms()).toHaveLength(1);
  model.apply({ kind: 'set-topology', topology: machineOf(9, 1) });
  files.push(() => load(wanted));
  await reloader.retry();
  expect([model.settings.reserved.toString(), alarms()]).toEqual(['0,8', []]);
  await reloader.retry(); // nothing is read: there is no other file
});

test('a reservation left to the kubelet, which asks for what is not there, is taken when the kubelet asks for something else', async () => {
  const bad = { cpuManagerPolicy: 'none', reservedMilliCpu: 0, reservedSystemCpus: '9' } as const;
  const given = { 'kubelet-config': '/etc/kubelet.yaml' };
  const {
    model,
    change,
    alarms,
    reloader,
    files,
    tell: report,
  } = await startWith({ ...given, 'reserved-cpus': '0' }, bad);
  await change(given);
  expect([model.settings.reserved.toString(), alarms()]).toEqual(['0', [expect.stringContaining('CPUs 9')]]);
  report({ ...bad, reservedSystemCpus: '1' });
  files.push(() => load(given));
  await reloader.retry();
  expect([model.settings.reserved.toString(), alarms()]).toEqual(['1', []]);
});

describe('the kill switch', () => {
  const enforced = {
    'reserved-cpus': '0',
    kubeconfig: '/etc/kube',
    'collect-interval': '5s',
    'qos-actions': 'enforce',
  };

  test('a machine that can not have other options does not hold it back', async () => {
    const { live, change, alarms, followed, done } = await startWith(enforced);
    await change({ ...enforced, 'reserved-cpus': '0,99', 'qos-actions': 'off' });
    expect(live.config.qosActions).toBe('off');
    expect(followed).toMatchObject([{ qosActions: 'off' }]);
    expect(done.flatMap(({ reported }) => reported)).toEqual([
      { kind: 'settings-changed', changes: [{ option: 'qos-actions', from: 'enforce', to: 'off' }] },
    ]);
    expect(alarms()).toEqual([
      expect.stringMatching(/can't be taken, so only qos-actions was switched off: --reserved-cpus 0,99: /),
    ]);
  });

  test('options that fit only together with one that needs a restart do not hold it back', async () => {
    const { kubeconfig, ...local } = { ...enforced, 'qos-actions': 'preview' };
    const { live, change, alarms } = await startWith(local);
    await change({ ...local, kubeconfig, 'kube-events': 'on', 'min-shared-cpus': '2', 'qos-actions': 'off' });
    expect(live.config).toMatchObject({ qosActions: 'off', kubeEvents: false, minSharedCpus: 1 });
    expect(live.pending.map(({ option }) => option)).toEqual(['min-shared-cpus', 'kube-events', 'kubeconfig']);
    expect(alarms()).toEqual([]);
  });

  test('switching on again is held back as every other option is', async () => {
    const { live, change } = await startWith({ ...enforced, 'qos-actions': 'off' });
    await change({ ...enforced, 'log-level': 'loud' });
    expect(live.config.qosActions).toBe('off');
  });
});
