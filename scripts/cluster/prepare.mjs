// Gets the programs of a cluster ready and prints their versions; else says why there are none, and ends with 3 when they would
// have to be built and there is no Go, with 1 otherwise.
//
//   node scripts/cluster/prepare.mjs [NAME...]
//
// NAME is a further module of scripts/go-programs whose programs are needed.
import { spawnSync } from 'node:child_process';
import { ensureGoPrograms, findMissingForGoPrograms } from '../go-programs/build.mjs';
import { installPackages } from '../shared/debian.mjs';
import { messageOf } from '../shared/errors.mjs';
import { logToStderr } from '../shared/log.mjs';
import { ensureDebianPrograms } from './debian-programs.mjs';

const statusNoGo = 3;
const modules = ['kubernetes', ...process.argv.slice(2)];
const noGo = modules.map((name) => findMissingForGoPrograms(name)).find((why) => why !== undefined);
try {
  if (noGo !== undefined) throw new Error(noGo);
  const log = logToStderr;
  if (spawnSync('openssl', ['version']).status !== 0) installPackages(['openssl'], log);
  const built = modules.flatMap((name) => Object.entries(ensureGoPrograms(name, { log }).versions));
  const versions = { ...Object.fromEntries(built), ...ensureDebianPrograms({ log }).versions };
  const lines = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  console.log(lines.join(', '));
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = noGo === undefined ? 1 : statusNoGo;
}
