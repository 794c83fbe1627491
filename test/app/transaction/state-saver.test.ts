import { pino } from 'pino';
import { StateSaver } from '../../../src/app/transaction/state-saver';
import type { SaveProblem } from '../../../src/app/transaction/transaction';
import { NodeDriver } from '../../core/transition/node-driver';

const DISK_FULL: SaveProblem = { because: 'ENOSPC', onDisk: 'old' };

class Stage {
  disk: SaveProblem | Error | undefined;
  saves = 0;
  readonly observed: (string | undefined)[] = [];
  readonly saver = new StateSaver({
    model: new NodeDriver().model,
    log: pino({ level: 'silent' }),
    save: () => {
      this.saves++;
      if (this.disk instanceof Error) throw this.disk;
      return this.disk;
    },
    observer: { onTransaction: () => undefined, onSaved: (_tookMs, problem) => this.observed.push(problem?.because) },
  });
}

let stage: Stage;
beforeEach(() => (stage = new Stage()));

test('without a failure before, a retry writes nothing', () => {
  stage.saver.save();
  stage.saver.retry();
  expect(stage.saves).toBe(1);
});

test('after a failed save, retries write until one succeeds, also when nothing is left to write', () => {
  stage.disk = DISK_FULL;
  expect(stage.saver.save()).toEqual(DISK_FULL);
  stage.saver.retry();
  stage.disk = undefined;
  stage.saver.retry();
  stage.saver.retry();
  expect({ saves: stage.saves, observed: stage.observed }).toEqual({
    saves: 3,
    observed: ['ENOSPC', 'ENOSPC', undefined],
  });
});

test('a change that was kept without saving makes the disk behind until a save succeeds', () => {
  stage.saver.markBehind();
  stage.disk = DISK_FULL;
  stage.saver.retry();
  expect(stage.saver.isBehind).toBe(true);
  stage.disk = undefined;
  stage.saver.retry();
  expect(stage.saver.isBehind).toBe(false);
});

test('a save that throws is a problem that leaves the disk unknown', () => {
  stage.disk = new Error('boom');
  expect(stage.saver.save()).toEqual({ because: 'a fault in saving: boom', onDisk: 'unknown' });
});

test('an observer that throws changes no result', () => {
  const saver = new StateSaver({
    model: new NodeDriver().model,
    log: pino({ level: 'silent' }),
    save: () => undefined,
    observer: {
      onTransaction: () => undefined,
      onSaved: () => {
        throw new Error('boom');
      },
    },
  });
  expect(saver.save()).toBeUndefined();
});
