// Builds the prerequisites of end-to-end tests, once, into the cache:
//
//   node scripts/test-run/prepare.mjs trixie|sid|release|apiserver|kubernetes|scheduler-plugins...
//
// Outside CI it is no failure when something can't be had: the tests that need it say that they are not run. In CI, only a
// missing Go is no failure: nothing but the programs of `scripts/go-programs` needs it.
import { ensureApiServer } from '../apiserver/build.mjs';
import { ensureGoPrograms, findMissingForGoPrograms } from '../go-programs/build.mjs';
import { moduleNames } from '../go-programs/recipes.mjs';
import { ensureSuite, findWhyNoGo } from '../runtime/suite.mjs';
import { messageOf } from '../shared/errors.mjs';

/** @param {string} line */
const log = (line) => console.log(line);
for (const name of process.argv.slice(2)) {
  try {
    if (name === 'apiserver') log(`apiserver: ${ensureApiServer({ log })}`);
    else if (moduleNames.includes(name)) log(`${name}: ${ensureGoPrograms(name, { log }).dir}`);
    else log(`${name}: ${describe(ensureSuite(name, { log }).versions)}`);
  } catch (error) {
    log(`${name} can't be had: ${messageOf(error)}`);
    if (process.env.CI === 'true' && findWhyNoGoFor(name) === undefined) process.exitCode = 1;
  }
}

/** @param {string} name */
function findWhyNoGoFor(name) {
  return moduleNames.includes(name) ? findMissingForGoPrograms(name) : findWhyNoGo(name);
}

/** @param {Record<string, string>} versions */
function describe({ containerd, runc }) {
  return `containerd ${containerd}, runc ${runc}`;
}
