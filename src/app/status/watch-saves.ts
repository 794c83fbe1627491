import type { Alarms } from '../alarms/alarms';
import { messageOf, type Faults } from '../alarms/faults';
import type { DaemonEvents } from '../transaction/daemon-events';
import type { TransactorParts } from '../transaction/transactor';

type Save = TransactorParts['save'];

/** The same save; how long each took is measured, and one that failed is an alarm until one succeeds. Neither changes its outcome. */
export function watchSaves(
  save: Save,
  { alarms, events, faults }: { readonly alarms: Alarms; readonly events: DaemonEvents; readonly faults: Faults },
): Save {
  return (...state) => {
    const startMs = performance.now();
    const problem = attempt(save, state);
    events.emit('saved', { seconds: (performance.now() - startMs) / 1000 });
    faults.contain('telling of a save', () => alarms.tell('state-not-saved', '', problem?.because));
    return problem;
  };
}

/** A fault in saving leaves open what the disk has. */
function attempt(save: Save, state: Parameters<Save>): ReturnType<Save> {
  try {
    return save(...state);
  } catch (error) {
    return { because: `a fault in saving: ${messageOf(error)}`, onDisk: 'unknown' };
  }
}
