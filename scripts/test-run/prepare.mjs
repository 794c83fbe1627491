// Builds the prerequisites of end-to-end tests, once, into the cache:
//
//   node scripts/test-run/prepare.mjs trixie|sid|release|apiserver...
//
// Outside CI it is no failure when something can't be had: the tests that need it say that they are not run. In CI, only a
// missing Go is no failure: nothing but a release of containerd needs it.
import { ensureApiServer } from '../apiserver/build.mjs';
import { ensureSuite, findWhyNoGo } from '../runtime/suite.mjs';
import { messageOf } from '../shared/errors.mjs';

/** @param {string} line */
const log = (line) => console.log(line);
for (const name of process.argv.slice(2)) {
  try {
    if (name === 'apiserver') log(`apiserver: ${ensureApiServer({ log })}`);
    else log(`${name}: ${describe(ensureSuite(name, { log }).versions)}`);
  } catch (error) {
    log(`${name} can't be had: ${messageOf(error)}`);
    if (process.env.CI === 'true' && findWhyNoGo(name) === undefined) process.exitCode = 1;
  }
}

/** @param {Record<string, string>} versions */
function describe({ containerd, runc }) {
  return `containerd ${containerd}, runc ${runc}`;
}
