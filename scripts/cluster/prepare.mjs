// Gets the programs of a cluster ready and prints their versions; else says why there are none, and ends with 3 when they would
// have to be built and there is no Go, with 1 otherwise.
//
//   node scripts/cluster/prepare.mjs [NAME...]     NAME: a further module of scripts/go-programs
import { ensureGoPrograms, findMissingForGoPrograms } from '../go-programs/build.mjs';
import { messageOf } from '../shared/errors.mjs';
import { logToStderr as log } from '../shared/log.mjs';
import { ensureCluster } from './ensure.mjs';

const statusNoGo = 3;
const further = process.argv.slice(2);
const noGo = ['kubernetes', ...further].map((name) => findMissingForGoPrograms(name)).find((why) => why !== undefined);
try {
  if (noGo !== undefined) throw new Error(noGo);
  const versions = further.flatMap((name) => Object.entries(ensureGoPrograms(name, { log }).versions));
  console.log(JSON.stringify({ ...ensureCluster({ log }), ...Object.fromEntries(versions) }));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = noGo === undefined ? 1 : statusNoGo;
}
