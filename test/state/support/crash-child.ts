// Opens the state directory, saves, and kills itself before the operation with the given number.
import { openStateStore } from '../../../src/state';
import { assignmentOf } from './assignments';
import { inShortWrites, watchOps } from './fs-doubles';

const [dir = '', killAt = ''] = process.argv.slice(2);
const fs = watchOps((_op, index) => {
  if (index === Number(killAt)) process.kill(process.pid, 'SIGKILL');
}, inShortWrites(200));
const opened = openStateStore({ dir, version: '0.1.0', fs });
const saved = opened.ok && opened.store.save({ generation: 2, assignments: [assignmentOf('new', '2-3')] }).ok;
process.exitCode = saved ? 0 : 1;
