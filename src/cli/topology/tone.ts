import { PLAIN_MARKS, type MachineView } from '../../admin/machine/machine-view';
import { OWNER_TONES, type Tone } from '../format/terminal';

/** The tone of a mark in a terminal with colours. */
export function toneOfMark({ owners }: Pick<MachineView, 'owners'>, mark: string): Tone | undefined {
  if (mark === PLAIN_MARKS.reserved || mark === PLAIN_MARKS.offline || mark === PLAIN_MARKS.barred) return 'dim';
  const place = owners.findIndex((owner) => owner.mark !== '' && owner.mark === mark);
  return place === -1 ? undefined : OWNER_TONES[place % OWNER_TONES.length];
}
