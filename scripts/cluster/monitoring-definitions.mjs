// The CustomResourceDefinitions of the Prometheus Operator that deploy/monitoring has objects of, from the operator's
// Go module.
//
// node scripts/cluster/monitoring-definitions.mjs prints the folder with the files; else says why there are none, and
// ends with 3 when
// this machine has no Go or no way to the module, with 1 otherwise
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CannotBuild, statusCannotBuild } from '../go-programs/build.mjs';
import { buildOnce, cacheDir } from '../shared/cache.mjs';
import { messageOf } from '../shared/errors.mjs';
import { isMain } from '../shared/is-main.mjs';
import { logToStderr } from '../shared/log.mjs';

/** @import { EnsureOptions } from '../shared/cache.mjs' */

const version = 'v0.85.0';
const module = `github.com/prometheus-operator/prometheus-operator@${version}`;
/** The hash of the module's files, as in a go.sum. */
const sum = 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=';
const kinds = ['podmonitors', 'prometheusrules'];
const fetchSeconds = 300;

/**
 * Gives the folder with the files, and fetches the module when the cache has none (5 MB).
 * @param {EnsureOptions} options
 * @returns {string}
 * @throws {CannotBuild} on a machine that cannot fetch it
 * @throws {Error} when it is not the module that is pinned
 */
export function ensureMonitoringDefinitions({ env = process.env, log = () => {} } = {}) {
  return buildOnce(join(cacheDir(env), `monitoring-definitions-${version}`), (building) => {
    log(`fetching the definitions of ${module}`);
    const found = download(env);
    if (found.Sum !== sum) throw new Error(`${module} has the sum ${found.Sum}, and ${sum} is pinned`);
    mkdirSync(building);
    for (const kind of kinds) {
      const name = `monitoring.coreos.com_${kind}.yaml`;
      copyFileSync(join(found.Dir, 'example/prometheus-operator-crd', name), join(building, name));
    }
  });
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ Dir: string, Sum: string }}
 */
function download(env) {
  const go = spawnSync('go', ['mod', 'download', '-json', module], {
    cwd: tmpdir(), // outside of any module
    env: { ...env, GOFLAGS: '', GOWORK: 'off' },
    encoding: 'utf8',
    timeout: fetchSeconds * 1000,
  });
  if (go.error) throw new CannotBuild(`fetching ${module} needs Go: ${go.error.message}`);
  const found = JSON.parse(go.stdout || '{}');
  if (/checksum mismatch|SECURITY ERROR/.test(found.Error ?? '')) throw new Error(found.Error);
  if (go.status !== 0 || found.Dir === undefined)
    throw new CannotBuild(`${module} can't be fetched: ${found.Error ?? go.stderr.trim()}`);
  return found;
}

if (isMain(import.meta.url)) {
  try {
    console.log(ensureMonitoringDefinitions({ log: logToStderr }));
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = error instanceof CannotBuild ? statusCannotBuild : 1;
  }
}
