import { basename, join } from 'node:path';
import { nodeFsOps, type FsOps } from '../../files/fs-ops';
import { listSetAside } from '../../state';
import type { Alarms } from '../alarms/alarms';
import { OWED, type Owed } from './owed';

/** An alarm for each note that was set aside, until somebody has removed or renamed that file. */
export function showSetAside(
  stateDir: string,
  alarms: Pick<Alarms, 'update'>,
  kinds: readonly Pick<Owed<unknown>, 'file' | 'without'>[] = Object.values(OWED),
  fs: FsOps = nodeFsOps,
): void {
  for (const { file, without } of kinds) {
    const path = join(stateDir, file);
    const setAside = listSetAside(fs, path);
    if ('because' in setAside) continue; // nobody knows now: an alarm that there is lasts
    const found = setAside.paths.map((each) => basename(each));
    const because = `${path} could not be used, and was set aside as ${found.join(', ')}: ${without}. Remove what was set aside when you have looked at it`;
    alarms.update('note-set-aside', file, found.length > 0 ? because : undefined);
  }
}
