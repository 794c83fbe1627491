import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LiveOptions, loadConfig, nameOf, OPTION_KEYS, OPTIONS, restartReason } from '../../../src/app/config';
import type { Loaded, OptionKey } from '../../../src/app/config';
import { RunningSettings } from '../../../src/app/config/running-settings';
import { toSettings } from '../../../src/app/config/settings';
import { withReservation } from '../../../src/app/node/kubelet-reservation';
import { Reloader } from '../../../src/app/reload/reloader';
import { CpusetdError } from '../../../src/core/errors';
import type { Cgroups } from '../../../src/host';
import { machineOf, NodeDriver, without } from '../../core/transition/node-driver';
import { contextOf } from '../../support/daemon-context';

let folder: string;
beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'options-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type File = Readonly<Record<string, string>>;

const machine = machineOf(4, 2);
const path = (): string => join(folder, 'cpusetd.yaml');
const write = (lines: readonly string[]): void => writeFileSync(path(), lines.map((line) => `${line}\n`).join(''));
const format = (file: File): readonly string[] =>
  Object.entries(file).map(([name, text]) => `${name}: ${JSON.stringify(text)}`);
const load = () => loadConfig({ flags: { config: [path()] }, env: {} });

/** A daemon that has started with this file, while all CPUs were online. */
async function start(file: File) {
  write(format(file));
  const loaded = await load();
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  const config = withReservation(loaded.config, undefined);
  const driver = new NodeDriver(machine);
  driver.model.apply({ kind: 'set-settings', settings: toSettings(config, machine) });
  driver.model.apply({ kind: 'set-synchronized', synchronized: true });
  const context = contextOf({ model: driver.model, cgroups: {} as Cgroups });
  const live = new LiveOptions(loaded);
  const rules = new RunningSettings(config, machine);
  const reloader = new Reloader({
    context,
    transactor: driver,
    options: live,
    rules,
    load,
    withReservation: (each) => withReservation(each, undefined),
  });
  const change = async (lines: readonly string[]): Promise<void> => {
    write(lines);
    await reloader.reload();
  };
  return { driver, live, change, alarms: () => context.alarms.list().map(({ because }) => because) };
}

/** Texts of which each option takes some: a new option whose type takes none of them needs one more here. */
const TEXTS =
  'on off 0 1 2 3 0,4 1-2,5 2s 2h 2Mi 1Gi 5% share refuse follow static exclusive numa all full-pcpus-only=true strict-cpu-reservation=true ' +
  'prefer-closest-numa-nodes=true restricted best-effort pod container debug preview enforce pool=gpu';

/** The texts that the option takes, beside its default. */
function listTexts(key: OptionKey): readonly string[] {
  const { type, default: usual } = OPTIONS[key];
  const offered = type.placeholder.split('|');
  const texts = new Set([...offered, ...TEXTS.split(' ')]);
  return [...texts].filter((text) => text !== usual && type.parse(text).ok);
}

const RESERVATIONS: readonly File[] = [{ 'reserved-cpus': '0,4' }, { 'reserved-cpu-count': '2' }];
const live = OPTION_KEYS.filter((key) => restartReason(key) === undefined);

/** The files that differ from this one in the option, and with which a daemon can start. */
async function* listChanges(base: File, key: OptionKey): AsyncGenerator<File> {
  const { 'reserved-cpus': _list, 'reserved-cpu-count': _count, ...others } = base;
  const rest = key.startsWith('reserved') ? others : base;
  for (const text of listTexts(key)) {
    const file = { ...rest, [nameOf(key)]: text };
    write(format(file));
    const loaded = await load();
    if (loaded.ok && canStart(loaded)) yield file;
  }
}

function canStart({ config, placeOf }: Loaded): boolean {
  try {
    toSettings(config, machine, placeOf);
    return true;
  } catch (error) {
    if (error instanceof CpusetdError) return false;
    throw error;
  }
}

/** The fate of pods that come then, while a reserved CPU is offline and when it is back. */
function decide({ driver }: { readonly driver: NodeDriver }): readonly string[] {
  const decided: string[] = [];
  const run = (history: string): void => {
    for (const step of history.split(';')) {
      driver.run(step);
      decided.push(`${step}: ${driver.reply}; ${driver.state}`);
    }
  };
  run('make a/app 1;make b/app 2;make c/app 3;make s/web 0');
  driver.setTopology(machine);
  run('make d/app 1;end b/app;stop sandbox-b;remove sandbox-b;make e/app 2;make f/app 1');
  return decided;
}

describe.each(RESERVATIONS)('from %j', (reservation) => {
  test.each(live)(
    'a live change of %s, with a reserved CPU offline, equals a start with the same file',
    async (key) => {
      const base = { ...reservation, kubeconfig: '/etc/kube', 'collect-interval': '5s' };
      let changes = 0;
      for await (const file of listChanges(base, key)) {
        changes++;
        const [changed, started] = [await start(base), await start(file)];
        for (const { driver } of [changed, started]) driver.setTopology(without(machine, '4'));
        await changed.change(format(file));
        expect(changed.alarms()).toEqual([]);
        expect({ file, settings: settingsOf(changed) }).toEqual({ file, settings: settingsOf(started) });
        expect(changed.live.config).toEqual(started.live.config);
        expect({ file, decided: decide(changed) }).toEqual({ file, decided: decide(started) });
      }
      expect(changes).toBeGreaterThan(0);
    },
  );
});

const settingsOf = ({ driver }: { readonly driver: NodeDriver }): unknown =>
  JSON.parse(JSON.stringify(driver.model.settings));

describe('the kill switch works beside', () => {
  const ENFORCED = {
    'reserved-cpus': '0',
    kubeconfig: '/etc/kube',
    'collect-interval': '5s',
    'qos-actions': 'enforce',
  };
  const OFF = 'qos-actions: off';

  async function expectOff(wrong: string, name: string): Promise<void> {
    const daemon = await start(ENFORCED);
    const others = format(ENFORCED).filter((line) => ![name, 'qos-actions'].includes(line.split(':')[0]!));
    for (const lines of [
      [...others, wrong, OFF],
      [OFF, wrong, ...others],
    ]) {
      await daemon.change(lines);
      expect([daemon.live.config, daemon.alarms()]).toEqual([
        { ...(await startedConfig(ENFORCED)), qosActions: 'off' },
        [expect.stringContaining('only qos-actions was switched off')],
      ]);
      await daemon.change(format(ENFORCED));
      expect([daemon.live.config.qosActions, daemon.alarms()]).toEqual(['enforce', []]);
    }
  }
  const startedConfig = async (file: File) => {
    write(format(file));
    return ((await load()) as Loaded).config;
  };

  const others = OPTION_KEYS.filter((key) => key !== 'qosActions');

  test.each(others)('a value of %s that it does not take', async (key) => {
    const wrong = ['a b\u0001', '/a//\u0000', '=', '-1', ' '].find((text) => !OPTIONS[key].type.parse(text).ok);
    expect(wrong).toBeDefined();
    await expectOff(`${nameOf(key)}: ${JSON.stringify(wrong)}`, nameOf(key));
  });

  test.each(others)('a value of %s that can not be read', async (key) => {
    await expectOff(`${nameOf(key)}: [[1], [2]]`, nameOf(key));
  });

  test.each([
    ['a key that is no option', 'no-such-option: 1'],
    ['a key that is no word', '[1, 2]: 3'],
    ['an option that is there twice', 'log-level: info\nlog-level: debug'],
    ['groups that can not be read', 'node-groups: 7'],
    [
      'a group that can not be read',
      'node-groups: [{ name: a, match: { by: luck }, options: { qos-actions: enforce } }]',
    ],
    [
      'groups by labels that nobody tells',
      'kubeconfig: off\nnode-groups: [{ name: a, match: { node-labels: { a: b } }, options: {} }]',
    ],
  ])('%s', async (_name, wrong) => {
    await expectOff(wrong, wrong.split(':')[0]!);
  });

  test.each([
    ['before', `${OFF}\nqos-actions: enforce`],
    ['after', `qos-actions: enforce\n${OFF}`],
  ])('a line %s it that says the opposite', async (_name, lines) => {
    const daemon = await start(ENFORCED);
    const rest = format(ENFORCED).filter((line) => !line.startsWith('qos-actions'));
    await daemon.change([...rest, ...lines.split('\n')]);
    expect([daemon.live.config.qosActions, daemon.alarms()]).toEqual(['off', [expect.stringContaining('set twice')]]);
  });
});

test('a file that can not be parsed changes nothing, and neither does one whose group of this node says otherwise', async () => {
  const base = { 'reserved-cpus': '0', kubeconfig: '/etc/kube', 'collect-interval': '5s', 'node-name': 'here' };
  const enforced = { ...base, 'qos-actions': 'enforce' };
  const daemon = await start(enforced);
  await daemon.change(['qos-actions: off', '}{']);
  expect([daemon.live.config.qosActions, daemon.alarms()]).toEqual(['enforce', [expect.any(String)]]);
  const group = 'node-groups: [{ name: a, match: { node-names: [here] }, options: { qos-actions: enforce } }]';
  await daemon.change([...format(base), 'qos-actions: off', group, 'no-such-option: 1']);
  expect([daemon.live.config.qosActions, daemon.alarms()]).toEqual(['enforce', [expect.any(String)]]);
});

test('other options of the policy do not choose reserved CPUs anew, as a start does', async () => {
  const base = { 'reserved-cpu-count': '2' };
  const other = { ...base, 'cpu-manager-policy-options': 'distribute-cpus-across-cores=true' };
  const daemon = await start(base);
  await daemon.change(format(other));
  expect(daemon.driver.model.settings.reserved.toString()).toBe('0,4');
  expect((await start(other)).driver.model.settings.reserved.toString()).toBe('0-1');
});
