import { pino } from 'pino';
import { LiveOptions, loadConfig, type Loaded, type LoadedConfig } from '../../../src/app/config';
import { toSettings } from '../../../src/app/config/settings';
import { withReservation } from '../../../src/app/node/kubelet-reservation';
import { Reloader } from '../../../src/app/reload/reloader';
import { Transactor } from '../../../src/app/transaction/transactor';
import type { Transaction } from '../../../src/app/transaction/transaction';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Cgroups } from '../../../src/host';
import type { KubeletConfig } from '../../../src/kube/kubelet/kubelet-config';
import { machineOf } from '../../core/transition/node-driver';
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
  const model = new NodeModel(machine, toSettings(withReservation(loaded.config, kubelet), machine));
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
  const followed: unknown[] = [];
  context.events.on('optionsChanged', 'following', (config) => followed.push(config));
  const files: (() => Promise<LoadedConfig>)[] = [];
  const reloader = new Reloader({
    context,
    transactor,
    options: live,
    load: () => files.shift()!(),
    withReservation: (config) => withReservation(config, kubelet),
  });
  const change = async (to: Readonly<Record<string, string>>): Promise<void> => {
    files.push(() => load(to));
    await reloader.reload();
  };
  const alarms = (): readonly string[] => context.alarms.list().map(({ kind, because }) => `${kind}: ${because}`);
  return { model, live, change, alarms, done, followed, lines, reloader, files };
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
  const told = () => lines.filter(({ msg }) => msg.startsWith('options were changed that need a restart')).length;
  const given = { 'reserved-cpus': '0', 'state-dir': '/elsewhere' };
  await change(given);
  await change(given);
  expect([told(), live.config.stateDir, done]).toEqual([1, '/var/lib/cpusetd', []]);
  await change({ ...given, 'state-dir': '/other' });
  expect(told()).toBe(2);
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
