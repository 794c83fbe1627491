// Gets the programs of a cluster ready and prints their versions; else says why there are none, and ends with 3 when this machine
// cannot build them, with 1 otherwise.
//
//   node scripts/cluster/prepare.mjs [NAME...]     NAME: a further module of scripts/go-programs
import { CannotBuild, ensureGoPrograms, statusCannotBuild } from '../go-programs/build.mjs';
import { messageOf } from '../shared/errors.mjs';
import { logToStderr as log } from '../shared/log.mjs';
import { ensureCluster } from './ensure.mjs';

try {
  const further = process.argv.slice(2).flatMap((name) => Object.entries(ensureGoPrograms(name, { log }).versions));
  console.log(JSON.stringify({ ...ensureCluster({ log }), ...Object.fromEntries(further) }));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = error instanceof CannotBuild ? statusCannotBuild : 1;
}
