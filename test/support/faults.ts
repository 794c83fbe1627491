import { pino } from 'pino';
import { Alarms } from '../../src/app/alarms/alarms';
import { Faults } from '../../src/app/alarms/faults';

/** Faults that nobody reads, for parts under test that are to have none. */
export function silentFaults(): Faults {
  const log = pino({ level: 'silent' });
  return new Faults({ log, alarms: new Alarms({ log, now: () => '', onChange: () => undefined }) });
}
