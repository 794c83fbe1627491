import { pino } from 'pino';
import { Metrics } from '../../../src/admin/metrics/metrics';
import { Alarms } from '../../../src/app/alarms/alarms';
import { TransactionMetrics } from '../../../src/app/status/transaction-metrics';
import { Transactor } from '../../../src/app/transaction/transactor';
import { sampleStatus } from '../../admin/sample-status';
import { NodeDriver } from '../../core/transition/node-driver';
import { silentFaults } from '../../support/faults';

/** A transactor whose saves the test replaces, with its metrics and alarms. */
function watchSaves() {
  const { model } = new NodeDriver();
  const log = pino({ level: 'silent' });
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const metrics = new Metrics({ status: () => sampleStatus, node: model });
  const watcher = new TransactionMetrics({ model, metrics, alarms, faults: silentFaults() });
  const disk = { save: (): { because: string; onDisk: 'old' } | undefined => undefined };
  const transactor = new Transactor({
    model,
    save: () => disk.save(),
    mover: { move: () => undefined },
    now: () => '',
    log,
    observer: { onTransaction: () => undefined, onSaved: (...saved) => watcher.onSaved(...saved) },
  });
  return { disk, transactor, alarms, metrics };
}

test.each`
  name                     | save                                                                   | because
  ${'a save that succeeds: measured, no alarm'} | ${() => undefined}                                                     | ${undefined}
  ${'a save that fails: measured, and an alarm until a save succeeds'}          | ${() => ({ because: 'no space left', onDisk: 'old' })}                 | ${'no space left'}
  ${'a save that throws: measured, and an alarm until a save succeeds'}         | ${() => { throw new Error('an internal fault'); }}                    | ${'a fault in saving: an internal fault'}
`('$name', async ({ save, because }) => {
  const { disk, transactor, alarms, metrics } = watchSaves();
  disk.save = save as typeof disk.save;
  transactor.trySaving();
  expect(alarms.list().map(({ because }) => because)).toEqual(because === undefined ? [] : [because]);
  disk.save = () => undefined;
  transactor.trySaving();
  expect(alarms.list()).toEqual([]);
  expect(await metrics.expose()).toMatch(/state_write[a-z_]*_count 2$/m);
}); // prettier-ignore
