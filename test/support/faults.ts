import { pino } from 'pino';
import { Alarms } from '../../src/app/alarms/alarms';
import { Faults } from '../../src/app/alarms/faults';

/** A receiver of faults that logs nothing, for parts under test without faults. */
export function silentFaults(): Faults {
  const log = pino({ level: 'silent' });
  return new Faults({ log, alarms: new Alarms({ log, now: () => '', onChange: () => undefined }) });
}
