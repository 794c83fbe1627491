// npm run publish:chart: sends the Helm chart of a release to a registry. Helm adds the chart's name and version to the
// address.
//
//   npm run publish:chart -- --to HOST/NAME [--release DIR] [--plain-http] [--dry-run]
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { chartName } from '../release/chart.mjs';
import { check, checkRelease, describeFile, findProgram } from './checks.mjs';
import { checkRegistryLogin } from './credentials.mjs';
import { publish, runCommand } from './publish.mjs';
import { parseRepository } from './repository.mjs';

/** @import { Plan, Request } from './publish.mjs' */

await publish({ name: 'chart', options: { to: { type: 'string', example: 'registry.example.com/charts' } }, plan });

/** @param {Request} request @returns {Plan} */
function plan({ version, release, values, isPlain }) {
  const { host, repository } = parseRepository('to', values.to ?? '');
  const file = chartName(version);
  const path = join(release, file);
  const isThere = existsSync(path);
  const command = ['helm', 'push', path, `oci://${repository}`, ...(isPlain ? ['--plain-http'] : [])];
  const { sha256, bytes } = isThere ? describeFile(path) : { sha256: '', bytes: 0 };
  return {
    checks: [
      ...checkRelease(release, [file]),
      ...(isThere ? [checkChart(path, version)] : []),
      findProgram('helm').check,
      ...(isPlain ? [] : [checkRegistryLogin(host, 'chart')]),
    ],
    items: isThere ? [{ file, bytes, digest: `sha256:${sha256}`, to: `oci://${repository}/cpusetd:${version}` }] : [],
    commands: [command],
    send: () => void runCommand(command),
  };
}

/** @param {string} path @param {string} version */
function checkChart(path, version) {
  const text = execFileSync('tar', ['-xzOf', path, 'cpusetd/Chart.yaml'], { encoding: 'utf8' });
  const chart = parse(text);
  return check(
    `the chart and its image have the version ${version}`,
    chart.version === version && chart.appVersion === version,
    `set both in deploy/helm/cpusetd/Chart.yaml (now ${chart.version}, ${chart.appVersion}), and make the release again`,
  );
}
