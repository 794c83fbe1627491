// Builds what end-to-end tests stand on, once, into the cache:
//
//   node scripts/test-run/prepare.mjs trixie|sid|release|apiserver...
//
// Outside CI it is no failure when something can't be had: the tests that need it say that they are not run. Nor is it in CI that
// there is no Go, which nothing but a release of containerd needs.
import { ensureApiServer } from '../apiserver/build.mjs';
import { ensureSuite, findWhyNoGo } from '../runtime/suite.mjs';

const log = (line) => console.log(line);
for (const name of process.argv.slice(2)) {
  try {
    if (name === 'apiserver') log(`apiserver: ${ensureApiServer({ log })}`);
    else log(`${name}: ${describe(ensureSuite(name, { log }).versions)}`);
  } catch (error) {
    log(`${name} can't be had: ${error.message}`);
    if (process.env.CI === 'true' && findWhyNoGo(name) === undefined) process.exitCode = 1;
  }
}

function describe({ containerd, runc }) {
  return `containerd ${containerd}, runc ${runc}`;
}
