import { createServer, type Server } from 'node:net';
import { pino } from 'pino';

import { explainListen } from '../../../src/admin/grpc/listener';
import { HealthState } from '../../../src/admin/health-state';
import { Metrics } from '../../../src/admin/metrics/metrics';
import { startMetricsServer } from '../../../src/admin/metrics/metrics-server';
import { startHealthServer } from '../../../src/admin/server/admin-server';
import { Alarms } from '../../../src/app/alarms/alarms';
import { keepListening } from '../../../src/app/status/keep-listening';
import { buildTopology } from '../../../src/core/topology';
import { NodeModel } from '../../../src/core/model/node-model';
import { settingsWith } from '../../core/transition/node-driver';
import { sampleStatus } from '../../admin/sample-status';

const AT = '2026-11-21T10:00:00.000Z';
const log = pino({ enabled: false });
const topology = buildTopology({ cpus: [{ id: 0, core: 0, socket: 0, numaNode: 0, uncoreCache: 0 }] });

/** Listens on a port, as another process would. */
async function takePort(port = 0): Promise<{ server: Server; port: number }> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return { server, port: (server.address() as { port: number }).port };
}

/** Alarms, with a promise of their next change. */
function watchedAlarms() {
  let noteChange = (): void => undefined;
  const alarms = new Alarms({ log, now: () => AT, onChange: () => noteChange() });
  const changed = (): Promise<void> => new Promise((resolve) => (noteChange = resolve));
  return { alarms, changed };
}

test.each([
  [
    '--metrics-address',
    (address: { host: string; port: number }) =>
      startMetricsServer({
        address,
        metrics: new Metrics({ status: () => sampleStatus, node: new NodeModel(topology, settingsWith()) }),
        log,
      }),
  ],
  [
    '--health-address',
    (address: { host: string; port: number }) => startHealthServer({ address, health: new HealthState(), log }),
  ],
])('%s on a port in use is an alarm until the port is free', async (option, start) => {
  const { server: other, port } = await takePort();
  const address = { host: '127.0.0.1', port };
  const { alarms, changed } = watchedAlarms();
  const end = await keepListening({
    option,
    listen: () => start(address),
    explain: (error) => explainListen(error, { address, option }),
    close: (listening) => listening.close(),
    alarms,
    firstDelayMs: 1,
  });
  expect(alarms.list()).toEqual([
    {
      kind: 'not-listening',
      subject: option,
      because: `can't listen on 127.0.0.1:${port}: another process listens there; free it, or choose another ${option}`,
      since: AT,
    },
  ]);
  const over = changed();
  other.close();
  await over;
  expect(alarms.list()).toEqual([]);
  await expect(takePort(port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await end();
  const { server: again } = await takePort(port);
  again.close();
});

test('an address of another machine is an alarm with its reason', async () => {
  const { alarms } = watchedAlarms();
  const address = { host: '192.0.2.1', port: 9 };
  const end = await keepListening({
    option: '--health-address',
    listen: () => startHealthServer({ address, health: new HealthState(), log }),
    explain: (error) => explainListen(error, { address, option: '--health-address' }),
    close: (listening) => listening.close(),
    alarms,
  });
  expect(alarms.list()[0]?.because).toContain("can't listen on 192.0.2.1:9: it is no address of this machine");
  await end();
});

test('the pause between attempts doubles, and close ends the attempts', async () => {
  const { alarms } = watchedAlarms();
  const tries: number[] = [];
  let noteTry = (): void => undefined;
  const end = await keepListening({
    option: '--metrics-address',
    listen: () => {
      tries.push(performance.now());
      noteTry();
      return Promise.reject(new Error('no'));
    },
    explain: String,
    close: () => Promise.resolve(),
    alarms,
    firstDelayMs: 20,
  });
  await new Promise<void>((resolve) => (noteTry = () => tries.length === 4 && resolve()));
  const pauses = tries.slice(1).map((at, i) => at - tries[i]!);
  expect(pauses[0]).toBeGreaterThan(15);
  expect(pauses[1]).toBeGreaterThan(35);
  expect(pauses[2]).toBeGreaterThan(75);
  await end();
});

test.each([
  ['EADDRINUSE', 'another process listens there; free it, or choose another --metrics-address'],
  ['EADDRNOTAVAIL', 'it is no address of this machine; choose another --metrics-address'],
])('the message for %s has its remedy', (code, text) => {
  const address = { host: '192.0.2.1', port: 99 };
  const error = Object.assign(new Error('no'), { code });
  expect(explainListen(error, { address, option: '--metrics-address' })).toBe(`can't listen on 192.0.2.1:99: ${text}`);
});
