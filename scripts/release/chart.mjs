// The Helm chart as an archive. Its folder has links to files that Kustomize takes too; the archive has the files.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzip, packTar } from './tar.mjs';

/** The name that Helm expects. @param {string} version */
export const chartName = (version) => `cpusetd-${version}.tgz`;

/**
 * Packs the chart.
 * @param {string} root the project's folder
 * @param {number} epoch the time of all files, in seconds
 * @returns {Promise<Buffer>}
 */
export async function makeChart(root, epoch) {
  const entries = listFiles(join(root, 'deploy/helm')).map((name) => ({
    name,
    content: readFileSync(join(root, 'deploy/helm', name)),
  }));
  return gzip(await packTar(entries, epoch));
}

/**
 * The paths of all files in a folder and behind its links.
 * @param {string} folder
 * @param {string} [below]
 * @returns {string[]}
 */
function listFiles(folder, below = '') {
  return readdirSync(join(folder, below)).flatMap((name) => {
    const path = join(below, name);
    return statSync(join(folder, path)).isDirectory() ? listFiles(folder, path) : [path];
  });
}
