import { pino } from 'pino';
import { Transactor } from '../../src/app/transaction/transactor';
import type { NodeModel } from '../../src/core/model/node-model';

/** A transactor that only writes facts into the model: it saves nothing and moves nothing. */
export function recorderOf(model: NodeModel): Pick<Transactor, 'record'> {
  return new Transactor({
    model,
    save: () => undefined,
    mover: { move: () => undefined },
    now: () => '2026-01-01T00:00:00.000Z',
    log: pino({ level: 'silent' }),
  });
}
