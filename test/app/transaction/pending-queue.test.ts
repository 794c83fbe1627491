import { pino } from 'pino';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { PendingQueue } from '../../../src/app/transaction/pending-queue';
import { Draft } from '../../../src/core/transition';
import { NodeDriver } from '../../core/transition/node-driver';

/** So many decisions are made in a transaction on a machine with one NUMA node. */
const AT_ONCE = 64;

/** A node on which so many containers run that wait for more CPUs than there are. */
function crowd(waiting: number) {
  const node = new NodeDriver().run('make a/x 6');
  for (let i = 0; i < waiting; i++) {
    const target = `w${String(i).padStart(3, '0')}/c`;
    node.run(`know ${target} 4`);
    node.send({ kind: 'container-created', ...node.infoOf(target) });
  }
  const log = pino({ level: 'silent' });
  const faults = new Faults({ log, alarms: new Alarms({ log, now: () => '', onChange: () => undefined }) });
  const stop = new AbortController();
  /** How many were decided on in each transaction. */
  const turns: number[] = [];
  const transactor = {
    change: (work: (draft: Draft) => unknown) => {
      const draft = new Draft(node.model, '2026-01-01T00:00:00Z');
      const spend = jest.spyOn(draft, 'spend');
      work(draft);
      turns.push(spend.mock.results.filter(({ value }) => value === true).length);
      if (draft.isCut) line.goOn(); // as the daemon does after every transaction
    },
  };
  const line: PendingQueue = new PendingQueue({ model: node.model, transactor, faults, signal: stop.signal });
  return { node, line, turns, stop };
}

async function pass(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await nextTurn();
}

test('a long line is gone through in turns, once, and no transaction decides on more than so many', async () => {
  const { line, turns } = crowd(150);
  line.lookNow();
  expect(turns).toEqual([AT_ONCE]);
  await pass(10);
  expect(turns).toEqual([AT_ONCE, AT_ONCE, 150 - 2 * AT_ONCE]);
});

test('releases in between do not keep those at the end from their turn, and one more pass follows', async () => {
  const { line, turns } = crowd(150);
  line.goOn();
  for (let i = 0; i < 2; i++) {
    await nextTurn();
    line.goOn();
  }
  await pass(20);
  const onePass = [AT_ONCE, AT_ONCE, 150 - 2 * AT_ONCE];
  expect(turns.slice(0, 3)).toEqual(onePass);
  expect(turns.slice(3)).toEqual(onePass);
});

test('where nobody lacks CPUs nothing is done, and nothing after the end', async () => {
  const idle = crowd(0);
  idle.line.lookNow();
  expect(idle.turns).toEqual([]);
  const ended = crowd(150);
  ended.line.goOn();
  ended.stop.abort();
  await pass(5);
  expect(ended.turns).toEqual([]);
});
