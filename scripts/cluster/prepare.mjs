// Gets the programs of a cluster ready and prints their versions; else says why there are none, and ends with 3 when they would
// have to be built and there is no Go, with 1 otherwise.
//
//   node scripts/cluster/prepare.mjs
import { findMissingForGoPrograms } from '../go-programs/build.mjs';
import { messageOf } from '../shared/errors.mjs';
import { logToStderr } from '../shared/log.mjs';
import { ensureCluster } from './ensure.mjs';

const statusNoGo = 3;
const noGo = findMissingForGoPrograms('kubernetes');
try {
  if (noGo !== undefined) throw new Error(noGo);
  console.log(JSON.stringify(ensureCluster({ log: logToStderr })));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = noGo === undefined ? 1 : statusNoGo;
}
